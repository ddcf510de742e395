// Vertices in another order: by degree, by breadth-first search, at random, by a given score, or by the user's ids again. The user's ids
// move along (graph.ids, and graph.by_id to look them up), so algorithms accept and report the same ids as before. Invariant: the graph is
// the same: each list holds the same neighbors and weights, sorted by the new internal ids (equal ones by weight). The result depends on
// the graph and its ids alone, not on its previous order. Cost: one read and one write of the lists and a sort of each, on the host; the
// lists twice in host memory. Fewer than 2^32 vertices.
#pragma once
#include "garner/convert.hpp"
#include "graph/graph.hpp"

namespace garner {

// On the CPU: the arrays are in host memory. On a GPU (any order except bfs): the same result, read from the present tier (plain or
// compressed) and built in the memory of that device, where it stays.
graph reorder(graph g, reorder_options const& options, execution_device where = {});

std::uint64_t reorder_bytes(graph_info const& info);  // peak host memory, including the graph

}  // namespace garner
