// Vertices in another order: by degree, as a breadth-first search meets them, at random, by a score that is handed in, or by the user's ids
// again. The user's ids go with them (graph.ids, and graph.by_id to find them), so jobs take and tell the same ids as before.
// Invariant: the same graph: each list holds the same neighbours and weights, sorted by the new internal ids (equal ones by weight). The
// order depends on the graph and its ids alone, not on the order it had.
// Cost: one read and one write of the lists and a sort of each, on the host; the lists twice in host memory. Fewer than 2^32 vertices.
#pragma once
#include <string_view>

#include "graph/graph.hpp"

namespace garner {

// At the host: its arrays in host memory. Elsewhere (any order but bfs): the same lists, read from where they lie (plain or packed) and
// made near that place, where they stay: on a device in its memory.
graph reorder(graph g, reorder_options const& options, place where = {});

std::uint64_t reorder_bytes(graph_info const& info);  // host memory at the peak, the graph included

vertex_order parse_order(std::string_view name);  // degree, bfs, random, natural, score; errc::usage otherwise
std::string_view to_string(vertex_order order);

}  // namespace garner
