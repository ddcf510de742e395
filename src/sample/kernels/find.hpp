// Which neighbors stand at the sampled edges: the only reads of remote lists. Which edge sampled a vertex first, reach() notes.
#pragma once
#include "graph/list_windows.hpp"
#include "sample/kernels/hop_state.hpp"

namespace garner::drawing {

// Edges by position in the lists, so that reads share translations: page, and above it the edge of the hop.
struct page_of_edge : hop_of_relation {
  std::uint64_t* keys;
  std::uint32_t shift;
  std::uint64_t pages;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    keys[i] = i << 32 | (i < c[map.items] && !c[map.over] ? static_cast<std::uint64_t>(edge[i]) >> shift : pages);
  }
};
template <class Id, bool Packed>
struct fetch : hop_of_relation {
  using full_blocks = void;  // remote reads take a share of the device, and leave the rest to a gather and a model that run meanwhile
  csr_view<Id> lists;
  std::uint64_t const* order;  // of the first `ordered`; null: as they come
  std::uint64_t ordered;
  std::uint64_t const* window_at = nullptr;  // of lists in a file: where each stands in a window of them
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    if (c[map.over]) return;
    if constexpr (Team::asks_ahead)
      if (!window_at) look_ahead(k);
    std::uint64_t const i = k < ordered ? order[k] >> 32 : k;
    auto const e = static_cast<std::uint64_t>(edge[i]), target = static_cast<std::uint64_t>(col[i]);
    std::uint64_t const tree = tree_of(target), batch = batch_of(target);
    std::uint64_t const v = lists.targets.moved_by ? static_cast<std::uint64_t>(to_ids[target]) : 0;
    span<Id> one = lists.targets.part_of(v, e, e + 1);
    if (window_at) one = list_window::moved(one, window_at[k]);
    t.each(known<Packed>(one), [&](Id u) { reach(i, u, tree, batch); });
  }
  // A host thread prefetches list entries, and then what it will look up for them, some edges ahead: a device has thousands in flight.
  // Inlined, since gcc drops a call to a function that only prefetches.
  [[gnu::always_inline]] GARNER_HD void look_ahead(std::uint64_t k) const {
    constexpr std::uint64_t lists_ahead = 32, places_ahead = 16;
    if (lists.targets.packed) return;
    std::uint64_t const items = c[map.items];
    if (k + lists_ahead < items) ask_soon(lists.targets.data + edge[k + lists_ahead]);
    if (!places.place || k + places_ahead >= items) return;
    std::uint64_t const i = k + places_ahead;
    auto const target = static_cast<std::uint64_t>(col[i]);
    ask_soon(places.near(lists.targets.data[edge[i]], tree_of(target), batch_of(target)));
  }
};

}  // namespace garner::drawing
