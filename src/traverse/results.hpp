// Result files: one row per vertex, in ascending order of user ids, whatever the graph's internal order.
// docs/reference/json.md defines the rows, and the types of arrays. Invariant: a result appears whole or
// not at all, even if it consists of several files; vertices are always identified by user ids. Cost:
// one pass by the thread pool; for a reordered graph also a sort of its ids and 8 bytes per vertex.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "garner/handle.hpp"
#include "graph/graph.hpp"

namespace garner {

enum class result_format : std::uint8_t {
  text,  // a header line that begins with #, then blank-separated columns
  tsv,   // a line of names, then tabs
  npy,   // numpy arrays, one per file
  ldbc,  // LDBC Graphalytics: only "vertex value"
};
std::string_view to_string(result_format format);
result_format parse_result_format(std::string_view text);           // errc::usage lists the choices
result_format result_format_of(std::filesystem::path const& path);  // by its ending; text by default

// `text`, `tsv` and `ldbc` are compressed if the name ends in .gz or .zst.
struct result_target {
  std::filesystem::path path;
  result_format format = result_format::text;
};
// All files that may be written, to be checked before the run: the path, and the companions of an npy. errc::usage if the name requests
// what the format does not support.
std::vector<std::filesystem::path> files_of(result_target const& to);
inline bool wants_parents(result_format format) { return format != result_format::ldbc; }

// Values are the algorithms' results, by internal id; `source` is a user id. Parents may be empty if they are not wanted.
void write_depths(graph const& g, result_target const& to, std::uint64_t source, std::span<std::uint32_t const> depth,
                  std::span<std::uint64_t const> parent);
void write_distances(graph const& g, result_target const& to, std::uint64_t source, std::span<std::uint64_t const> distance,
                     std::span<std::uint64_t const> parent);
void write_distances(graph const& g, result_target const& to, std::uint64_t source, std::span<float const> distance,
                     std::span<std::uint64_t const> parent);
void write_labels(graph const& g, result_target const& to, std::span<std::uint64_t const> label);
void write_ranks(graph const& g, result_target const& to, std::span<float const> rank);
// By ascending user id, not by internal id.
void write_scores(graph_handle const& g, result_target const& to, std::span<float const> score);
void write_counts(graph_handle const& g, result_target const& to, std::span<std::uint32_t const> count);

}  // namespace garner
