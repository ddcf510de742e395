// From any format to any other: reading -> build_graph -> writing, or container -> writing. The options of build_graph apply to a container
// too, which is then taken apart and built again only if one of them asks for what it is not. What is larger than the host budget is sorted
// by parts (large_graph.hpp): any edge list, to a container. Formats and containers are not, which need the whole graph in memory.
// Invariant: a container converted without options keeps its vertices, ids and order of edges; built again it keeps loops and duplicates,
// unless its arcs become edges.
// Cost: that of reading and build_graph; of a container its own size in host memory.
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
  bool check = true;                   // of a container: checksums and invariants
  std::function<void(graph&)> finish;  // what is done to the graph before it is written: packing, cached neighbours
  large_options large;                 // and to one that is larger than the host budget
};

// What is known before it starts.
struct convert_plan {
  file_format from, to;
  bool builds = true;               // false: a container that is written as it is
  bool keeps_all = false;           // of a container: loops and duplicates stay, whatever the options say
  std::uint64_t bytes_needed = 0;   // of host memory at the peak, guessed from the input's size; 0: not known, as of a pipe
  bool by_parts = false;            // it is more than the host budget, or not known: sorted by parts
  std::uint64_t scratch_bytes = 0;  // of disk that this takes beside the container
};
// Throws what is wrong with the names and options, errc::io where the output cannot be written, errc::memory where the host budget is too
// small.
convert_plan plan_conversion(std::filesystem::path const& in, std::filesystem::path const& out, convert_options const& options);

struct convert_result {
  graph_info info;
  build_report report;
  bool built = true;                     // false: a container that was written as it is, and the report is empty
  std::optional<large_report> by_parts;  // set: it was sorted by parts
  std::vector<std::string> notes;        // what the user should hear though nothing failed
};
convert_result convert(std::filesystem::path const& in, std::filesystem::path const& out, convert_options const& options);

// Writes a graph in host memory in any format that can be written. Returns notes: what the format could not keep.
std::vector<std::string> write_graph(graph const& g, std::filesystem::path const& out, file_format to);

// Throws errc::io now if a file could not be written there later.
void check_target(std::filesystem::path const& out);

}  // namespace garner
