// Conversion between formats: reading -> build_graph -> writing, or graph file -> writing. The build options
// also apply to a graph file, which is rebuilt only if one of them requests something it lacks. An edge list
// of any format that exceeds the host budget is sorted in parts into a graph file (large_graph.hpp). Graph
// files, and other output formats, need the whole graph in memory. Invariant: a graph file converted without
// options keeps its vertices, ids and edge order. A rebuild keeps loops and duplicates, unless directed edges
// become undirected. Cost: that of reading and build_graph; for a graph file its own size in host memory.
#pragma once
#include "graph/formats.hpp"
#include "graph/graph.hpp"
#include "graph/large_graph.hpp"

namespace garner {

// convert() with what adds to the graph before it is written; null: nothing.
convert_result convert(std::filesystem::path const& in, std::filesystem::path const& out, convert_options const& options,
                       beside_lists* beside);

// Writes a graph in host memory in any writable format. Returns notes on what the format could not represent.
std::vector<std::string> write_graph(graph const& g, std::filesystem::path const& out, file_format to);

}  // namespace garner
