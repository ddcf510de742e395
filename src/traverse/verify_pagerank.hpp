// The certificate of PageRank: one step of the equation that the ranks must solve, recomputed in f64 by pushing along out-edges (the pull
// variant reads in-edges), and its distance from the ranks.
#pragma once
#include <limits>

#include "core/access.hpp"
#include "core/executor.hpp"
#include "graph/graph.hpp"

namespace garner {

class list_windows;

// Ranks, and the equation: next[v] = (1 - damping) jump[v] + damping (sum over u -> v of rank[u] / degree[u] + dangling jump[v]), where the
// dangling mass counts only if it is redistributed. Weighted: 1 / degree[u] is replaced by the edge's share of all weights from u. Pointers
// are to local memory of the executor's device.
template <class Id>
struct pagerank_claim {
  csr_view<Id> g;  // out-edges
  float const* rank;
  float const* jump;  // null: `jump_all` for all
  double jump_all, damping;
  bool redistribute;
  // The tolerance: -below - s <= next[v] - rank[v] <= above + s, where s = next[v] (slack + slack_an_arc x number of in-edges of v); and
  // the sum of |next - rank|.
  double below, above, slack = 0, slack_an_arc = 0;
  double l1 = std::numeric_limits<double>::infinity();
  bool weighted = false;
};

// Throws errc::internal that names the first vertex (by id) outside the tolerance, or both L1 distances. Cost: one read of the edges
// (weighted: two), 8 bytes per vertex of local memory (12 if slack_an_arc is not 0, 16 weighted).
template <class Id>
void verify_pagerank(executor& x, pagerank_claim<Id> const& claim, graph const& g, access_mode how, list_windows* windows = nullptr);

extern template void verify_pagerank(executor&, pagerank_claim<std::uint32_t> const&, graph const&, access_mode, list_windows*);
extern template void verify_pagerank(executor&, pagerank_claim<std::uint64_t> const&, graph const&, access_mode, list_windows*);

}  // namespace garner
