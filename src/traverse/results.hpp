// Results as files: a row a vertex, in ascending order of the user's ids, in whatever order the graph keeps its vertices.
// docs/reference/json.md says what stands in a row, and which types the arrays have.
// Invariant: a result comes whole or not at all, also where it is several files; vertices are named by the user's ids throughout.
// Cost: one pass by the thread pool; where the graph's ids do not ascend also a sort of them and 8 bytes a vertex.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"

namespace garner {

enum class result_format : std::uint8_t {
  text,  // a line that begins with #, then blanks between the columns
  tsv,   // a line of names, then tabs
  npy,   // numpy arrays, one a file
  ldbc,  // LDBC Graphalytics: "vertex value" alone
};
std::string_view to_string(result_format format);
result_format parse_result_format(std::string_view text);           // errc::usage with the choices otherwise
result_format result_format_of(std::filesystem::path const& path);  // by its ending; text where that says nothing

// `text`, `tsv` and `ldbc` are compressed where the name ends in .gz or .zst.
struct result_target {
  std::filesystem::path path;
  result_format format = result_format::text;
};
// All that may be written, to be checked before a job begins: the path, and with npy what stands beside it. errc::usage where the name
// asks for what the format cannot be.
std::vector<std::filesystem::path> files_of(result_target const& to);
inline bool wants_parents(result_format format) { return format != result_format::ldbc; }

// Values are those of the jobs, by internal id; `source` is the user's. Parents may be empty where they are not wanted.
void write_depths(graph const& g, result_target const& to, std::uint64_t source, std::span<std::uint32_t const> depth,
                  std::span<std::uint64_t const> parent);
void write_distances(graph const& g, result_target const& to, std::uint64_t source, std::span<std::uint64_t const> distance,
                     std::span<std::uint64_t const> parent);
void write_distances(graph const& g, result_target const& to, std::uint64_t source, std::span<float const> distance,
                     std::span<std::uint64_t const> parent);
void write_labels(graph const& g, result_target const& to, std::span<std::uint64_t const> label);
void write_ranks(graph const& g, result_target const& to, std::span<float const> rank);
// By ascending user id, not by internal id.
void write_scores(graph const& g, result_target const& to, std::span<float const> score);
void write_counts(graph const& g, result_target const& to, std::span<std::uint32_t const> count);

}  // namespace garner
