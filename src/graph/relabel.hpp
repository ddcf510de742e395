// The steps of a reorder that run on any device: the order by score, and moving, renaming and sorting lists.
#pragma once
#include <span>

#include "core/executor.hpp"
#include "graph/graph.hpp"

namespace garner {

// The vertices by descending score, ties by rank: internal ids, in host memory. Scores are indexed by rank, without NaN.
buffer<std::uint32_t> order_by_score(executor& x, graph const& g, std::span<float const> scores);

// Adjacency of one direction in a new order, with edges in local memory. `old` must be readable by x, plain or compressed. `order` maps new
// to old internal ids, `renamed` old to new, both local. The result equals the host's, byte for byte.
edge_lists relabel_near(executor& x, graph const& g, edge_lists const& old, buffer<std::uint32_t> const& order,
                        buffer<std::uint32_t> const& renamed);
std::uint64_t relabel_near_bytes(graph_info const& info);  // peak local memory, including the new adjacency

}  // namespace garner
