// Whether the first of several devices is faster alone, predicted before a run: a part's share of the bytes and of the work, what shards
// exchange, and what each round waits for the others. Invariant: plain arithmetic, the same on every machine for the same numbers.
#pragma once
#include <cstdint>

#include "traverse/plan.hpp"

namespace garner {

struct spread_prediction {
  double one_ms = 0, all_ms = 0;  // of a run; PageRank: of an iteration
  // All have to win clearly: waits vary more than bytes do.
  bool first_alone() const { return all_ms > 0.85 * one_ms; }
};
// `list_bytes`: of the adjacency as it is stored. `one`, `all`: the tier of the edges on the first device alone, and over all.
spread_prediction predict_spread(graph_info const& info, std::uint64_t list_bytes, job_options const& o, tier one, tier all);
// On fewer than two different devices, or on the CPU, nothing is decided: parts of one device stay parts.
bool may_take_first(job_options const& o);

// The options of the first device alone.
template <class Asked>
Asked of_first(Asked o) {
  o.device = o.devices[0], o.devices.clear(), o.first_alone = true;
  return o;
}

}  // namespace garner
