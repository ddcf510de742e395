// Certificates: check a result against the graph itself, in parallel, on the device that produced it, with remote reads for remote edges.
// They do not depend on how the result was computed. The serial versions, which recompute it, are in the tests.
#pragma once
#include <string>

#include "core/access.hpp"
#include "core/exec.hpp"
#include "core/executor.hpp"
#include "graph/graph.hpp"
#include "graph/list_windows.hpp"

namespace garner {

// The edges of a list that a kernel should visit.
template <class T>
GARNER_HD inline span<T> clipped(span<T> list, indices only) {
  list.begin = larger(list.begin, only.begin);
  list.end = larger(list.begin, smaller(list.end, only.end));
  return list;
}
// Runs `make(view, arcs)`, a kernel that visits only these edges of its vertices, over all vertices. For adjacency in a file it runs window
// by window, over the vertices that own some edges.
template <int Width, class Id, class Make>
void for_each_list(executor& x, list_windows* windows, csr_view<Id> const& v, graph const& g, bool weighted, access_mode how, bool as_free,
                   Make const& make) {
  if (!windows) return for_each_item<Width>(x, v.vertices, make(v, indices{0, v.edges}), how, as_free);
  windows->each_arc(g.out, {true, weighted, true}, [&](list_window const& w, indices arcs, indices vertices) {
    auto const body = make(w.over(v), arcs);
    for_each_item<Width>(x, vertices.end - vertices.begin, beginning_at<decltype(make(v, arcs))>{body, vertices.begin}, how, as_free);
  });
}

// The advice that ends a failed certificate's message: a wrong result is a defect of Garner, unless the file was not verified.
std::string what_to_do(graph const& g);

// A BFS result, in local memory of the executor's device.
template <class Id>
struct bfs_tree {
  csr_view<Id> g;
  std::uint64_t source;
  std::uint32_t const* depth;
  Id const* parent;
  std::uint32_t limit = ~0u;  // vertices farther are not reached
};

// Throws errc::internal that names the first vertex (by id) that violates the certificate, as a user id. The certificate holds iff the
// depths are right and the parents are on shortest paths. Only the source has depth 0; edges span at most one level (so depths are not too
// large); every other reached vertex has a parent one level up and an edge from it (so depths are not too small); unreached vertices lack
// parents. Cost: one read of the edges of reached vertices, n/8 bytes of local memory.
template <class Id>
void verify_bfs(executor& x, bfs_tree<Id> const& tree, graph const& g, access_mode how, list_windows* windows = nullptr);

extern template void verify_bfs(executor&, bfs_tree<std::uint32_t> const&, graph const&, access_mode, list_windows*);
extern template void verify_bfs(executor&, bfs_tree<std::uint64_t> const&, graph const&, access_mode, list_windows*);

}  // namespace garner
