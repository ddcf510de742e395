// How many entries each vertex samples or reads, and where its edges stand: a scan gives each its first.
#pragma once
#include "sample/kernels/hop_state.hpp"

namespace garner::drawing {

// Which entries of a list may be sampled without a look at each: so many from its first on.
struct all_entries {
  bool latest = false;  // the last of them are taken, not any
  template <class Team>
  GARNER_HD std::uint64_t count(Team, hop_of_relation const&, std::uint64_t, std::uint64_t, std::uint64_t begin, std::uint64_t end) const {
    return end - begin;
  }
};
// For lists in the order of time: the edges that are no later than the seed.
template <class By>
struct entries_in_time {
  bool latest;
  By by;
  std::int64_t const* tree_time;
  template <class Team>
  GARNER_HD std::uint64_t count(Team t, hop_of_relation const& of, std::uint64_t target, std::uint64_t v, std::uint64_t begin,
                                std::uint64_t end) const {
    std::int64_t const limit = tree_time[of.tree_of(target)];
    std::uint64_t low = begin, high = end;
    while (low < high) {
      std::uint64_t const middle = low + (high - low) / 2;
      bool later = false;
      t.each(by.part(v, middle, middle + 1), [&](typename By::element const& e) { later = by.time_of(e) > limit; });
      if (later) high = middle;
      else low = middle + 1;
    }
    return low - begin;
  }
};
template <class Entries>
struct tally : hop_of_relation {
  Entries entries;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    constexpr std::uint64_t ahead = 16;
    if (Team::asks_ahead && i + ahead < c[map.drawing(to)]) ask_soon(offsets + to_ids[first_drawing() + i + ahead]);
    std::uint64_t const target = first_drawing() + i;
    auto const v = static_cast<std::uint64_t>(to_ids[target]);
    std::uint64_t const degree = entries.count(t, *this, target, v, offsets[v], offsets[v + 1]);
    drawn[i] = static_cast<std::uint32_t>(smaller<std::uint64_t>(fanout < 0    ? degree
                                                                 : degree == 0 ? 0
                                                                 : replace     ? static_cast<std::uint64_t>(fanout)
                                                                               : smaller<std::uint64_t>(degree, fanout),
                                                                 none));
  }
};
// The hop has so many edges, if there is room. An item a mini-batch.
struct open_edges : hop_of_relation {
  bool looks, last;  // edges are looked at and some left out; nothing is left out any more
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t b) const {
    if (c[map.over]) return;  // no item is valid: no hop begins after that
    std::uint64_t const drawing = c[map.drawing(to)];
    bool const sifted = looks && last;
    auto const edges_until = [&](std::uint64_t target) { return sifted ? rank[at[target]] : at[target]; };
    std::uint64_t const items = edges_until(drawing);
    std::uint64_t* const mine = of(b);
    bool too_many = items > room_items || base() + items >= none;
    if (last) {
      std::uint64_t const begin = mine[map.segment(to)] - first_drawing();
      std::uint64_t const end = b + 1 < batches ? of(b + 1)[map.segment(to)] - first_drawing() : drawing;
      std::uint64_t const first_of_mine = edges_until(begin), edges_then = mine[map.edges(relation)] + edges_until(end) - first_of_mine;
      mine[map.first_item] = first_of_mine;
      mine[map.need_edges(relation)] = larger(mine[map.need_edges(relation)], edges_then);
      too_many |= edges_then > room_edges || base() + items > places.room();
    }
    if (b == 0) {
      c[map.need_items] = larger(c[map.need_items], items);
      c[map.items] = items;
      if (!last) c[map.looked_at] = items;
    }
    if (too_many) atomic_store(c + map.over, std::uint64_t{1});
  }
};

}  // namespace garner::drawing
