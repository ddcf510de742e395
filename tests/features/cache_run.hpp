// A trace (rows of each mini-batch) through the plan of a cache that knows `window` mini-batches beyond the one that it plans.
#pragma once
#include <span>
#include <vector>

#include "features/cache_plan.hpp"

namespace garner::testing {

struct cache_run {
  std::uint64_t batches = 0, accesses = 0, hits = 0;
};
inline cache_run simulate_cache(std::vector<std::vector<std::uint64_t>> const& trace, std::uint64_t slots, eviction policy,
                                std::uint32_t window, std::span<float const> scores = {}) {
  cache_plan plan(slots, policy, scores);
  cache_run run;
  for (std::uint64_t b = 0; b < trace.size() || plan.ahead();) {
    if (b < trace.size()) plan.enter(trace[b++]);
    if (b < trace.size() && plan.ahead() <= window) continue;
    cache_plan::step const s = plan.next();
    run.accesses += s.rows, run.hits += s.hits, ++run.batches;
  }
  return run;
}

}  // namespace garner::testing
