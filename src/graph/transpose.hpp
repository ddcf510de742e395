// Computes the adjacency of the other direction: in-edges from out-edges. Invariant: the same edges with the same weights; lists ascend by
// source, then by weight, whatever the number of threads. Cost: two reads of the edges, one write and a sort of each list, on the host; 8
// bytes per vertex in addition to the result.
#pragma once
#include "graph/graph.hpp"

namespace garner {

// Adds in-edges to a directed graph in host memory, compressed if its out-edges are. No effect if it has them, or is undirected.
void add_in_lists(graph& g);
std::uint64_t bytes_to_transpose(graph_info const& info);                 // of host memory, in addition to both directions
void require_out_edges(std::string const& name, graph_info const& info);  // errc::input if the adjacency is reversed

}  // namespace garner
