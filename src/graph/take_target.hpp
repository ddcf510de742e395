// What stands in the low bits of sorted arcs, as an edge list. Cost: one read and one write an arc.
#pragma once
#include <cstdint>

#include "core/mark.hpp"

namespace garner {

template <class Id>
struct take_target {
  std::uint64_t const* keys;  // near
  std::uint64_t low;          // the bits that are the target
  Id* targets;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    targets[i] = static_cast<Id>(keys[i] & low);
  }
};

}  // namespace garner
