// Certificates: a result is checked against the graph itself, in parallel, at the place that made it, with far reads where the edges are
// far. Independent of how the result came about. The serial twins, which compute the answer again, live in the tests.
#pragma once
#include <string>

#include "core/exec.hpp"
#include "core/executor.hpp"
#include "graph/graph.hpp"
#include "graph/list_windows.hpp"

namespace garner {

// Of a list the arcs that a body is to look at.
template <class T>
GARNER_HD inline span<T> clipped(span<T> list, indices only) {
  list.begin = larger(list.begin, only.begin);
  list.end = larger(list.begin, smaller(list.end, only.end));
  return list;
}
// Runs make(view, arcs) over all vertices, a body that looks at those of their arcs alone; where lists stay in a file, window by window,
// over the vertices that own some.
template <int Width, class Id, class Make>
void for_each_list(executor& x, list_windows* windows, csr_view<Id> const& v, graph const& g, bool weighted, access_mode how, bool as_free,
                   Make const& make) {
  if (!windows) return for_each_item<Width>(x, v.vertices, make(v, indices{0, v.edges}), how, as_free);
  windows->each_arc(g.out, {true, weighted, true}, [&](list_window const& w, indices arcs, indices vertices) {
    auto const body = make(w.over(v), arcs);
    for_each_item<Width>(x, vertices.end - vertices.begin, beginning_at<decltype(make(v, arcs))>{body, vertices.begin}, how, as_free);
  });
}

// What to do where a certificate fails, which ends the message: a wrong result is a defect of Garner, unless nobody checked the file.
std::string what_to_do(graph const& g);

// A BFS result, near memory of the executor's place.
template <class Id>
struct bfs_tree {
  csr_view<Id> g;
  std::uint64_t source;
  std::uint32_t const* depth;
  Id const* parent;
};

// Throws errc::internal that names the first vertex (by id) where the certificate fails, in the user's ids.
// It holds iff the depths are right and the parents lie on shortest paths: the source alone has depth 0; no arc spans more than one level
// (so no depth is too large); every other reached vertex has a parent one level up and the arc parent -> vertex exists (so none is too
// small); what is not reached has no parent. Cost: one read of the arcs of reached vertices, n/8 bytes of near memory.
template <class Id>
void verify_bfs(executor& x, bfs_tree<Id> const& tree, graph const& g, access_mode how, list_windows* windows = nullptr);

extern template void verify_bfs(executor&, bfs_tree<std::uint32_t> const&, graph const&, access_mode, list_windows*);
extern template void verify_bfs(executor&, bfs_tree<std::uint64_t> const&, graph const&, access_mode, list_windows*);

}  // namespace garner
