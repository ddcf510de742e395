// The steps of a reorder that every place can take: an order by score, and lists moved, renamed and sorted.
#pragma once
#include <span>

#include "core/executor.hpp"
#include "graph/graph.hpp"

namespace garner {

// The vertices by descending score, of equals by rank: internal ids, in host memory. Scores by rank; none is no number.
buffer<std::uint32_t> order_by_score(executor& x, graph const& g, std::span<float const> scores);

// Lists of one direction in a new order, their edges near. `old` must be readable by x, plain or packed; `order` leads from new to old
// internal ids, `renamed` back, both near. The same bytes as the host's own way gives.
edge_lists relabel_near(executor& x, graph const& g, edge_lists const& old, buffer<std::uint32_t> const& order,
                        buffer<std::uint32_t> const& renamed);
std::uint64_t relabel_near_bytes(graph_info const& info);  // near memory at the peak, the new lists included

}  // namespace garner
