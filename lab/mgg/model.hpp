// MGG's analytical model and its search over neighbors per partition (ps), pairs per warp (dist) and warps per block (wpb): section 4 of
// Wang et al., OSDI 2023, with its order and its limits. Invariant: each shape is measured once; the result was measured, and is the
// fastest measured one. Cost: some ten measurements.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "shard/parts.hpp"

namespace garner::lab {

// Equation 3: 4 ps wpb + 8 wpb D bytes per block, as in the paper; here a lane takes 128 bytes, whatever the shape. `columns`: D.
std::uint64_t mgg_shared_bytes(mgg_tuning const& shape, std::uint64_t columns);

struct mgg_step {
  mgg_tuning shape;
  double ms;
};
struct mgg_search {
  std::vector<mgg_step> steps;  // in the order they were measured
  mgg_step best;
};
// From 1, 1, 1 each is doubled while that is faster: first ps, then dist, then wpb. Then ps is halved and wpb raised anew, as long as one
// of these is among the three fastest so far.
constexpr std::uint64_t a100_shared_bytes = 164 << 10;  // of a multiprocessor: their c2
mgg_search search_mgg(std::uint64_t columns, std::uint64_t shared_bytes, std::function<double(mgg_tuning const&)> const& measure);

}  // namespace garner::lab
