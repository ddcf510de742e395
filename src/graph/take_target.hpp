// Extracts targets, the low bits of sorted keys, as an edge list. Cost: one read and one write per edge.
#pragma once
#include <cstdint>

#include "core/mark.hpp"

namespace garner {

template <class Id>
struct take_target {
  std::uint64_t const* keys;  // local
  std::uint64_t low;          // mask of the target bits
  Id* targets;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    targets[i] = static_cast<Id>(keys[i] & low);
  }
};

}  // namespace garner
