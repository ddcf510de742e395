// A hop over a relation is a handful of loops: how many each vertex draws, where (a scan tells at which edge each begins), which neighbours
// stand there (the only far reads), who was drawn first (another scan), and the local numbers of all.
// Invariant: place[v] is the local number of v, or none; while a hop runs, of a vertex that has none yet: base + the first edge that drew
// it, base being larger than any number so far. So the smallest wins whichever thread comes first. Drawing: Floyd's sampling without
// replacement (Bentley, CACM 30(9) 1987): the k-th draw is uniform in [0, d - f + k]; what was drawn already becomes d - f + k itself. Each
// set of f positions is equally likely. f^2 / 2 comparisons, no table. By weights: the f smallest of -log(u) / w, u a random number an edge
// (Efraimidis and Spirakis, IPL 97(5) 2006). Temporal: the f smallest of a random number, or of the age, among those that are no later than
// the seed.
#include "sample/blocks.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

#include "core/exec.hpp"
#include "core/primitives.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/stats.hpp"
#include "graph/handle.hpp"
#include "graph/ranks.hpp"
#include "memory/budget.hpp"
#include "sample/lists.hpp"

namespace garner {

namespace {

constexpr std::uint64_t nothing = ~std::uint64_t{0};
constexpr std::uint32_t none = ~0u;

// So many mini-batches are drawn together at the most: what a kernel is told of each is passed to it.
constexpr std::uint32_t most_together = 64;

// Where each counter stands: some of all mini-batches that are drawn together, then a part for each. All are zero at first, but for `bad`.
struct counter_map {
  std::uint32_t types = 0, relations = 0, hops = 0;
  // over: 0, or room ran out: 1 of edges, 2 + hop * relations + relation: of vertices, there
  static constexpr std::uint32_t over = 0, items = 1, looked_at = 2, need_items = 3, first_type = 4;
  GARNER_HD std::uint32_t total(std::uint32_t t) const { return first_type + t; }            // vertices so far
  GARNER_HD std::uint32_t begin(std::uint32_t t) const { return first_type + types + t; }    // the first that this hop draws for
  GARNER_HD std::uint32_t end(std::uint32_t t) const { return first_type + 2 * types + t; }  // behind the last
  GARNER_HD std::uint32_t drawing(std::uint32_t t) const { return first_type + 3 * types + t; }
  GARNER_HD std::uint32_t shared() const { return first_type + 4 * types; }

  // Of a mini-batch, from part(b) on.
  static constexpr std::uint32_t bad = 0, was_over = 1, drawn = 2, needs_items = 3, first_item = 4, first_rank = 5, of_types = 6;
  GARNER_HD std::uint32_t count(std::uint32_t t) const { return of_types + t; }
  // Whom this hop draws for: the first of them among all, and its local number; and whom the next one will.
  GARNER_HD std::uint32_t segment(std::uint32_t t) const { return of_types + types + t; }
  GARNER_HD std::uint32_t local(std::uint32_t t) const { return of_types + 2 * types + t; }
  GARNER_HD std::uint32_t next_segment(std::uint32_t t) const { return of_types + 3 * types + t; }
  GARNER_HD std::uint32_t next_local(std::uint32_t t) const { return of_types + 4 * types + t; }
  GARNER_HD std::uint32_t need_vertices(std::uint32_t t) const { return of_types + 5 * types + t; }
  GARNER_HD std::uint32_t edges(std::uint32_t r) const { return of_types + 6 * types + r; }
  GARNER_HD std::uint32_t need_edges(std::uint32_t r) const { return of_types + 6 * types + relations + r; }
  // When hop h begins (and behind the last): vertices of each type, then edges of each relation.
  GARNER_HD std::uint32_t history(std::uint32_t hop) const { return of_types + 6 * types + 2 * relations + hop * (types + relations); }
  GARNER_HD std::uint32_t own() const { return history(hops + 1); }
  GARNER_HD std::uint32_t part(std::uint64_t b) const { return shared() + static_cast<std::uint32_t>(b) * own(); }
};

// Which local number a vertex has: an entry a vertex and mini-batch, or, of disjoint trees and where these would be too many, a hash table
// of (vertex, tree, mini-batch) with open addressing.
struct place_table {
  std::uint32_t* place = nullptr;
  std::uint64_t* keys = nullptr;  // null: by vertex
  std::uint64_t mask = 0, trees = 1, vertices = 0, batches = 1;

  GARNER_HD std::uint64_t insert(std::uint64_t v, std::uint64_t tree, std::uint64_t batch) const {
    if (!keys) return batch * vertices + v;
    std::uint64_t const key = (v * trees + tree) * batches + batch;
    for (std::uint64_t at = mix(key) & mask;; at = (at + 1) & mask) {
      std::uint64_t there = atomic_load(keys + at);
      if (there == nothing) there = atomic_cas(keys + at, nothing, key);
      if (there == nothing || there == key) return at;
    }
  }
  GARNER_HD std::uint64_t find(std::uint64_t v, std::uint64_t tree, std::uint64_t batch) const {  // what was inserted
    if (!keys) return batch * vertices + v;
    std::uint64_t const key = (v * trees + tree) * batches + batch;
    for (std::uint64_t at = mix(key) & mask;; at = (at + 1) & mask)
      if (atomic_load(keys + at) == key) return at;
  }
};

// Where what a mini-batch drew goes.
struct outputs {
  std::int64_t *ids, *row, *col, *edge;  // null: not kept
};

// What the loops of one hop over one relation share. Of mini-batches that are drawn together, vertices stand in the order of hops, then of
// mini-batches; so do edges of a hop.
struct hop_of_relation {
  std::uint64_t* c;
  counter_map map;
  std::uint32_t from, to, relation, hop, batches;
  bool all;  // who draws: all so far
  std::uint64_t const* offsets;
  std::int64_t *from_ids, *to_ids;
  std::uint32_t *from_tree, *to_tree;    // null: one tree
  std::uint32_t *from_batch, *to_batch;  // null: one mini-batch
  place_table places;
  std::uint32_t* drawn;
  std::uint64_t* at;
  std::int64_t *row, *col, *edge;  // by edge of the hop: neighbour, who drew it (a place in to_ids), where it stands in the lists
  std::uint32_t* first;
  std::uint64_t* rank;
  std::uint64_t room_items, room_edges, room_vertices;
  std::int64_t fanout;
  std::uint64_t seed, stream;
  bool replace;

  GARNER_HD std::uint64_t first_drawing() const { return all ? 0 : c[map.begin(to)]; }
  GARNER_HD std::uint64_t* of(std::uint64_t batch) const { return c + map.part(batch); }
  GARNER_HD std::uint64_t tree_of(std::uint64_t target) const { return to_tree ? to_tree[target] : 0; }
  GARNER_HD std::uint64_t batch_of(std::uint64_t target) const { return to_batch ? to_batch[target] : 0; }
  GARNER_HD std::uint64_t key_of(std::uint64_t v, std::uint64_t tree, std::uint64_t batch) const {
    return random_bits(seed, stream + 8 * batch, tree ? v ^ mix(tree) : v);
  }
  // Of edge i: whose it is, and the entry of its neighbour.
  GARNER_HD std::uint64_t batch_of_edge(std::uint64_t i) const { return to_batch ? to_batch[col[i]] : 0; }
  GARNER_HD std::uint64_t entry_of(std::uint64_t i) const {
    auto const target = static_cast<std::uint64_t>(col[i]);
    return places.find(static_cast<std::uint64_t>(row[i]), tree_of(target), batch_of(target));
  }
  GARNER_HD std::uint64_t base() const { return c[map.total(from)]; }
};

// --- seeds -----------------------------------------------------------------------------------------------------------------------------
struct begin_batch {
  std::uint64_t* c;
  counter_map map;
  std::uint32_t batches;
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
    if (tree_time) tree_time[first + i] = times ? times[i] : times_of_type[v];
    if (inside) v = id_bytes == 8 ? static_cast<std::uint64_t const*>(inside)[v] : static_cast<std::uint32_t const*>(inside)[v];
    all_ids[before + i] = ids[i] = static_cast<std::int64_t>(v);
    if (tree) tree[i] = static_cast<std::uint32_t>(first + i);
    if (of_batch) of_batch[before + i] = static_cast<std::uint32_t>(batch);
    atomic_min(places.place + places.insert(v, tree ? first + i : 0, batch), static_cast<std::uint32_t>(i));
  }
};
// Of several mini-batches one without seeds: it begins and ends where the next one does.
struct no_seeds {
  std::uint64_t* c;
  counter_map map;
  std::uint64_t batch, before;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t) const {
    c[map.part(batch) + map.next_segment(0)] = before;
  }
};
// Hop `hop` draws for those that the hop before reached, or for all; `hops`: nothing is drawn any more. An item a mini-batch.
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
      // Whom the relations of this hop reach stands behind what there is.
      mine[map.next_segment(t)] = c[map.total(t)], mine[map.next_local(t)] = mine[map.count(t)];
      mine[map.history(hop) + t] = mine[map.count(t)];
    }
    for (std::uint32_t r = 0; r < map.relations; ++r) mine[map.history(hop) + map.types + r] = mine[map.edges(r)];
    mine[map.was_over] = c[map.over], mine[map.needs_items] = c[map.need_items];
  }
};
// --- how many, and where -----------------------------------------------------------------------------------------------------------------
struct tally : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    constexpr std::uint64_t ahead = 16;
    if (std::is_same_v<Team, team<lanes::host>> && i + ahead < c[map.drawing(to)]) ask_soon(offsets + to_ids[first_drawing() + i + ahead]);
    auto const v = static_cast<std::uint64_t>(to_ids[first_drawing() + i]);
    std::uint64_t const degree = offsets[v + 1] - offsets[v];
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
    if (c[map.over]) return;  // items are none: no hop begins after that
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
      too_many |= edges_then > room_edges;
    }
    if (b == 0) {
      c[map.need_items] = larger(c[map.need_items], items);
      c[map.items] = items;
      if (!last) c[map.looked_at] = items;
    }
    if (too_many) atomic_store(c + map.over, std::uint64_t{1});
  }
};
struct draw : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (c[map.over]) return;
    std::uint64_t const target = first_drawing() + i, n = at[i + 1] - at[i];
    auto const v = static_cast<std::uint64_t>(to_ids[target]);
    std::uint64_t const begin = offsets[v], degree = offsets[v + 1] - begin;
    std::int64_t* const mine = edge + at[i];
    std::int64_t* const who = col + at[i];
    for (std::uint64_t k = 0; k < n; ++k) who[k] = static_cast<std::int64_t>(target);
    if (n == degree && !replace) {
      for (std::uint64_t k = 0; k < n; ++k) mine[k] = static_cast<std::int64_t>(begin + k);
      return;
    }
    std::uint64_t const key = key_of(v, tree_of(target), batch_of(target));
    for (std::uint64_t k = 0; k < n; ++k) {
      std::uint64_t const last = replace ? degree - 1 : degree - n + k;
      auto pick = static_cast<std::int64_t>(begin + upper_product(mix(key + 0x9e3779b97f4a7c15ull * (k + 1)), last + 1));
      for (std::uint64_t j = 0; j < k && !replace; ++j)
        if (mine[j] == pick) pick = static_cast<std::int64_t>(begin + last);
      mine[k] = pick;
    }
  }
};

// --- draws that look at every edge -------------------------------------------------------------------------------------------------------
// What an edge is chosen by: the smallest keys are drawn, candidate::none never is.
struct by_weight {
  using element = std::uint32_t;
  arc_array<std::uint32_t> weights;
  bool real;
  GARNER_HD span<element> part(std::uint64_t begin, std::uint64_t end) const { return weights.part(begin, end); }
  GARNER_HD std::uint64_t key(element bits, std::uint64_t random, std::int64_t) const {
    double w = bits;
    if (real) {
      float value;
      std::memcpy(&value, &bits, sizeof value);
      w = static_cast<double>(value);
    }
    if (!(w > 0)) return candidate::none;
    double const age = static_cast<double>(minus_log2(random)) / w;  // positive, so its bits ascend with it
    std::uint64_t key = 0;
    std::memcpy(&key, &age, sizeof key);
    return key;
  }
};
struct in_time {
  bool latest;
  GARNER_HD std::uint64_t key_of(std::int64_t time, std::uint64_t random, std::int64_t limit) const {
    if (time > limit) return candidate::none;
    if (!latest) return (random >> 1) + 1;  // never 0, which comes before all
    std::uint64_t const age = static_cast<std::uint64_t>(limit) - static_cast<std::uint64_t>(time);
    return smaller(age, candidate::none - 2) + 1;
  }
};
template <class Id>
struct by_time_of_vertex : in_time {
  using element = Id;
  arc_array<Id> targets;
  std::int64_t const* times;
  GARNER_HD span<element> part(std::uint64_t begin, std::uint64_t end) const { return targets.part(begin, end); }
  GARNER_HD std::uint64_t key(element u, std::uint64_t random, std::int64_t limit) const { return key_of(times[u], random, limit); }
};
struct by_time_of_edge : in_time {
  using element = std::int64_t;
  std::int64_t const* times;
  GARNER_HD span<element> part(std::uint64_t begin, std::uint64_t end) const { return {times, begin, end}; }
  GARNER_HD std::uint64_t key(element time, std::uint64_t random, std::int64_t limit) const { return key_of(time, random, limit); }
};

// Into first[]: 1 an edge is drawn, 0 none stands here, 2 allowed() will tell.
template <class By>
struct draw_by : hop_of_relation {
  By by;
  std::int64_t const* tree_time;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    if (c[map.over]) return;
    std::uint64_t const target = first_drawing() + i, n = at[i + 1] - at[i];
    auto const v = static_cast<std::uint64_t>(to_ids[target]);
    std::uint64_t const begin = offsets[v], degree = offsets[v + 1] - begin;
    std::int64_t* const mine = edge + at[i];
    std::int64_t* const who = col + at[i];
    std::uint32_t* const state = first + at[i];
    t.each(indices{0, n}, [&](std::uint64_t k) { who[k] = static_cast<std::int64_t>(target); });
    if (n == degree && !replace) {
      t.each(indices{0, n}, [&](std::uint64_t k) { mine[k] = static_cast<std::int64_t>(begin + k), state[k] = 2; });
      return;
    }
    std::int64_t const limit = tree_time ? tree_time[tree_of(target)] : 0;
    std::uint64_t const key = key_of(v, tree_of(target), batch_of(target));
    candidate after{0, candidate::none};
    auto const each = static_cast<std::uint32_t>(replace ? 1 : lanes::most_smallest);
    for (std::uint64_t k = 0; k < n;) {
      std::uint64_t const stream_of_draw = replace ? mix(key + k + 1) : key;
      auto const some = static_cast<std::uint32_t>(smaller<std::uint64_t>(each, n - k));
      smallest_found const found = t.smallest(
          by.part(begin, begin + degree), some, after,
          [&](typename By::element e, std::uint64_t j) {
            return by.key(e, mix(stream_of_draw + 0x9e3779b97f4a7c15ull * (j - begin + 1)), limit);
          },
          [&](std::uint32_t j, std::uint64_t j_at) { mine[k + j] = static_cast<std::int64_t>(j_at), state[k + j] = 1; });
      k += found.count;
      if (found.count < some) {
        t.each(indices{k, n}, [&](std::uint64_t j) { state[j] = 0; });
        return;
      }
      if (!replace) after = found.last;
    }
  }
};
template <class By>
struct allowed : hop_of_relation {
  By by;
  std::int64_t const* tree_time;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    if (c[map.over] || first[i] != 2) return;
    auto const e = static_cast<std::uint64_t>(edge[i]);
    std::int64_t const limit = tree_time ? tree_time[tree_of(static_cast<std::uint64_t>(col[i]))] : 0;
    t.each(by.part(e, e + 1), [&](typename By::element x) { first[i] = by.key(x, 0, limit) != candidate::none; });
  }
};
// What was drawn, one behind the other.
struct sift : hop_of_relation {
  std::int64_t const *from_col, *from_edge;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (c[map.over] || !first[i]) return;
    col[rank[i]] = from_col[i];
    edge[rank[i]] = from_edge[i];
  }
};

// --- which neighbours, and their numbers -------------------------------------------------------------------------------------------------
// Edges by where they stand in the lists, so that reads share translations: page, and above it the edge of the hop.
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
  using full_blocks = void;  // far reads take a share of the device, and leave the rest to who gathers and computes meanwhile
  csr_view<Id> lists;
  std::uint64_t const* order;  // of the first `ordered`; null: as they come
  std::uint64_t ordered;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    if (c[map.over]) return;
    if constexpr (std::is_same_v<Team, team<lanes::host>>) look_ahead(k);
    std::uint64_t const i = k < ordered ? order[k] >> 32 : k;
    auto const e = static_cast<std::uint64_t>(edge[i]), target = static_cast<std::uint64_t>(col[i]);
    auto const mine = static_cast<std::uint32_t>(base() + i);
    std::uint64_t const tree = tree_of(target), batch = batch_of(target);
    t.each(known<Packed>(lists.arcs({e, e + 1})), [&](Id u) {
      row[i] = static_cast<std::int64_t>(u);
      atomic_min(places.place + places.insert(u, tree, batch), mine);
    });
  }
  // A thread of the host asks for entries of the lists, and then for what it will look up for them, some edges before: a device has
  // thousands under way.
  void look_ahead(std::uint64_t k) const {
    constexpr std::uint64_t lists_ahead = 32, places_ahead = 16;
    if (lists.targets.packed || places.keys) return;
    std::uint64_t const items = c[map.items];
    if (k + lists_ahead < items) ask_soon(lists.targets.data + edge[k + lists_ahead]);
    if (k + places_ahead >= items) return;
    std::uint64_t const i = k + places_ahead;
    ask_soon(places.place + places.find(lists.targets.data[edge[i]], 0, batch_of_edge(i)));
  }
};
struct mark_first : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    first[i] = !c[map.over] && places.place[entry_of(i)] == static_cast<std::uint32_t>(base() + i);
  }
};
// An item a mini-batch.
struct open_vertices : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t b) const {
    if (c[map.over]) return;
    std::uint64_t* const mine = of(b);
    std::uint64_t const items = c[map.items], begin = mine[map.first_item], end = b + 1 < batches ? of(b + 1)[map.first_item] : items;
    std::uint64_t const all_of_them = mine[map.count(from)] + rank[end] - rank[begin];
    mine[map.first_rank] = rank[begin];
    mine[map.need_vertices(from)] = larger(mine[map.need_vertices(from)], all_of_them);
    // Who looks at `over` next finds the same, whoever set it first.
    if (all_of_them > room_vertices) atomic_store(c + map.over, std::uint64_t{2} + hop * map.relations + relation);
  }
};
struct take_place : hop_of_relation {
  outputs to_batches[most_together];
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (std::uint64_t const over = c[map.over]) {  // there is no room for them: as if they had not been drawn
      if (places.keys || over != 2 + hop * map.relations + relation) return;
      std::uint32_t* const entry = places.place + entry_of(i);
      if (atomic_load(entry) >= base()) atomic_store(entry, none);
      return;
    }
    if (!first[i]) return;
    std::uint64_t const batch = batch_of_edge(i), number = base() + rank[i];
    std::uint64_t const* const mine = of(batch);
    std::uint64_t const local = mine[map.count(from)] + rank[i] - mine[map.first_rank];
    from_ids[number] = row[i];
    if (from_batch) from_batch[number] = static_cast<std::uint32_t>(batch), to_batches[batch].ids[local] = row[i];
    if (from_tree) from_tree[number] = static_cast<std::uint32_t>(tree_of(static_cast<std::uint64_t>(col[i])));
    places.place[entry_of(i)] = static_cast<std::uint32_t>(local);
  }
};
struct number_edges : hop_of_relation {
  outputs to_batches[most_together];
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (c[map.over]) return;
    std::uint64_t const batch = batch_of_edge(i);
    outputs const& out = to_batches[batch];
    std::uint64_t const* const mine = of(batch);
    std::uint64_t const k = mine[map.edges(relation)] + i - mine[map.first_item];
    if (out.row) {
      out.row[k] = places.place[entry_of(i)];
      out.col[k] = col[i] - static_cast<std::int64_t>(mine[map.segment(to)]) + static_cast<std::int64_t>(mine[map.local(to)]);
    }
    if (out.edge) out.edge[k] = edge[i];
  }
};
// An item a mini-batch.
struct end_relation : hop_of_relation {
  bool counts_vertices, drops_edges;  // the induced subgraph keeps none of those that were drawn
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t b) const {
    if (c[map.over]) return;
    std::uint64_t* const mine = of(b);
    std::uint64_t const items = c[map.items], end = b + 1 < batches ? of(b + 1)[map.first_item] : items;
    std::uint64_t const n = end - mine[map.first_item];
    if (!drops_edges) mine[map.edges(relation)] += n;
    mine[map.drawn] += n;
    if (!counts_vertices) return;
    mine[map.count(from)] += rank[end] - rank[mine[map.first_item]];
    if (batches > 1) mine[map.next_segment(from)] = base() + mine[map.first_rank];
  }
};
struct end_hop : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t) const {
    if (!c[map.over]) c[map.total(from)] += rank[c[map.items]];
  }
};

// --- all edges among what was drawn ---------------------------------------------------------------
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
    std::uint64_t const n = t.sum(known<Packed>(lists.list(v)), is_known{places.place});
    t.once([&] { drawn[i] = static_cast<std::uint32_t>(smaller<std::uint64_t>(n, none)); });
  }
};
// As they come; the order follows. A key: target, and above it nothing; below it how far in the list.
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
    span<Id> const list = known<Packed>(lists.list(v));
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

// --- the end --------------------------------------------------------------------------------------
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

}  // namespace

// --- the sampler ----------------------------------------------------------------------------------
struct block_sampler::parts::impl {
  struct type_parts {
    std::uint64_t vertices = 0;
    buffer<std::uint32_t> place;   // by vertex: none, but while a mini-batch is drawn
    buffer<std::uint32_t> hashed;  // of a hash table ...
    buffer<std::uint64_t> keys;    // ... and whose each is
    buffer<std::int64_t> times;
    bool is_source = false;  // of some relation: its vertices are drawn
  };
  struct relation_parts {
    inner_relation of;
    placed_lists lists;
    pinned_pages pinned_times;
    std::int64_t const* times = nullptr;
    bool far = false;
    std::vector<std::uint64_t> seen;  // edges a hop, the most so far
  };
  struct rooms {
    std::uint64_t items = 0;
    std::vector<std::uint64_t> vertices, edges;
  };

  traffic_model model;
  executor x;
  block_options o;
  std::vector<type_parts> types;
  std::vector<relation_parts> relations;
  counter_map map;
  rooms room;
  // Of a graph whose vertices stand in another order inside.
  memory_block inside, ranks;
  std::uint32_t inside_bytes = 4;

  buffer<std::uint64_t> counters, at, rank, keys, spare_keys;
  buffer<std::uint32_t> drawn, first;
  buffer<std::int64_t> row, col, edge, sifted_col, sifted_edge, tree_time;
  // Of several mini-batches together: their vertices, and whose each is.
  buffer<std::int64_t> all_ids;
  buffer<std::uint32_t> all_batches;
  std::uint64_t cached_arcs = 0;  // bytes of lists that are kept near
  bool sized = false, sized_for_several = false;
  std::uint64_t hash_beyond;  // bytes of entries

  impl(place where, std::vector<sampled_type> const& of_types, std::vector<inner_relation> of_relations, block_options const& options)
      : model(options.access), x(where, &model), o(options), hash_beyond(32u << 20) {
    // A table by vertex is the faster one (0.14 ms a mini-batch near, hashed 0.20), and takes what a card has.
    if (x.on_device()) hash_beyond = std::min(device_budget(x.device()).limit(), device::memory(x.device()).free_bytes) / 32;
    map.types = static_cast<std::uint32_t>(of_types.size());
    map.relations = static_cast<std::uint32_t>(of_relations.size());
    map.hops = static_cast<std::uint32_t>(of_relations.empty() ? 0 : of_relations.front().fanouts.size());
    for (inner_relation& r : of_relations) {
      relation_parts p;
      p.lists = near_lists(x, *r.g, *r.lists);
      memory_block const& words = r.lists->packed_targets.empty() ? r.lists->targets : r.lists->packed_targets.words;
      p.far = x.on_device() && !in_device_memory(words.where());
      if (p.far && o.device_budget) cached_arcs += p.lists.cache_first_arcs(x, *o.device_budget / map.relations, o.weighted);
      if (o.weighted && x.on_device() && p.lists.directory_bytes(true)) p.lists.cache_directory(x, true, "directory of packed weights");
      if (!r.times.empty()) {
        p.times = r.times.data();
        if (x.on_device() && !device::reads(x.device(), p.times)) {
          p.pinned_times = pinned_pages(r.times.data(), r.times.size_bytes(), x.device());
          p.times = static_cast<std::int64_t const*>(p.pinned_times.device_data());
        }
      }
      p.seen.assign(map.hops, 0);
      p.of = std::move(r);
      relations.push_back(std::move(p));
    }
    for (std::size_t t = 0; t < of_types.size(); ++t) {
      type_parts p;
      p.vertices = of_types[t].vertices;
      p.is_source = std::any_of(relations.begin(), relations.end(), [&](auto const& r) { return r.of.from == t; });
      if (!of_types[t].times.empty() && o.temporal) {
        p.times = {x.near(), p.vertices, x.device(), "times of vertices"};
        x.copy(p.times.data(), of_types[t].times.data(), p.times.bytes());
      }
      types.push_back(std::move(p));
    }
    room.vertices.assign(map.types, 0);
    room.edges.assign(map.relations, 0);
    counters = {x.near(), map.part(most_together), x.device(), "counters of mini-batches"};
    x.wait();
  }

  void rename(graph const& g) {
    if (!g.by_id.bytes()) return;
    inside_bytes = g.info.id_bytes;
    inside = memory_block(x.near(), g.by_id.bytes(), x.device(), "the order of vertices");
    x.copy(inside.data(), g.by_id.data(), inside.bytes());
    auto const keep = [&](auto const& values) {
      ranks = memory_block(x.near(), values.size() * sizeof(values[0]), x.device(), "the order of vertices");
      x.copy(ranks.data(), values.data(), ranks.bytes());
      x.wait();
    };
    if (inside_bytes == 8) keep(ranks_inside<std::uint64_t>(g));
    else keep(ranks_inside<std::uint32_t>(g));
  }

  // --- room ---
  // Of a first mini-batch: what fanouts allow, within reason; what is too little is found out.
  void guess(std::uint64_t seeds, std::uint64_t batches) {
    std::uint64_t const reason = std::max<std::uint64_t>(1u << 17, (1u << 20) / batches);
    sized = true;
    std::uint64_t all = seeds, of_types = 0;
    for (type_parts const& t : types) of_types += t.vertices;
    if (o.disjoint) of_types = nothing - seeds;
    std::uint64_t frontier = seeds, vertices = seeds, items = 0;
    std::vector<std::uint64_t> edges(relations.size(), 0);
    for (std::uint32_t h = 0; h < map.hops; ++h) {
      std::uint64_t most = 0;
      for (std::size_t r = 0; r < relations.size(); ++r) {
        std::int64_t const f = relations[r].of.fanouts[h];
        std::uint64_t n = std::min(reason, (f < 0 ? 32 : static_cast<std::uint64_t>(f)) * (o.rule == hop_rule::all ? all : frontier));
        if (!o.disjoint && !o.replace)
          n = std::min(n, relations[r].of.g->info.edges + seeds * static_cast<std::uint64_t>(std::max<std::int64_t>(f, 0)));
        items = std::max(items, n), most += n, edges[r] += n;
      }
      frontier = std::min(most, of_types), vertices = std::min(vertices + most, of_types + seeds), all = vertices;
    }
    room.items = std::max(room.items, items * batches);
    for (std::size_t t = 0; t < types.size(); ++t)
      room.vertices[t] = std::max(room.vertices[t], std::min(vertices, o.disjoint ? vertices : types[t].vertices + seeds));
    for (std::size_t r = 0; r < relations.size(); ++r) room.edges[r] = std::max(room.edges[r], edges[r]);
  }
  // errc::usage where it cannot be enough.
  void grow(std::uint64_t const* c, std::uint64_t number, std::uint64_t seeds) {
    auto const more = [&](std::uint64_t& has, std::uint64_t wants) {
      if (wants > has) has = wants + wants / 4;
      if (wants >= none - seeds)
        fail(errc::usage,
             "mini-batch {} of {} seeds: a hop would draw {} neighbours, and 2^32 is the most; say a smaller mini-batch or fanout", number,
             seeds, wants);
    };
    more(room.items, c[counter_map::needs_items]);
    for (std::uint32_t t = 0; t < map.types; ++t) more(room.vertices[t], c[map.need_vertices(t)]);
    for (std::uint32_t r = 0; r < map.relations; ++r) more(room.edges[r], c[map.need_edges(r)]);
  }
  // How many of so many mini-batches can be drawn together.
  std::uint32_t together(std::uint64_t wanted) const {
    if (map.types != 1 || map.relations != 1 || o.rule != hop_rule::last || o.disjoint || o.induced) return 1;
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 1, most_together));
  }
  // An entry a vertex for each would be more than the caches of a processor like: what there is of vertices goes into a hash table.
  bool hashes(std::size_t batches) const {
    return o.disjoint || (batches > 1 && batches * types[0].vertices * sizeof(std::uint32_t) > hash_beyond);
  }
  template <class T>
  bool make(buffer<T>& b, std::uint64_t n, char const* what = "a mini-batch") {
    if (b.size() >= n) return false;
    b = {};
    b = buffer<T>(x.near(), n, x.device(), what);
    return true;
  }
  bool looks() const { return o.weighted || o.temporal.has_value(); }
  bool far() const {
    return std::any_of(relations.begin(), relations.end(), [](relation_parts const& r) { return r.far; });
  }
  std::uint64_t slots(std::size_t t, std::size_t batches) const {
    return std::bit_ceil(2 * (room.vertices[t] * batches + (types[t].is_source ? room.items : 0)) + 2);
  }
  bool lacks_places(std::size_t batches) const {
    for (std::size_t t = 0; t < types.size(); ++t)
      if (hashes(batches) ? types[t].keys.size() < slots(t, batches) : types[t].place.size() < types[t].vertices * batches) return true;
    return false;
  }
  void make_rooms(std::span<blocks::parts* const> batches) {
    std::uint64_t const most = *std::max_element(room.vertices.begin(), room.vertices.end()) * batches.size();
    bool const small = drawn.size() < most || at.size() < most + 1 || first.size() < room.items || rank.size() < room.items + 1 ||
                       (batches.size() > 1 && all_ids.size() < most) || lacks_places(batches.size());
    bool const small_blocks = std::any_of(batches.begin(), batches.end(), [&](blocks::parts* b) {
      if (b->types.size() != map.types || b->relations.size() != map.relations) return true;
      for (std::size_t t = 0; t < b->types.size(); ++t)
        if (b->types[t].ids.size() < room.vertices[t]) return true;
      for (std::size_t r = 0; r < b->relations.size(); ++r)
        if (o.edges && b->relations[r].pairs.size() < 2 * room.edges[r]) return true;
      return false;
    });
    if (!small && !small_blocks) return;
    x.wait();  // what is given may use what goes
    for (blocks::parts* b : batches) b->done.wait();
    make(drawn, most), make(at, most + 1), make(first, room.items), make(rank, room.items + 1);
    make(row, room.items), make(col, room.items), make(edge, room.items);
    if (looks()) make(sifted_col, room.items), make(sifted_edge, room.items);
    if (far() || o.induced) make(keys, room.items), make(spare_keys, std::max(room.items, most));
    if (batches.size() > 1) {
      make(all_ids, most), make(all_batches, most);
    }
    for (std::size_t t = 0; t < types.size(); ++t) {
      if (hashes(batches.size())) {
        make(types[t].keys, slots(t, batches.size()), "local numbers of vertices");
        make(types[t].hashed, types[t].keys.size(), "local numbers of vertices");
      } else if (make(types[t].place, types[t].vertices * batches.size(), "local numbers of vertices")) {
        x.fill(types[t].place.data(), 0xff, types[t].place.bytes());
      }
    }
    for (blocks::parts* b : batches) {
      b->types.resize(map.types), b->relations.resize(map.relations);
      for (std::size_t t = 0; t < types.size(); ++t) {
        make(b->types[t].ids, room.vertices[t]);
        if (o.disjoint) make(b->types[t].tree, room.vertices[t]);
      }
      for (std::size_t r = 0; r < relations.size() && o.edges; ++r) {
        make(b->relations[r].pairs, 2 * room.edges[r]);
        if (o.edge_ids) make(b->relations[r].edge, room.edges[r]);
      }
      if (b->counted.size() < map.own()) b->counted = {tier::host, map.own(), x.device(), "counters of a mini-batch"};
    }
  }
  std::uint64_t bytes() const {
    std::uint64_t n = cached_arcs + counters.bytes() + at.bytes() + rank.bytes() + keys.bytes() + spare_keys.bytes() + drawn.bytes() +
                      first.bytes() + row.bytes() + col.bytes() + edge.bytes() + sifted_col.bytes() + sifted_edge.bytes() +
                      tree_time.bytes() + all_ids.bytes() + all_batches.bytes() + inside.bytes() + ranks.bytes();
    for (type_parts const& t : types) n += t.place.bytes() + t.hashed.bytes() + t.keys.bytes() + t.times.bytes();
    return n;
  }

  // --- mini-batches ---
  using some_batches = std::span<blocks::parts* const>;
  place_table table_of(std::uint32_t t, std::uint64_t seeds, std::size_t batches) const {
    type_parts const& of = types[t];
    if (!hashes(batches)) return {of.place.data(), nullptr, 0, 1, of.vertices, batches};
    return {of.hashed.data(), of.keys.data(), of.keys.size() - 1, o.disjoint ? std::max<std::uint64_t>(1, seeds) : 1, of.vertices, batches};
  }
  item_count counted(std::uint32_t counter, std::uint64_t most) const { return {counters.data() + counter, most}; }
  item_count so_far(some_batches batches, std::uint32_t t) const { return counted(map.total(t), room.vertices[t] * batches.size()); }

  // Of several: together() allows so many, and their numbers follow each other.
  void give(some_batches batches) {
    check_interrupted();
    make_rooms(batches);
    std::uint64_t* const c = counters.data();
    auto const n = static_cast<std::uint32_t>(batches.size());
    bool const all = o.rule == hop_rule::all, several = n > 1;
    auto const clock = std::chrono::steady_clock::now();
    for (blocks::parts* b : batches) b->begun.record(x);
    for_each_item<1>(x, map.part(n), begin_batch{c, map, n});
    bool const by_hash = hashes(n);
    if (by_hash)
      for (type_parts const& t : types) {
        x.fill(t.keys.data(), 0xff, t.keys.bytes());
        x.fill(t.hashed.data(), 0xff, t.hashed.bytes());
      }
    std::uint64_t before = 0;
    for (std::uint32_t k = 0; k < n; ++k) {
      blocks::parts& b = *batches[k];
      if (o.temporal && tree_time.size() < b.seeds) {
        x.wait();
        make(tree_time, b.seeds + b.seeds / 2, "times of seeds");
      }
      for (blocks::parts::group const& g : b.groups) {
        std::int64_t* const ids = b.types[g.type].ids.data();
        // Counters of none are zero already.
        for_each_item<1>(
            x, g.count,
            take_seeds{c, map, g.type, g.first, several ? before : 0, k, g.count, g.seeds, g.times, types[g.type].times.data(),
                       types[g.type].vertices, inside.data(), inside_bytes, table_of(g.type, b.seeds, n), several ? all_ids.data() : ids,
                       ids, b.types[g.type].tree.data(), several ? all_batches.data() : nullptr, o.temporal ? tree_time.data() : nullptr});
        if (several && g.count == 0) for_each_item<1>(x, 1, no_seeds{c, map, k, before});
        before += g.count;
      }
    }
    for (std::uint32_t h = 0; h < map.hops; ++h) {
      for_each_item<1>(x, n, begin_hop{c, map, h, all});
      for (std::uint32_t r = 0; r < map.relations; ++r)
        if (relations[r].of.fanouts[h] != 0) with_id_type(relations[r].of.g->info, [&](auto id) { hop<decltype(id)>(batches, h, r); });
    }
    for_each_item<1>(x, n, begin_hop{c, map, map.hops, all});
    if (o.induced && o.edges) {
      for_each_item<1>(x, n, begin_hop{c, map, map.hops, true});  // for all
      for (std::uint32_t r = 0; r < map.relations; ++r)
        with_id_type(relations[r].of.g->info, [&](auto id) { induced<decltype(id)>(batches, r); });
      for_each_item<1>(x, n, begin_hop{c, map, map.hops, true});
    }
    for (std::uint32_t t = 0; t < map.types; ++t) {
      std::int64_t const* const ids = several ? all_ids.data() : batches[0]->types[t].ids.data();
      if (!by_hash) for_each_item<1>(x, so_far(batches, t), forget{ids, several ? all_batches.data() : nullptr, table_of(t, 0, n)});
      if (ranks.bytes())
        for (std::uint32_t k = 0; k < n; ++k)
          for_each_item<1>(x, counted(map.part(k) + map.count(t), room.vertices[t]),
                           name_by_position{batches[k]->types[t].ids.data(), ranks.data(), inside_bytes == 8});
    }
    for (std::uint32_t k = 0; k < n; ++k) {
      x.copy(batches[k]->counted.data(), c + map.part(k), map.own() * sizeof *c);
      batches[k]->done.record(x);
      batches[k]->together = n;
    }
    if (x.on_device()) return;
    double const ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - clock).count();
    for (blocks::parts* b : batches) b->ms = ms / n;
  }

  hop_of_relation shared(some_batches batches, std::uint32_t h, std::uint32_t r) const {
    relation_parts const& rel = relations[r];
    blocks::parts& b = *batches[0];
    blocks::parts::of_type &from = b.types[rel.of.from], &to = b.types[rel.of.to];
    bool const several = batches.size() > 1;
    hop_of_relation s{};
    s.c = counters.data(), s.map = map;
    s.from = rel.of.from, s.to = rel.of.to, s.relation = r, s.hop = h, s.batches = static_cast<std::uint32_t>(batches.size());
    s.all = o.rule == hop_rule::all;
    s.offsets = rel.lists.offsets();
    s.from_ids = several ? all_ids.data() : from.ids.data(), s.to_ids = several ? all_ids.data() : to.ids.data();
    s.from_batch = s.to_batch = several ? all_batches.data() : nullptr;
    s.from_tree = o.disjoint ? from.tree.data() : nullptr, s.to_tree = o.disjoint ? to.tree.data() : nullptr;
    s.places = table_of(rel.of.from, b.seeds, batches.size());
    s.drawn = drawn.data(), s.at = at.data();
    s.row = row.data(), s.col = col.data(), s.edge = edge.data();
    s.first = first.data(), s.rank = rank.data();
    // Where no edges are kept there is always room for them.
    s.room_items = room.items, s.room_edges = o.edges ? room.edges[r] : nothing, s.room_vertices = room.vertices[rel.of.from];
    s.fanout = rel.of.fanouts[std::min<std::size_t>(h, map.hops - 1)];
    // Eight hops a stream, as long as there are no more; others, and other relations, draw from seeds of their own.
    std::uint64_t const other = std::uint64_t{r} << 32 | h / 8;
    s.seed = other ? mix(o.seed ^ mix(other)) : o.seed, s.stream = b.number * 8 + h % 8;
    s.replace = o.replace;
    return s;
  }
  template <class Body>
  Body with_outputs(Body body, some_batches batches, std::uint32_t r, bool edges) const {
    for (std::size_t k = 0; k < batches.size(); ++k) {
      blocks::parts::of_relation& e = batches[k]->relations[r];
      body.to_batches[k] = {batches[k]->types[relations[r].of.from].ids.data(), edges ? e.rows() : nullptr, edges ? e.cols() : nullptr,
                            edges && o.edge_ids ? e.edge.data() : nullptr};
    }
    return body;
  }

  template <class Id>
  void hop(some_batches batches, std::uint32_t h, std::uint32_t r) {
    hop_of_relation const s = shared(batches, h, r);
    item_count const drawing = counted(map.drawing(s.to), room.vertices[s.to] * batches.size());
    for_each_item<1>(x, drawing, tally{s});
    scan(x, s.drawn, s.at, drawing);
    for_each_item<1>(x, s.batches, open_edges{s, looks(), !looks()});
    if (looks()) {
      relation_parts const& rel = relations[r];
      csr_view<Id> const v = rel.lists.template view<Id>();
      bool const latest = o.temporal == temporal_rule::last;
      if (o.weighted) drawn_by(s, drawing, by_weight{v.weights, rel.of.g->info.weights == weight_kind::f32});
      else if (rel.times) drawn_by(s, drawing, by_time_of_edge{{latest}, rel.times});
      else drawn_by(s, drawing, by_time_of_vertex<Id>{{latest}, v.targets, types[s.from].times.data()});
    } else {
      for_each_item<1>(x, drawing, draw{s});
    }
    number<Id>(s, batches, relations[r].seen[h] * batches.size(), true);
  }
  template <class By>
  void drawn_by(hop_of_relation const& s, item_count drawing, By const& by) {
    hop_of_relation unsifted = s;
    unsifted.col = sifted_col.data(), unsifted.edge = sifted_edge.data();
    std::int64_t const* const limit = o.temporal ? tree_time.data() : nullptr;
    for_each_item<32>(x, drawing, draw_by<By>{unsifted, by, limit}, o.access, true);
    item_count const looked_at = counted(counter_map::looked_at, room.items);
    for_each_item<1>(x, looked_at, allowed<By>{unsifted, by, limit}, access_mode::merged);
    scan(x, s.first, s.rank, looked_at);
    for_each_item<1>(x, s.batches, open_edges{s, true, true});
    for_each_item<1>(x, looked_at, sift{s, unsifted.col, unsifted.edge});
  }

  // Who stands at the edges that were drawn, and what their local numbers are.
  template <class Id>
  void number(hop_of_relation const& s, some_batches batches, std::uint64_t expected, bool finds_vertices) {
    item_count const items = counted(counter_map::items, room.items);
    std::uint64_t ordered = 0;
    std::uint64_t const* order = nullptr;
    if (relations[s.relation].far && expected > far_reads_worth_an_order) {
      ordered = std::min(room.items, expected + expected / 8);
      std::uint64_t const arcs = relations[s.relation].of.g->info.edges, least = sizeof(Id) == 8 ? 13 : 14;  // pages of 64 KiB at the least
      auto const shift =
          static_cast<std::uint32_t>(std::max<std::uint64_t>(least, std::bit_width(arcs) > 16 ? std::bit_width(arcs) - 16 : 0));
      std::uint64_t const pages = (arcs >> shift) + 1;
      for_each_item<1>(x, ordered, page_of_edge{s, keys.data(), shift, pages});
      order = sort(x, {keys.data(), ordered}, {spare_keys.data(), ordered}, static_cast<int>(std::bit_width(pages))).data();
    }
    fetch_all<Id>(s, items, order, ordered);
    if (finds_vertices) {
      for_each_item<1>(x, items, mark_first{s});
      scan(x, s.first, s.rank, items);
      for_each_item<1>(x, s.batches, open_vertices{s});
      for_each_item<1>(x, items, with_outputs(take_place{s, {}}, batches, s.relation, false));
    }
    if (o.edges && (finds_vertices ? !o.induced : true))
      for_each_item<1>(x, items, with_outputs(number_edges{s, {}}, batches, s.relation, true));
    for_each_item<1>(x, s.batches, end_relation{s, finds_vertices, finds_vertices && o.induced});
    if (finds_vertices) for_each_item<1>(x, 1, end_hop{s});
  }
  static constexpr std::uint64_t far_reads_worth_an_order = 1u << 15;
  static constexpr unsigned far_blocks = 32;  // of 1,024 threads: a read each is some ten times what the link has under way

  template <class Id>
  void fetch_all(hop_of_relation const& s, item_count items, std::uint64_t const* order, std::uint64_t ordered) {
    csr_view<Id> const v = relations[s.relation].lists.template view<Id>();
    if (relations[s.relation].far) x.limit_share(far_blocks, 1024);
    // Neighbouring edges may stand side by side; a thread takes one, which no line can be begun for.
    if (!v.targets.packed) for_each_item<1>(x, items, fetch<Id, false>{s, v, order, ordered}, access_mode::merged);
    else if constexpr (sizeof(Id) == 4) for_each_item<1>(x, items, fetch<Id, true>{s, v, order, ordered}, access_mode::merged);
    x.limit_share(0);
  }

  template <class Id>
  void induced(some_batches batches, std::uint32_t r) {
    hop_of_relation s = shared(batches, map.hops, r);
    s.all = true;
    csr_view<Id> const v = relations[r].lists.template view<Id>();
    if (!v.targets.packed) list_all<Id, false>(s, v);
    else if constexpr (sizeof(Id) == 4) list_all<Id, true>(s, v);
    number<Id>(s, batches, 0, false);
  }
  template <class Id, bool Packed>
  void list_all(hop_of_relation const& s, csr_view<Id> const& v) {
    item_count const drawing = counted(map.drawing(s.to), room.vertices[s.to]), items = counted(counter_map::items, room.items);
    for_each_item<32>(x, drawing, tally_induced<Id, Packed>{s, v}, o.access, true);
    scan(x, s.drawn, s.at, drawing);
    for_each_item<1>(x, s.batches, open_edges{s, false, true});
    std::uint64_t* const cursor = spare_keys.data();
    for_each_item<1>(x, drawing, copy_values{s.at, cursor});
    x.fill(keys.data(), 0xff, room.items * sizeof(std::uint64_t));
    for_each_item<32>(x, drawing, list_induced<Id, Packed>{s, v, keys.data(), cursor}, o.access, true);
    std::uint64_t const* const order = sort(x, {keys.data(), room.items}, {spare_keys.data(), room.items}).data();
    for_each_item<1>(x, items, take_induced{s, order});
  }
};

block_sampler::parts::parts(place where, std::vector<sampled_type> types, std::vector<inner_relation> relations,
                            block_options const& options, bool renamed) {
  block_options o = options;
  if (o.temporal) o.disjoint = true;
  graph const* const first = relations.empty() ? nullptr : relations.front().g;
  auto const note = [&](std::uint64_t value) { fingerprint = mix(fingerprint + 0x9e3779b97f4a7c15ull) ^ mix(value + 1); };
  for (std::uint64_t const k :
       {o.seed, static_cast<std::uint64_t>(o.rule), std::uint64_t{o.replace}, std::uint64_t{o.disjoint}, std::uint64_t{o.weighted},
        o.temporal ? 1 + static_cast<std::uint64_t>(*o.temporal) : 0, std::uint64_t{o.induced}})
    note(k);
  for (inner_relation const& r : relations) {
    note(r.g->info.vertices), note(r.g->info.edges), note(r.from), note(r.to);
    for (std::int64_t const f : r.fanouts) note(static_cast<std::uint64_t>(f));
  }
  impl_ = std::make_unique<impl>(where, types, std::move(relations), o);
  if (renamed && first) impl_->rename(*first);
}
block_sampler::parts::~parts() {
  if (!impl_) return;
  try {
    impl_->x.wait();
  } catch (...) {  // nobody is left to be told
  }
}
executor& block_sampler::parts::at() { return impl_->x; }
void block_sampler::parts::hash_beyond(std::uint64_t bytes) { impl_->hash_beyond = bytes; }
traffic block_sampler::parts::take_traffic() { return impl_->model.take(); }
std::uint64_t block_sampler::parts::bytes() const { return impl_->bytes(); }
std::uint64_t block_sampler::parts::vertices(std::uint32_t type) const {
  if (type >= impl_->types.size()) fail(errc::usage, "vertices of type {}: there are {} types", type, impl_->types.size());
  return impl_->types[type].vertices;
}

void block_sampler::parts::start(blocks::parts& b, std::uint64_t number, std::span<typed_seeds const> seeds, bool near) {
  prepare(b, number, seeds, near);
  blocks::parts* const one = &b;
  give({&one, 1});
}
void block_sampler::parts::give(std::span<blocks::parts* const> batches) {
  impl& s = *impl_;
  for (std::size_t k = 0; k < batches.size();) {
    std::size_t n = 1;
    while (k + n < batches.size() && batches[k + n]->number == batches[k]->number + n) ++n;
    n = s.together(n);
    impl::some_batches const some = batches.subspan(k, n);
    // Seeds always have room.
    std::uint64_t most = 0;
    bool too_small = !s.sized;
    for (blocks::parts const* b : some) {
      most = std::max(most, b->seeds);
      for (blocks::parts::group const& g : b->groups)
        too_small |= s.room.vertices[g.type] < b->seeds || (s.o.disjoint && 2 * s.room.vertices[g.type] < b->seeds);
    }
    if (too_small || (n > 1 && !std::exchange(s.sized_for_several, true))) s.guess(most, n);
    s.give(some);
    for (blocks::parts* b : some) b->pending = true;
    k += n;
  }
}
void block_sampler::parts::prepare(blocks::parts& b, std::uint64_t number, std::span<typed_seeds const> seeds, bool near) {
  impl& s = *impl_;
  std::uint64_t count = 0;
  std::vector<bool> given(s.types.size());
  for (auto const& [type, ids, times] : seeds) {
    if (type >= s.types.size()) fail(errc::usage, "seeds of type {}: there are {} types of vertices", type, s.types.size());
    if (given[type]) fail(errc::usage, "mini-batch {}: seeds of type {} twice; give those of a type together", number, type);
    given[type] = true;
    if (s.o.temporal && times.empty() && !ids.empty() && s.types[type].times.empty())
      fail(errc::usage, "mini-batch {}: temporal sampling from seeds that have no times; give each one", number);
    if (!times.empty() && times.size() != ids.size())
      fail(errc::usage, "mini-batch {}: {} times for {} seeds", number, times.size(), ids.size());
    if (!ids.empty() && s.types[type].vertices == 0)
      fail_id("mini-batch {}: {} seeds of type {}, which has no vertices", number, ids.size(), type);
    count += ids.size();
  }
  if (count >= none) fail(errc::usage, "a mini-batch of {} seeds; 2^32 - 2 is the most", count);
  b.done.wait();
  b.number = number, b.seeds = count, b.where = s.x.where();
  auto const staged = [&](buffer<std::int64_t>& to, std::uint64_t first, std::span<std::int64_t const> from) -> std::int64_t const* {
    if (near || from.empty()) return from.data();
    if (s.x.on_device() && device::reads(s.x.device(), from.data()) && !device::pinned_from(from.data())) return from.data();
    if (to.size() < count) to = {tier::host, count, s.x.device(), "seeds of a mini-batch"};
    std::copy_n(from.data(), from.size(), to.data() + first);
    return to.data() + first;
  };
  b.groups.clear();
  std::uint64_t first = 0;
  for (auto const& [type, ids, times] : seeds) {
    b.groups.push_back(
        {type, first, ids.size(), staged(b.seed_room, first, ids), times.empty() ? nullptr : staged(b.time_room, first, times)});
    first += ids.size();
  }
}

void block_sampler::parts::finish(blocks::parts& b) {
  impl& s = *impl_;
  if (!b.pending) fail(errc::usage, "this mini-batch was not started, or is finished; call start() first");
  b.pending = false;
  for (;;) {
    b.done.wait();
    std::uint64_t const* const c = b.counted.data();
    if (c[counter_map::bad] != nothing) {
      std::uint64_t const i = c[counter_map::bad];
      auto const g = std::find_if(b.groups.begin(), b.groups.end(), [&](auto const& one) { return i - one.first < one.count; });
      std::int64_t const id = s.x.read(g->seeds + (i - g->first));
      fail_id("seed {} at position {} of mini-batch {}: there are vertices 0 to {}{}", id, i, b.number, s.types[g->type].vertices - 1,
              s.types.size() > 1 ? fmt::format(" of type {}", g->type) : "");
    }
    if (!c[counter_map::was_over]) break;
    s.x.wait();
    s.grow(c, b.number, b.seeds);
    blocks::parts* const one = &b;
    s.give({&one, 1});
  }
  std::uint64_t const* const c = b.counted.data();
  counter_map const& map = s.map;
  b.drawn = c[counter_map::drawn];
  if (s.x.on_device()) b.ms = b.begun.ms_until(b.done) / b.together;
  for (std::uint32_t t = 0; t < map.types; ++t) {
    blocks::vertices& v = b.types[t].seen;
    v.ids = b.types[t].ids.data(), v.tree = s.o.disjoint ? b.types[t].tree.data() : nullptr;
    v.count = c[map.count(t)];
    v.by_hop.clear();
    for (std::uint32_t h = 0; h <= map.hops; ++h) v.by_hop.push_back(c[map.history(h) + t] - (h ? c[map.history(h - 1) + t] : 0));
  }
  for (std::uint32_t r = 0; r < map.relations; ++r) {
    blocks::edges& e = b.relations[r].seen;
    e.row = b.relations[r].rows(), e.col = b.relations[r].cols(), e.edge = b.relations[r].edge.data();
    e.count = s.o.edges ? c[map.edges(r)] : 0;
    e.by_hop.clear();
    for (std::uint32_t h = 0; h < map.hops; ++h) {
      std::uint64_t const n = c[map.history(h + 1) + map.types + r] - c[map.history(h) + map.types + r];
      if (s.o.edges && !s.o.induced) e.by_hop.push_back(n);
      s.relations[r].seen[h] = std::max(s.relations[r].seen[h], n);
    }
  }
}
void block_sampler::parts::discard(blocks::parts& b) noexcept {
  try {
    b.done.wait();
  } catch (...) {
  }
  b.pending = false;
}

}  // namespace garner
