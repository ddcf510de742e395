// The certificate of shortest paths: a result is checked against the graph itself, in parallel, at the place that made it.
#pragma once
#include "core/executor.hpp"
#include "graph/graph.hpp"
#include "traverse/distance.hpp"

namespace garner {

class list_windows;

// A result, near memory of the executor's place.
template <class Id, class Measure>
struct sssp_distances {
  csr_view<Id> g;
  std::uint64_t source;
  typename Measure::word const* distance;
};

// Throws errc::internal that names the first vertex (by id) where the certificate fails, in the user's ids.
// It holds iff the distances are right: the source has 0; no arc gives its target a smaller one (so none is too large); every other reached
// vertex is the end of a path of tight arcs from the source (so none is too small). An arc u -> v is tight where distance[u] + weight is
// distance[v] exactly, in the arithmetic that made it. Tight arcs that go up in distance cannot close a ring, so one suffices; those of
// weight 0 (or too light to change an f32) can, so along them the paths are followed from vertices that are proven.
// `parent`, unless null, is filled with such arcs: the source is its own parent, ~0 where unreached.
// Cost: one read of arcs and weights of the reached vertices, a second one where there are arcs of weight 0; n / 8 bytes of near memory.
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
