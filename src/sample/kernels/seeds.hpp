// How mini-batches and their hops begin, and how mini-batches end.
#pragma once
#include "sample/kernels/hop_state.hpp"

namespace garner::drawing {

struct begin_batch {
  std::uint64_t* c;
  counter_map map;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t k) const {
    bool const is_bad = k >= map.shared() && (k - map.shared()) % map.own() == map.bad;
    c[k] = is_bad ? nothing : 0;
  }
};
// Those of one type of a mini-batch. `first`: how many of other types stand before them; `before`: of other mini-batches.
struct take_seeds {
  std::uint64_t* c;
  counter_map map;
  std::uint32_t type;
  std::uint64_t first, before, batch, count;
  std::int64_t const *seeds, *times, *times_of_type;
  std::uint64_t vertices;
  void const* inside;  // by position, the internal id; null: the same
  std::uint32_t id_bytes;
  place_table places;
  std::int64_t *all_ids, *ids;
  std::uint32_t *tree, *of_batch;
  std::int64_t* tree_time;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    std::uint64_t* const mine = c + map.part(batch);
    if (i == 0) {
      mine[map.count(type)] = count, mine[map.next_segment(type)] = before;
      c[map.total(type)] = before + count;
    }
    auto v = static_cast<std::uint64_t>(seeds[i]);
    if (v >= vertices) {
      atomic_min(mine + map.bad, first + i);
      v = 0;
    }
    if (inside) v = id_bytes == 8 ? static_cast<std::uint64_t const*>(inside)[v] : static_cast<std::uint32_t const*>(inside)[v];
    if (tree_time) tree_time[first + i] = times ? times[i] : times_of_type[v];
    all_ids[before + i] = ids[i] = static_cast<std::int64_t>(v);
    if (tree) tree[i] = static_cast<std::uint32_t>(first + i);
    if (of_batch) of_batch[before + i] = static_cast<std::uint32_t>(batch);
    atomic_min(places.place + places.insert(v, tree ? first + i : 0, batch), static_cast<std::uint32_t>(i));
  }
};
// A mini-batch without seeds, among several: it begins and ends where the next one does.
struct no_seeds {
  std::uint64_t* c;
  counter_map map;
  std::uint64_t batch, before;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t) const {
    c[map.part(batch) + map.next_segment(0)] = before;
  }
};
// Hop `hop` samples for the vertices reached by the hop before, or for all; `hops`: sampling ends. One item per mini-batch.
struct begin_hop {
  std::uint64_t* c;
  counter_map map;
  std::uint32_t hop;
  bool all;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t b) const {
    std::uint64_t* const mine = c + map.part(b);
    for (std::uint32_t t = 0; t < map.types; ++t) {
      if (b == 0) {
        std::uint64_t const begin = c[map.end(t)], end = c[map.total(t)];
        c[map.begin(t)] = begin, c[map.end(t)] = end;
        c[map.drawing(t)] = c[map.over] ? 0 : all ? end : end - begin;
      }
      mine[map.segment(t)] = all ? 0 : mine[map.next_segment(t)];
      mine[map.local(t)] = all ? 0 : mine[map.next_local(t)];
      // Vertices reached by the relations of this hop are appended to the existing ones.
      mine[map.next_segment(t)] = c[map.total(t)], mine[map.next_local(t)] = mine[map.count(t)];
      mine[map.history(hop) + t] = mine[map.count(t)];
    }
    for (std::uint32_t r = 0; r < map.relations; ++r) mine[map.history(hop) + map.types + r] = mine[map.edges(r)];
    mine[map.was_over] = c[map.over], mine[map.needs_items] = c[map.need_items];
  }
};

// --- the end ---
struct forget {
  std::int64_t const* ids;
  std::uint32_t const* batch;  // null: one
  place_table places;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    // A seed that stands twice is forgotten twice.
    atomic_store(places.place + (batch ? batch[i] : 0) * places.vertices + static_cast<std::uint64_t>(ids[i]), none);
  }
};
struct name_by_position {
  std::int64_t* ids;
  void const* ranks;
  bool wide;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    ids[i] = wide ? static_cast<std::int64_t>(static_cast<std::uint64_t const*>(ranks)[ids[i]])
                  : static_cast<std::int64_t>(static_cast<std::uint32_t const*>(ranks)[ids[i]]);
  }
};

}  // namespace garner::drawing
