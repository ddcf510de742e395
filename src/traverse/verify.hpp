// Certificates: a result is checked against the graph itself, in parallel, at the place that made it, with far reads where the edges are
// far. Independent of how the result came about. The serial twins, which compute the answer again, live in the tests.
#pragma once
#include <string>

#include "core/executor.hpp"
#include "graph/graph.hpp"

namespace garner {

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
void verify_bfs(executor& x, bfs_tree<Id> const& tree, graph const& g, access_mode how);

extern template void verify_bfs(executor&, bfs_tree<std::uint32_t> const&, graph const&, access_mode);
extern template void verify_bfs(executor&, bfs_tree<std::uint64_t> const&, graph const&, access_mode);

}  // namespace garner
