// Whether the first of several devices is faster alone, predicted before a run: a part's share of the bytes and of the work, what shards
// exchange, and what each round waits for the others. Invariant: plain arithmetic, the same on every machine for the same numbers.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>

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

// Takes the first of several devices alone where that is faster and has `device_bytes` for it: changes the options, and returns the
// prediction.
template <class Asked>
std::optional<spread_prediction> take_first_alone(graph_info const& info, std::uint64_t list_bytes, stored const& s, Asked& o,
                                                  std::uint64_t device_bytes) {
  if (!may_take_first(o)) return {};
  Asked one = o;
  one.device = o.devices[0], one.devices.clear(), one.first_alone = true;
  auto const tier_of = [&](Asked const& x) { return x.edges ? *x.edges : automatic_tier(info, x, s, device_bytes); };
  Asked placed = one;
  placed.edges = tier_of(one);
  spread_prediction const p = predict_spread(info, list_bytes, o, *placed.edges, tier_of(o));
  if (!p.first_alone() || make_plan(info, placed, s).device_bytes() > device_bytes) return {};
  o = std::move(one);
  return p;
}

}  // namespace garner
