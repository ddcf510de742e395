// The lists of the other direction, made of those of one: who leads to a vertex, of whom it leads to.
// Invariant: the same arcs with the same weights; lists ascend by source, equal ones by weight, whatever the number of threads.
// Cost: two reads of the arcs, one write and a sort of each list, on the host; 8 bytes a vertex beside the result.
#pragma once
#include "graph/graph.hpp"

namespace garner {

// Gives a directed graph in host memory its in-lists, packed where its out-lists are. No change where it has them, or is undirected.
void add_in_lists(graph& g);
std::uint64_t bytes_to_transpose(graph_info const& info);  // of host memory, beside the lists of both directions

}  // namespace garner
