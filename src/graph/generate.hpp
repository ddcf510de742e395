// Generators: see generate_options. Every edge is a pure function of (seed, its number), computed on the executor's device. Cost: on one
// core some 100 ns per edge, plus the sort of build_csr; 32 bytes per edge of local memory.
#pragma once
#include "core/executor.hpp"
#include "garner/convert.hpp"
#include "graph/edge_list.hpp"
#include "graph/graph.hpp"
#include "graph/large_graph.hpp"

namespace garner {

graph generate(executor& x, generate_options const& options, build_report& report);

// Generates the edges of the same graph in parts, undirected, each once. And the metadata of that edge list, without edges.
void generate_edges(generate_options const& options, arc_sink& sink);
edge_list generated_list(generate_options const& options);

// Generates a graph larger than the host budget into a graph file, and the scratch disk space for it.
graph_info generate_container(generate_options const& options, std::filesystem::path const& to, large_options const& how,
                              build_report& report, large_report& about);
std::uint64_t scratch_bytes_to_generate(generate_options const& options, bool compress);

// Peak memory of generate(): local memory of the device, and host memory for the result.
struct generate_bytes {
  std::uint64_t near, result;
};
generate_bytes bytes_to_generate(generate_options const& options);

}  // namespace garner
