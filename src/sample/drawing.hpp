// A hop over a relation is a few loops: how many edges each vertex samples, where (a scan gives each its first edge), which neighbors these
// are (the only remote reads), which edge sampled a vertex first (another scan), and the local numbers of all.
// Invariant: place[v] is the local number of v, or none. While a hop runs, a vertex without a number holds base + the first edge that
// sampled it; base exceeds every number so far. The smallest wins, in any order of threads. Sampling: Floyd's algorithm without replacement
// (Bentley, CACM 30(9) 1987): the k-th sample is uniform in [0, d - f + k]; a repeated one becomes d - f + k. Each set of f positions is
// equally likely. f^2 / 2 comparisons, no table. By weights: the f smallest of -log(u) / w, u a random number per edge (Efraimidis and
// Spirakis, IPL 97(5) 2006); with replacement the first f arrivals, where edges arrive at random times at the rates of their weights: only
// edges whose first arrival is among the f first matter, so lists are read as often. Temporal: the f smallest random numbers, or ages,
// among edges no later than the seed. LABOR-0 (Balin and Catalyurek, NeurIPS 2023), sequential Poisson: the f smallest of a random number
// per neighbor, shared by all vertices of a mini-batch.
#pragma once
#include <cstdint>
#include <cstring>

#include "core/exec.hpp"
#include "core/random.hpp"
#include "graph/graph.hpp"
#include "graph/list_windows.hpp"

namespace garner::drawing {

inline constexpr std::uint64_t nothing = ~std::uint64_t{0};
inline constexpr std::uint32_t none = ~0u;

// Maximum mini-batches sampled together: the state of each is passed to the kernel as an argument.
inline constexpr std::uint32_t most_together = 64;

// Index of each counter: some for all mini-batches sampled together, then a part for each. All are zero at first, but for `bad`.
struct counter_map {
  std::uint32_t types = 0, relations = 0, hops = 0;
  // over: 0, or room ran out: 1 of edges, 2 + hop * relations + relation: of vertices, there
  static constexpr std::uint32_t over = 0, items = 1, looked_at = 2, need_items = 3, first_type = 4;
  GARNER_HD std::uint32_t total(std::uint32_t t) const { return first_type + t; }            // vertices so far
  GARNER_HD std::uint32_t begin(std::uint32_t t) const { return first_type + types + t; }    // the first that this hop samples for
  GARNER_HD std::uint32_t end(std::uint32_t t) const { return first_type + 2 * types + t; }  // behind the last
  GARNER_HD std::uint32_t drawing(std::uint32_t t) const { return first_type + 3 * types + t; }
  GARNER_HD std::uint32_t shared() const { return first_type + 4 * types; }

  // Counters per mini-batch, from part(b) on.
  static constexpr std::uint32_t bad = 0, was_over = 1, drawn = 2, needs_items = 3, first_item = 4, first_rank = 5, of_types = 6;
  GARNER_HD std::uint32_t count(std::uint32_t t) const { return of_types + t; }
  // Vertices that this hop samples for: the first of them among all, and its local number; and the same of the next hop.
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

// Local number of each vertex: one entry per vertex and mini-batch. For disjoint trees, and where entries would take too much memory, a
// hash table of (vertex, tree, mini-batch) with open addressing. A slot is 16 bytes, a key and an entry, so one read loads both.
struct place_table {
  std::uint32_t* place = nullptr;
  std::uint64_t* keys = nullptr;  // null: by vertex; else slot k has its key at keys[2 * k] and its entry behind it
  std::uint64_t mask = 0, trees = 1, vertices = 0, batches = 1;

  static place_table of_slots(std::uint64_t* slots, std::uint64_t count, std::uint64_t trees, std::uint64_t vertices,
                              std::uint64_t batches) {
    return {reinterpret_cast<std::uint32_t*>(slots + 1), slots, count - 1, trees, vertices, batches};
  }
  // So many keys at the most, so that a free slot is soon met.
  GARNER_HD std::uint64_t room() const { return keys ? mask - mask / 4 : nothing; }
  GARNER_HD std::uint64_t key(std::uint64_t v, std::uint64_t tree, std::uint64_t batch) const {
    return (v * trees + tree) * batches + batch;
  }
  // The place of the entry.
  GARNER_HD std::uint64_t insert(std::uint64_t v, std::uint64_t tree, std::uint64_t batch) const {
    if (!keys) return batch * vertices + v;
    std::uint64_t const mine = key(v, tree, batch);
    for (std::uint64_t at = mix(mine) & mask;; at = (at + 1) & mask) {
      std::uint64_t there = atomic_load(keys + 2 * at);
      if (there == nothing) there = atomic_cas(keys + 2 * at, nothing, mine);
      if (there == nothing || there == mine) return 4 * at;
    }
  }
  // Entry in the hash table.
  GARNER_HD std::uint64_t vertex_at(std::uint64_t entry) const { return keys[entry / 2] / (trees * batches); }
  // Where its entry likely is.
  GARNER_HD void const* near(std::uint64_t v, std::uint64_t tree, std::uint64_t batch) const {
    if (!keys) return place + batch * vertices + v;
    return keys + 2 * (mix(key(v, tree, batch)) & mask);
  }
};

// Output arrays of a mini-batch.
struct outputs {
  std::int64_t *ids, *row, *col, *edge;  // null: not kept
};

// State shared by the loops of one hop over one relation. For mini-batches sampled together, vertices are ordered by hop, then by
// mini-batch; so are the edges of a hop.
struct hop_of_relation {
  std::uint64_t* c;
  counter_map map;
  std::uint32_t from, to, relation, hop, batches;
  bool all;  // samples for all vertices so far
  std::uint64_t const* offsets;
  std::int64_t *from_ids, *to_ids;
  std::uint32_t *from_tree, *to_tree;    // null: one tree
  std::uint32_t *from_batch, *to_batch;  // null: one mini-batch
  place_table places;
  std::uint32_t* drawn;
  std::uint64_t* at;
  // By edge of the hop: neighbor (with a hash table: its entry there), the vertex that sampled it (an index in to_ids), its position in the
  // lists.
  std::int64_t *row, *col, *edge;
  std::uint32_t* first;
  std::uint64_t* rank;
  std::uint64_t room_items, room_edges, room_vertices;
  std::int64_t fanout;
  std::uint64_t seed, stream;
  bool replace;
  // Names of the vertices of a part of a graph, which key the random numbers: names[v], or consecutive from the first of them.
  std::uint64_t const* names;
  std::uint64_t first_name;

  GARNER_HD std::uint64_t first_drawing() const { return all ? 0 : c[map.begin(to)]; }
  GARNER_HD std::uint64_t* of(std::uint64_t batch) const { return c + map.part(batch); }
  GARNER_HD std::uint64_t tree_of(std::uint64_t target) const { return to_tree ? to_tree[target] : 0; }
  GARNER_HD std::uint64_t batch_of(std::uint64_t target) const { return to_batch ? to_batch[target] : 0; }
  GARNER_HD std::uint64_t key_of(std::uint64_t v, std::uint64_t tree, std::uint64_t batch) const {
    std::uint64_t const name = names ? names[v] : first_name + v;
    return random_bits(seed, stream + 8 * batch, tree ? name ^ mix(tree) : name);
  }
  // With a single relation the source type does not count: a part of a graph has another type for it.
  GARNER_HD std::uint64_t key_of_neighbors(std::uint64_t batch) const {
    return random_bits(seed, stream + 8 * batch, map.relations > 1 ? from : 0);
  }
  // Mini-batch of edge i, and the entry of its neighbor.
  GARNER_HD std::uint64_t batch_of_edge(std::uint64_t i) const { return to_batch ? to_batch[col[i]] : 0; }
  GARNER_HD std::uint64_t entry_of(std::uint64_t i) const {
    auto const at = static_cast<std::uint64_t>(row[i]);
    return places.keys ? at : batch_of_edge(i) * places.vertices + at;
  }
  GARNER_HD std::int64_t vertex_of(std::uint64_t i) const {
    return places.keys ? static_cast<std::int64_t>(places.vertex_at(static_cast<std::uint64_t>(row[i]))) : row[i];
  }
  GARNER_HD std::uint64_t base() const { return c[map.total(from)]; }
  // Whether a vertex that samples n of this many neighbors takes each once: also with replacement if all are wanted.
  GARNER_HD bool takes_all(std::uint64_t n, std::uint64_t degree) const { return fanout < 0 || (n == degree && !replace); }
  // Whether e is one of the first n entries sampled by item i.
  GARNER_HD bool is_among(std::uint64_t i, std::uint64_t n, std::uint64_t e) const {
    for (std::uint64_t k = 0; k < n; ++k)
      if (edge[at[i] + k] == static_cast<std::int64_t>(e)) return true;
    return false;
  }
  // u is the neighbor at edge i. Without places, u gets its number where the list was requested, not here.
  GARNER_HD void reach(std::uint64_t i, std::uint64_t u, std::uint64_t tree, std::uint64_t batch) const {
    std::uint64_t const entry = places.place ? places.insert(u, tree, batch) : 0;
    row[i] = static_cast<std::int64_t>(places.keys ? entry : u);
    if (places.place) atomic_min(places.place + entry, static_cast<std::uint32_t>(base() + i));
  }
};

// --- seeds -----------------------------------------------------------------------------------------------------------------------------
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
// --- how many, and where -----------------------------------------------------------------------------------------------------------------
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
template <class Entries>
struct draw : hop_of_relation {
  Entries entries;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    if (c[map.over]) return;
    std::uint64_t const target = first_drawing() + i, n = at[i + 1] - at[i];
    if (n == 0) return;
    auto const v = static_cast<std::uint64_t>(to_ids[target]);
    std::uint64_t const begin = offsets[v], degree = entries.count(t, *this, target, v, begin, offsets[v + 1]);
    std::int64_t* const mine = edge + at[i];
    std::int64_t* const who = col + at[i];
    for (std::uint64_t k = 0; k < n; ++k) who[k] = static_cast<std::int64_t>(target);
    if (takes_all(n, degree)) {
      for (std::uint64_t k = 0; k < n; ++k) mine[k] = static_cast<std::int64_t>(begin + k);
      return;
    }
    if (entries.latest) {  // with replacement the last one each time
      for (std::uint64_t k = 0; k < n; ++k) mine[k] = static_cast<std::int64_t>(begin + degree - (replace ? 1 : n - k));
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

// --- sampling that reads every edge ------------------------------------------------------------------------------------------------------
// Bits of a number that is not negative; they ascend with it.
GARNER_HD inline std::uint64_t bits_of(double x) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
GARNER_HD inline double double_of(std::int64_t bits) {
  double x = 0;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
// Key by which an edge is chosen: the smallest ones are sampled, never candidate::none. Keys above `most` may become none.
struct by_weight {
  static constexpr bool leaves_out = true, by_neighbor = false;
  using element = std::uint32_t;
  static constexpr bool arrives = true;  // a key is the time of an edge's first arrival, of the bits of a double
  arc_array<std::uint32_t> weights;
  bool real;
  GARNER_HD span<element> part(std::uint64_t v, std::uint64_t begin, std::uint64_t end) const { return weights.part_of(v, begin, end); }
  GARNER_HD double value(element bits) const {
    if (!real) return bits;
    float found;
    std::memcpy(&found, &bits, sizeof found);
    return static_cast<double>(found);
  }
  GARNER_HD std::uint64_t key(element bits, std::uint64_t random, std::int64_t, std::uint64_t most) const {
    double const w = value(bits);
    if (!(w > 0)) return candidate::none;
    // -log2(u) > 1 - u, so that few logarithms are taken in a long list.
    if (bits_of(static_cast<double>(~random >> 24) / w) > most) return candidate::none;
    return bits_of(static_cast<double>(minus_log2(random)) / w);
  }
};
struct in_time {
  static constexpr bool arrives = false, leaves_out = true, by_neighbor = false;
  bool latest;
  // A time is read where it still matters: in a long list few random numbers are among the smallest.
  GARNER_HD std::uint64_t key_of(std::int64_t const* time, std::uint64_t random, std::int64_t limit, std::uint64_t most) const {
    std::uint64_t const key = (random >> 1) + 1;  // never 0, which comes before all
    if ((!latest && key > most) || *time > limit) return candidate::none;
    if (!latest) return key;
    std::uint64_t const age = static_cast<std::uint64_t>(limit) - static_cast<std::uint64_t>(*time);
    return smaller(age, candidate::none - 2) + 1;
  }
};
template <class Id>
struct by_time_of_vertex : in_time {
  using element = Id;
  arc_array<Id> targets;
  std::int64_t const* times;
  GARNER_HD span<element> part(std::uint64_t v, std::uint64_t begin, std::uint64_t end) const { return targets.part_of(v, begin, end); }
  GARNER_HD std::int64_t time_of(element u) const { return times[u]; }
  GARNER_HD std::uint64_t key(element u, std::uint64_t random, std::int64_t limit, std::uint64_t most) const {
    return key_of(times + u, random, limit, most);
  }
};
struct by_time_of_edge : in_time {
  using element = std::int64_t;
  std::int64_t const* times;
  GARNER_HD span<element> part(std::uint64_t, std::uint64_t begin, std::uint64_t end) const { return {times, begin, end}; }
  GARNER_HD std::int64_t time_of(element time) const { return time; }
  GARNER_HD std::uint64_t key(element const& time, std::uint64_t random, std::int64_t limit, std::uint64_t most) const {
    return key_of(&time, random, limit, most);
  }
};
// The same number in all hops and relations that lead from this type.
template <class Id>
struct by_neighbor_alone {
  static constexpr bool arrives = false, leaves_out = false, by_neighbor = true;
  using element = Id;
  arc_array<Id> targets;
  GARNER_HD span<element> part(std::uint64_t v, std::uint64_t begin, std::uint64_t end) const { return targets.part_of(v, begin, end); }
  GARNER_HD std::uint64_t key(element, std::uint64_t random, std::int64_t, std::uint64_t) const { return (random >> 1) + 1; }
};

// The largest weight of each list, for weights whose bits ascend with them.
struct largest_weight {
  std::uint64_t const* offsets;
  by_weight by;
  std::uint32_t* largest;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t v) const {
    std::uint32_t most = 0;
    t.each(by.part(v, offsets[v], offsets[v + 1]), [&](std::uint32_t w) {
      if (by.value(w) > 0) most = larger(most, w);  // -0 has the bits of a large one
    });
    atomic_max(largest + v, most);
  }
};
// By weights, for a long list: random entries, each accepted with the chance of its weight over the largest, until there are enough or too
// many were rejected. In the latter case draw_by reads the list for the rest. Both choose each next entry by the weights of those that are
// left. Fills drawn[]; returns the number found.
struct try_entries : hop_of_relation {
  static constexpr std::uint64_t long_list = 64;
  by_weight by;
  std::uint32_t const* largest;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    if (c[map.over]) return;
    std::uint64_t const target = first_drawing() + i, n = at[i + 1] - at[i];
    auto const v = static_cast<std::uint64_t>(to_ids[target]);
    std::uint64_t const begin = offsets[v], degree = offsets[v + 1] - begin;
    std::uint64_t found = 0;
    if (!takes_all(n, degree) && degree >= long_list) {
      std::uint64_t const key = mix(key_of(v, tree_of(target), batch_of(target)));
      double const most = by.value(largest[v]);
      for (std::uint64_t k = 0; k < 8 * n + 32 && found < n; ++k) {
        std::uint64_t const e = begin + upper_product(mix(key + 0x9e3779b97f4a7c15ull * (2 * k + 1)), degree);
        double const chance = static_cast<double>(mix(key + 0x9e3779b97f4a7c15ull * (2 * k + 2)) >> 11) * 0x1p-53;
        bool kept = false;
        t.each(by.part(v, e, e + 1), [&](by_weight::element w) { kept = chance * most < by.value(w); });
        if (kept && !is_among(i, found, e)) edge[at[i] + found] = static_cast<std::int64_t>(e), first[at[i] + found] = 1, ++found;
      }
    }
    drawn[i] = static_cast<std::uint32_t>(found);
  }
};

// Writes first[]: 1 the edge is sampled, 0 there is nothing here, 2 allowed() decides. For arrivals, writes their times into row[].
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
    if (takes_all(n, degree)) {
      t.each(indices{0, n}, [&](std::uint64_t k) { mine[k] = static_cast<std::int64_t>(begin + k), state[k] = By::leaves_out ? 2 : 1; });
      return;
    }
    std::int64_t const limit = tree_time ? tree_time[tree_of(target)] : 0;
    std::uint64_t const key = By::by_neighbor ? key_of_neighbors(batch_of(target)) : key_of(v, tree_of(target), batch_of(target));
    candidate after{0, candidate::none};
    bool const one_by_one = replace && !By::arrives;
    auto const each = static_cast<std::uint32_t>(one_by_one ? 1 : lanes::most_smallest);
    std::uint64_t const there = By::arrives && !replace ? drawn[i] : 0;
    for (std::uint64_t k = there; k < n;) {
      std::uint64_t const stream_of_draw = one_by_one ? mix(key + k + 1) : key;
      auto const some = static_cast<std::uint32_t>(smaller<std::uint64_t>(each, n - k));
      smallest_found const found = t.smallest(
          by.part(v, begin, begin + degree), some, after,
          [&](typename By::element e, std::uint64_t j, std::uint64_t most) {
            if (is_among(i, there, j)) return candidate::none;
            std::uint64_t const nth = By::by_neighbor ? static_cast<std::uint64_t>(e) : j - begin;
            return by.key(e, mix(stream_of_draw + 0x9e3779b97f4a7c15ull * (nth + 1)), limit, most);
          },
          [&](std::uint32_t j, candidate const& c) {
            mine[k + j] = static_cast<std::int64_t>(c.index), state[k + j] = 1;
            if (By::arrives && replace) row[at[i] + k + j] = static_cast<std::int64_t>(c.key);
          });
      k += found.count;
      if (found.count < some) {
        t.each(indices{k, n}, [&](std::uint64_t j) { state[j] = 0; });
        return;
      }
      if (!one_by_one) after = found.last;
    }
  }
};
// Turns first arrivals into all arrivals: with replacement, by weights.
struct draw_again : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (c[map.over]) return;
    std::uint64_t const target = first_drawing() + i, n = at[i + 1] - at[i];
    auto const v = static_cast<std::uint64_t>(to_ids[target]);
    std::uint64_t const begin = offsets[v];
    if (takes_all(n, offsets[v + 1] - begin)) return;
    std::int64_t *const mine = edge + at[i], *const time = row + at[i], *const rate = col + at[i];
    std::uint32_t* const state = first + at[i];
    std::uint64_t arrive = 0;  // edges that arrive at all, by their first times
    while (arrive < n && state[arrive]) ++arrive;
    if (arrive == 0) return;
    std::uint64_t const key = key_of(v, tree_of(target), batch_of(target));
    auto const wait = [&](std::uint64_t stream, std::uint64_t j) {
      auto const place = static_cast<std::uint64_t>(mine[j]) - begin;
      return static_cast<double>(minus_log2(mix(stream + 0x9e3779b97f4a7c15ull * (place + 1))));
    };
    for (std::uint64_t k = 0, seen = 0; k < n; ++k) {
      std::uint64_t next = seen < arrive ? seen : 0;
      for (std::uint64_t j = 0; j < seen; ++j)
        if (time[j] < time[next]) next = j;
      double const now = double_of(time[next]);
      if (next == seen) {
        rate[next] = static_cast<std::int64_t>(bits_of(wait(key, next) / now));
        ++seen;
      }
      time[next] = static_cast<std::int64_t>(bits_of(now + wait(mix(key + k + 1), next) / double_of(rate[next])));
      state[k] = static_cast<std::uint32_t>(next);
    }
    for (std::uint64_t k = 0; k < n; ++k) col[at[i] + k] = mine[state[k]];
    for (std::uint64_t k = 0; k < n; ++k) mine[k] = col[at[i] + k], col[at[i] + k] = static_cast<std::int64_t>(target), state[k] = 1;
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
    auto const target = static_cast<std::uint64_t>(col[i]);
    std::int64_t const limit = tree_time ? tree_time[tree_of(target)] : 0;
    t.each(by.part(static_cast<std::uint64_t>(to_ids[target]), e, e + 1),
           [&](typename By::element x) { first[i] = by.key(x, 0, limit, candidate::none) != candidate::none; });
  }
};
// Compacts the sampled edges.
struct sift : hop_of_relation {
  std::int64_t const *from_col, *from_edge;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (c[map.over] || !first[i]) return;
    col[rank[i]] = from_col[i];
    edge[rank[i]] = from_edge[i];
  }
};

// --- neighbors, and their numbers --------------------------------------------------------------------------------------------------------
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

// --- names of edges ----------------------------------------------------------------------------------------------------------------------
// By position in the adjacency of the whole graph, in the order of the user's ids.
struct name_edges : hop_of_relation {
  std::uint64_t const* begins;  // where the list of each vertex begins there, behind first_edge others; null: as here
  std::uint32_t const* places;  // remote: position of each entry in its original list; null: the order is the same
  std::uint64_t first_edge;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    if (c[map.over]) return;
    auto const e = static_cast<std::uint64_t>(edge[i]);
    if (!places) {
      edge[i] = static_cast<std::int64_t>(first_edge + e);
      return;
    }
    std::uint64_t const begin = first_edge + (begins ? begins : offsets)[to_ids[col[i]]];
    t.each(known<false>(span<std::uint32_t>{places, e, e + 1}),
           [&](std::uint32_t place) { edge[i] = static_cast<std::int64_t>(begin + place); });
  }
};

// --- adjacency owned by other processes --------------------------------------------------------------------------------------------------
// At the owner, after sampling: edges of each vertex, where some were left out.
struct count_sifted : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    drawn[i] = static_cast<std::uint32_t>(rank[at[i + 1]] - rank[at[i]]);
  }
};
// At the requesting process: drawn[] and row[] arrived. Finds the vertex of each edge, and the first edge of each neighbor.
struct take_drawn : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    if (c[map.over]) return;
    auto const target = static_cast<std::int64_t>(first_drawing() + i);
    t.each(indices{at[i], at[i + 1]}, [&](std::uint64_t k) { col[k] = target; });
  }
};
struct reach_drawn : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (c[map.over]) return;
    reach(i, static_cast<std::uint64_t>(row[i]), tree_of(static_cast<std::uint64_t>(col[i])), batch_of_edge(i));
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
    // The next read of `over` finds the same value, whichever thread set it first.
    if (all_of_them > room_vertices) atomic_store(c + map.over, std::uint64_t{2} + hop * map.relations + relation);
  }
};
struct take_place : hop_of_relation {
  outputs to_batches[most_together];
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (std::uint64_t const over = c[map.over]) {  // memory does not suffice: as if they had not been sampled
      if (places.keys || over != 2 + hop * map.relations + relation) return;
      std::uint32_t* const entry = places.place + entry_of(i);
      if (atomic_load(entry) >= base()) atomic_store(entry, none);
      return;
    }
    if (!first[i]) return;
    std::uint64_t const batch = batch_of_edge(i), number = base() + rank[i];
    std::uint64_t const* const mine = of(batch);
    std::uint64_t const local = mine[map.count(from)] + rank[i] - mine[map.first_rank];
    std::int64_t const v = from_ids[number] = vertex_of(i);
    if (from_batch) from_batch[number] = static_cast<std::uint32_t>(batch), to_batches[batch].ids[local] = v;
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
  bool counts_vertices, drops_edges;  // the induced subgraph keeps no sampled edges
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

// --- all edges among the sampled vertices ------------------------------------------------------
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

}  // namespace garner::drawing
