// Conversion between formats: reading -> build_graph -> writing, or graph file -> writing. The build options
// also apply to a graph file, which is rebuilt only if one of them requests something it lacks. An edge list
// of any format that exceeds the host budget is sorted in parts into a graph file (large_graph.hpp). Graph
// files, and other output formats, need the whole graph in memory. Invariant: a graph file converted without
// options keeps its vertices, ids and edge order. A rebuild keeps loops and duplicates, unless directed edges
// become undirected. Cost: that of reading and build_graph; for a graph file its own size in host memory.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/formats.hpp"
#include "graph/graph.hpp"
#include "graph/large_graph.hpp"

namespace garner {

struct convert_options {
  read_options read;
  std::optional<file_format> to;  // unset: by ending
  build_options build;
  bool check = true;                   // of a graph file: verify checksums and invariants
  std::function<void(graph&)> finish;  // applied to the graph before it is written: compression, cached neighbors
  large_options large;                 // options for a graph that exceeds the host budget
};

// What is known before the conversion starts.
struct convert_plan {
  file_format from, to;
  bool builds = true;               // false: a graph file, written unchanged
  bool keeps_all = false;           // a graph file: keeps loops and duplicates, whatever the options are
  std::uint64_t bytes_needed = 0;   // peak host memory, estimated from the input size; 0: unknown, as for a pipe
  bool by_parts = false;            // larger than the host budget, or unknown: sorted in parts
  std::uint64_t scratch_bytes = 0;  // disk space in addition to the graph file
};
// Validates names and options and throws what is wrong: errc::io if the output cannot be written, errc::memory if the host budget is too
// small.
convert_plan plan_conversion(std::filesystem::path const& in, std::filesystem::path const& out, convert_options const& options);

struct convert_result {
  graph_info info;
  build_report report;
  bool built = true;                     // false: a graph file was written unchanged; the report is empty
  std::optional<large_report> by_parts;  // set if it was sorted in parts
  std::vector<std::string> notes;        // warnings for the user
};
convert_result convert(std::filesystem::path const& in, std::filesystem::path const& out, convert_options const& options);

// Writes a graph in host memory in any writable format. Returns notes on what the format could not represent.
std::vector<std::string> write_graph(graph const& g, std::filesystem::path const& out, file_format to);

}  // namespace garner
