// The certificate of shortest paths: checks a result against the graph itself, in parallel, on the device that produced it.
#pragma once
#include "core/access.hpp"
#include "core/executor.hpp"
#include "graph/graph.hpp"
#include "traverse/distance.hpp"

namespace garner {

class list_windows;

// A result, in local memory of the executor's device.
template <class Id, class Measure>
struct sssp_distances {
  csr_view<Id> g;
  std::uint64_t source;
  typename Measure::word const* distance;
};

// Throws errc::internal that names the first vertex (by id) that violates the certificate, as a user id. The certificate holds iff the
// distances are right. The source has 0; edges do not lead to a smaller distance (so distances are not too large); every other reached
// vertex is the end of a path of tight edges from the source (so they are not too small). An edge u -> v is tight if distance[u] + weight
// is distance[v] exactly, in the arithmetic of the algorithm. Tight edges of increasing distance cannot form a cycle, so one per vertex
// suffices. Those of weight 0 (or too small to change an f32) can, so paths along them are followed from proven vertices. `parent`, if not
// null, receives the tight edges' sources: the source is its own parent, ~0 if unreached. Cost: one read of edges and weights of the
// reached vertices, a second one if there are edges of weight 0; n / 8 bytes of local memory.
template <class Id, class Measure>
void verify_sssp(executor& x, sssp_distances<Id, Measure> const& result, graph const& g, access_mode how, Id* parent = nullptr,
                 list_windows* windows = nullptr);

#define GARNER_VERIFY_SSSP(Id, Measure) \
  template void verify_sssp(executor&, sssp_distances<Id, Measure> const&, graph const&, access_mode, Id*, list_windows*)
extern GARNER_VERIFY_SSSP(std::uint32_t, whole_distance);
extern GARNER_VERIFY_SSSP(std::uint64_t, whole_distance);
extern GARNER_VERIFY_SSSP(std::uint32_t, real_distance);
extern GARNER_VERIFY_SSSP(std::uint64_t, real_distance);

}  // namespace garner
