// All edges among the sampled vertices.
#pragma once
#include "sample/kernels/hop_state.hpp"

namespace garner::drawing {

struct is_known {  // no lambda: nvcc 13.0 ends with an internal error
  std::uint32_t const* place;
  GARNER_HD std::uint64_t operator()(std::uint64_t u) const { return place[u] != none ? 1 : 0; }
};
template <class Id, bool Packed>
struct tally_induced : hop_of_relation {
  csr_view<Id> lists;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    auto const v = static_cast<std::uint64_t>(to_ids[i]);
    std::uint64_t const n = t.sum(known<Packed>(lists.targets.part_of(v, offsets[v], offsets[v + 1])), is_known{places.place});
    t.once([&] { drawn[i] = static_cast<std::uint32_t>(smaller<std::uint64_t>(n, none)); });
  }
};
// Unordered; sorting follows. A key: target, and above it nothing; below it the index in the list.
template <class Id, bool Packed>
struct list_induced : hop_of_relation {
  csr_view<Id> lists;
  std::uint64_t* keys;
  std::uint64_t* cursor;  // at[i], counted up
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    if (c[map.over]) return;
    auto const v = static_cast<std::uint64_t>(to_ids[i]);
    std::uint64_t const begin = offsets[v];
    span<Id> const list = known<Packed>(lists.targets.part_of(v, offsets[v], offsets[v + 1]));
    t.each(list, [&](Id u, std::uint64_t e) {
      if (places.place[u] != none) keys[atomic_add(cursor + i, std::uint64_t{1})] = i << 32 | (e - begin);
    });
  }
};
struct take_induced : hop_of_relation {
  std::uint64_t const* keys;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t k) const {
    if (c[map.over]) return;
    std::uint64_t const target = keys[k] >> 32;
    col[k] = static_cast<std::int64_t>(target);
    edge[k] = static_cast<std::int64_t>(offsets[static_cast<std::uint64_t>(to_ids[target])] + (keys[k] & 0xffffffffu));
  }
};
struct copy_values {
  std::uint64_t const* from;
  std::uint64_t* to;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    to[i] = from[i];
  }
};

}  // namespace garner::drawing
