// Generators: see generate_options. Every arc is a pure function of (seed, its number), drawn at the executor's place.
// Cost on one core some 100 ns an edge, the sort of build_csr after it; 32 bytes an edge of near memory.
#pragma once
#include "core/executor.hpp"
#include "graph/edge_list.hpp"
#include "graph/graph.hpp"
#include "graph/large_graph.hpp"

namespace garner {

graph generate(executor& x, generate_options const& options, build_report& report);

// The edges of the same graph by parts, undirected, each once; and the list whose parts they are, without them.
void generate_edges(generate_options const& options, arc_sink& sink);
edge_list generated_list(generate_options const& options);

// A graph larger than the host budget, into a container; disk that this takes beside it.
graph_info generate_container(generate_options const& options, std::filesystem::path const& to, large_options const& how,
                              build_report& report, large_report& about);
std::uint64_t scratch_bytes_to_generate(generate_options const& options, large_options const& how);

generator parse_generator(std::string_view name);  // kron, uniform, web; errc::usage otherwise
std::string_view to_string(generator g);

// Near memory of the place, and host memory of the result, that generate() will take at its peak.
struct generate_bytes {
  std::uint64_t near, result;
};
generate_bytes bytes_to_generate(generate_options const& options);

}  // namespace garner
