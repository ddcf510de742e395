// The certificate of PageRank: one step of the equation that the ranks must solve, taken anew in f64 by pushing along the out-lists (a job
// that pulls reads the in-lists), and how far it leads from the ranks.
#pragma once
#include <limits>

#include "core/executor.hpp"
#include "graph/graph.hpp"

namespace garner {

class list_windows;

// Ranks, and the equation: next[v] = (1 - damping) jump[v] + damping (sum over u -> v of rank[u] / degree[u] + dangling jump[v]), where the
// dangling mass counts only if it is redistributed. Weighted: instead of 1 / degree[u] the share that the edge has of all weights from u.
// Pointers are near memory of the executor's place.
template <class Id>
struct pagerank_claim {
  csr_view<Id> g;  // out-lists
  float const* rank;
  float const* jump;  // null: `jump_all` for each
  double jump_all, damping;
  bool redistribute;
  // What is allowed: -below - s <= next[v] - rank[v] <= above + s, where s = next[v] (slack + slack_an_arc x arcs that lead to v); and the
  // sum of |next - rank|.
  double below, above, slack = 0, slack_an_arc = 0;
  double l1 = std::numeric_limits<double>::infinity();
  bool weighted = false;
};

// Throws errc::internal that names the first vertex (by id) that is further off than allowed, or both L1 distances. Cost: one read of the
// arcs (weighted: two), 8 bytes a vertex of near memory (12 where slack_an_arc is not 0, 16 weighted).
template <class Id>
void verify_pagerank(executor& x, pagerank_claim<Id> const& claim, graph const& g, access_mode how, list_windows* windows = nullptr);

extern template void verify_pagerank(executor&, pagerank_claim<std::uint32_t> const&, graph const&, access_mode, list_windows*);
extern template void verify_pagerank(executor&, pagerank_claim<std::uint64_t> const&, graph const&, access_mode, list_windows*);

}  // namespace garner
