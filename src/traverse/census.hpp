// Counts the components of final labels, and the members of the largest. Most vertices share one label: a sample finds it, and its members
// are counted in registers.
#pragma once
#include <algorithm>

#include "core/exec.hpp"
#include "core/random.hpp"

namespace garner::detail {

template <class Id>
struct draw_labels {
  Id const* label;
  std::uint64_t vertices, seed;
  Id* drawn;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    drawn[i] = label[random_bits(seed, 11, i) % vertices];
  }
};

struct census {
  std::uint64_t components, of_sampled, largest;
  GARNER_HD friend census operator+(census const& a, census const& b) {
    return {a.components + b.components, a.of_sampled + b.of_sampled, larger(a.largest, b.largest)};
  }
};
constexpr std::uint64_t census_block = 1024;  // vertices that a team reduces before it adds to the census

// Counts components, and members by smallest vertex. The sampled component's many members are counted in registers.
template <class Id>
struct count_members {
  Id const* label;
  std::uint64_t vertices;
  Id sampled;
  Id* members;
  census* total;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    census const mine = t.sum(indices{b * census_block, smaller(vertices, (b + 1) * census_block)}, [&](std::uint64_t v) {
      Id const at = label[v];
      if (at != sampled) atomic_add(members + at, Id{1});
      return census{at == static_cast<Id>(v), at == sampled, 0};
    });
    t.once([&] {
      atomic_add(&total->components, mine.components);
      atomic_add(&total->of_sampled, mine.of_sampled);
    });
  }
};
template <class Id>
struct find_largest {
  Id const* members;
  std::uint64_t vertices;
  census* total;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    census const mine = t.sum(indices{b * census_block, smaller(vertices, (b + 1) * census_block)}, [&](std::uint64_t v) {
      return census{0, 0, members[v]};
    });
    t.once([&] { atomic_max(&total->largest, mine.largest); });
  }
};

}  // namespace garner::detail
