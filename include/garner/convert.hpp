// Files of graphs and feature tables: what they hold, their formats, and the conversion of one to another.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "garner/features.hpp"
#include "garner/handle.hpp"

namespace garner {

enum class file_format { el, wel, csv, snap, mtx, gr, metis, sg, wsg, bel, ldbc, npy, npz, gnr };
std::string_view to_string(file_format format);
file_format parse_format(std::string_view name);  // errc::usage lists the choices
bool is_written(file_format format);
bool declares_vertices(file_format format);                // in a header, or as a list
file_format format_of(std::filesystem::path const& path);  // by ending, ignoring .gz and .zst; errc::usage lists the endings

std::string_view to_string(generator kind);
generator parse_generator(std::string_view name);  // kron, uniform, web; errc::usage otherwise
std::string_view to_string(vertex_order order);
vertex_order parse_order(std::string_view name);  // degree, bfs, random, natural, score; errc::usage otherwise

void check_target(std::filesystem::path const& file);  // errc::io now if a file could not be written there later
// save_graph() in a format whatever the file's ending is.
std::vector<std::string> save_graph(graph_handle const& g, std::filesystem::path const& file, file_format to);

// --- what a graph file holds ---

// The shape of a graph, from its offsets alone: degrees, and the share of edges at vertices of each degree (figure 2.7 of the
// dissertation). The shares bound the gain of merged or aligned access, since a short list cannot fill its cache lines.
struct degree_bin {
  std::uint64_t low = 0, high = 0;  // degrees low .. high, inclusive
  std::uint64_t vertices = 0, edges = 0;
};
struct edge_share {
  std::uint64_t degree = 0;  // the edges at vertices of at most this degree ...
  std::uint64_t edges = 0;
  double share = 0;  // ... as a fraction of all edges (1 without edges)
};
struct graph_summary {
  graph_info info;
  std::optional<std::uint64_t> isolated;  // vertices without any edge; unknown for a directed graph without in-edges
  std::uint64_t lists = 0;                // vertices with out-edges
  std::uint64_t lists_on_lines = 0;       // of these, lists that start on a 128-byte line
  std::uint64_t degree_min = 0, degree_median = 0, degree_max = 0;  // out-degrees; for an even number of vertices the lower median
  double degree_mean = 0;
  std::vector<degree_bin> bins;    // 0, 1, 2-3, 4-7, ... up to that of degree_max
  std::vector<edge_share> shares;  // at degrees 0, 8, ..., 96 and at degree_max
};
struct file_section {
  std::string name;  // "out offsets", "out targets", ...
  std::uint64_t offset = 0, bytes = 0, element_bytes = 0, checksum = 0;
};
struct stored_graph {
  std::uint32_t version = 0;  // of the file's format; 0: generated, not a file
  std::uint64_t file_bytes = 0;
  std::vector<file_section> sections;  // in file order
  graph_summary shape;                 // and the graph's info
};
// Reads the header and the offsets of a graph file, or generates a graph. `check`: every byte of a file is checked first. errc::io and
// errc::input as open_graph().
stored_graph inspect_graph(std::filesystem::path const& file, bool check = false);

// --- conversion ---

// `path` without .gz or .zst, and that ending ("" if absent).
struct bare_name {
  std::string name, compression;
};
bare_name strip_compression(std::filesystem::path const& path);

class arc_sink;  // for Garner's own modules
struct read_options {
  std::optional<file_format> from = {};   // unset: by ending
  std::uint64_t skip_lines = 0;           // of text: leading lines to skip
  std::vector<std::string> columns = {};  // of text in columns: source, target and optionally weight, by name or by number from 1
  bool ignore_weights = false;            // read the edges alone: weights may then be any number
  std::size_t block_bytes = 1u << 20;     // text per thread and step; tests make it small
  arc_sink* sink = nullptr;               // receives the edges in parts; the returned list then has no edges
};

inline constexpr std::uint32_t most_cached_neighbors = 4;  // per vertex
struct pack_options {
  bool compress = false, decompress = false;      // the adjacency; neither: it stays as it is
  std::optional<std::uint32_t> cached_neighbors;  // per vertex; 0: none; unset: those that it has, else as many as a search would use
};
struct pack_report {
  bool compressed = false;                          // now
  std::uint64_t plain_bytes = 0, packed_bytes = 0;  // of adjacency that was compressed
  double target_bits = 0, weight_bits = 0;          // per edge
  std::uint32_t cached_neighbors = 0;               // per vertex
  bool cached_before = false;                       // as the graph had them
  std::uint64_t cached_bytes = 0;
  std::optional<double> pack_seconds, cached_seconds;  // where it was done in memory
};
// Compresses the adjacency in host memory and adds cached neighbors, as a graph file keeps them. errc::input if a directed graph lacks the
// in-edges for them, errc::usage for more than most_cached_neighbors. `device` computes them.
pack_report pack_graph(graph_handle& g, pack_options const& options = {}, execution_device device = {});

struct convert_options {
  read_options read;
  std::optional<file_format> to;  // unset: by ending
  build_options build;
  bool check = true;                 // of a graph file: verify checksums and invariants
  std::optional<pack_options> pack;  // of a graph file that is written; unset: nothing is added
  std::filesystem::path scratch;     // folder of scratch files; empty: that of the output
  std::uint64_t sort_bytes = 0;      // sort edges in parts in so much host memory; 0: only if they exceed the budget
};
// What is known before a conversion starts.
struct convert_plan {
  file_format from, to;
  bool builds = true;               // false: a graph file, written unchanged
  bool keeps_all = false;           // a graph file: keeps loops and duplicates, whatever the options are
  std::uint64_t bytes_needed = 0;   // peak host memory, estimated from the input size; 0: unknown, as for a pipe
  bool by_parts = false;            // larger than the host budget, or unknown: sorted in parts
  std::uint64_t scratch_bytes = 0;  // disk space in addition to the graph file
  std::uint64_t bytes_allowed = 0;  // of host memory
};
// Validates names and options and throws what is wrong: errc::io if the output cannot be written, errc::memory if the host budget is too
// small.
convert_plan plan_conversion(std::filesystem::path const& in, std::filesystem::path const& out, convert_options const& options);

struct sort_report {
  std::uint64_t runs = 0, passes = 0;  // runs written; merge passes before the last
  std::uint64_t scratch_bytes = 0;     // peak size of the unnamed files
};
struct convert_result {
  graph_info info;
  build_report report;
  bool built = true;                    // false: a graph file was written unchanged; the report is empty
  std::optional<sort_report> by_parts;  // set if it was sorted in parts
  std::vector<std::string> notes;       // warnings for the user
  pack_report packed;
};
convert_result convert(std::filesystem::path const& in, std::filesystem::path const& out, convert_options const& options);

// The same for a graph that is generated: what is known before, and the graph in a file. From `how` it uses to, pack and scratch.
struct generate_plan {
  std::uint64_t host_bytes = 0, device_bytes = 0, bytes_allowed = 0;  // memory; bytes_allowed: of the host
  bool by_parts = false;
  std::uint64_t scratch_bytes = 0;
};
generate_plan plan_generation(generate_options const& options, std::filesystem::path const& out, convert_options const& how,
                              execution_device device = {});
convert_result generate_file(generate_options const& options, std::filesystem::path const& out, convert_options const& how,
                             execution_device device = {});

// --- feature tables ---

bool is_row_file(std::filesystem::path const& file);         // a feature file (.gnt), by how it begins; errc::io if it cannot be read
row_array describe_rows(std::filesystem::path const& file);  // of an .npy or feature file: what its header says; `data` is null

struct rows_converted {
  std::uint64_t rows = 0, row_bytes = 0, bytes = 0;  // bytes: of the pages, or of the array
  std::string type;
  std::uint32_t stripes = 1, page_bytes = 0;
  std::uint64_t per_page = 0;  // rows; 0: back to back
};
// Converts an .npy file or a feature file to a feature file (`out` ends in .gnt) or an .npy file, a part at a time: some MiB of memory, and
// 4 bytes per page. `folders`: a stripe of the feature file in each; none: one file.
rows_converted convert_rows(std::filesystem::path const& in, std::filesystem::path const& out, std::vector<std::string> const& folders,
                            std::uint32_t page_bytes = 4096);

}  // namespace garner
