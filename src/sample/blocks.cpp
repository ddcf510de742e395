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
#include "sample/lists.hpp"

namespace garner {

namespace {

constexpr std::uint64_t nothing = ~std::uint64_t{0};
constexpr std::uint32_t none = ~0u;

// Where each counter stands. All are zero when a mini-batch begins, but for `bad`.
struct counter_map {
  std::uint32_t types = 0, relations = 0, hops = 0;
  static constexpr std::uint32_t bad = 0, over = 1, items = 2, first_edge = 3, base = 4, fresh = 5, drawn = 6, need_items = 7,
                                 looked_at = 8, first_type = 9;
  GARNER_HD std::uint32_t count(std::uint32_t t) const { return first_type + t; }            // vertices so far
  GARNER_HD std::uint32_t begin(std::uint32_t t) const { return first_type + types + t; }    // the first that this hop draws for
  GARNER_HD std::uint32_t end(std::uint32_t t) const { return first_type + 2 * types + t; }  // behind the last
  GARNER_HD std::uint32_t drawing(std::uint32_t t) const { return first_type + 3 * types + t; }
  GARNER_HD std::uint32_t need_vertices(std::uint32_t t) const { return first_type + 4 * types + t; }
  GARNER_HD std::uint32_t edges(std::uint32_t r) const { return first_type + 5 * types + r; }
  GARNER_HD std::uint32_t need_edges(std::uint32_t r) const { return first_type + 5 * types + relations + r; }
  // When hop h begins (and behind the last): vertices of each type, then edges of each relation.
  GARNER_HD std::uint32_t history(std::uint32_t hop) const { return first_type + 5 * types + 2 * relations + hop * (types + relations); }
  std::uint32_t all() const { return history(hops + 1); }
};

// Which local number a vertex has: an entry a vertex, or, of disjoint trees, a hash table of (vertex, tree) with open addressing.
struct place_table {
  std::uint32_t* place = nullptr;
  std::uint64_t* keys = nullptr;  // null: by vertex
  std::uint64_t mask = 0, trees = 1;

  GARNER_HD std::uint64_t insert(std::uint64_t v, std::uint64_t tree) const {
    if (!keys) return v;
    std::uint64_t const key = v * trees + tree;
    for (std::uint64_t at = mix(key) & mask;; at = (at + 1) & mask) {
      std::uint64_t there = atomic_load(keys + at);
      if (there == nothing) there = atomic_cas(keys + at, nothing, key);
      if (there == nothing || there == key) return at;
    }
  }
  GARNER_HD std::uint64_t find(std::uint64_t v, std::uint64_t tree) const {  // `mask` + 1: nowhere
    if (!keys) return v;
    std::uint64_t const key = v * trees + tree;
    for (std::uint64_t at = mix(key) & mask;; at = (at + 1) & mask) {
      std::uint64_t const there = atomic_load(keys + at);
      if (there == key) return at;
      if (there == nothing) return mask + 1;
    }
  }
};

// What the loops of one hop over one relation share.
struct hop_of_relation {
  std::uint64_t* c;
  counter_map map;
  std::uint32_t from, to, relation;
  bool all;  // who draws: all so far
  std::uint64_t const* offsets;
  std::int64_t *from_ids, *to_ids;
  std::uint32_t *from_tree, *to_tree;  // null: one tree
  place_table places;
  std::uint32_t* drawn;
  std::uint64_t* at;
  // By edge: those of the hop, or, where they are kept, behind those of the hops before.
  std::int64_t *row, *col, *edge;
  bool keeps, keeps_edge;
  std::uint32_t* first;
  std::uint64_t* rank;
  std::uint64_t room_items, room_edges, room_vertices;
  std::int64_t fanout;
  std::uint64_t seed, stream;
  bool replace;

  GARNER_HD std::uint64_t first_drawing() const { return all ? 0 : c[map.begin(to)]; }
  GARNER_HD std::int64_t* rows() const { return keeps ? row + c[map.first_edge] : row; }
  GARNER_HD std::int64_t* cols() const { return keeps ? col + c[map.first_edge] : col; }
  GARNER_HD std::int64_t* edges() const { return keeps_edge ? edge + c[map.first_edge] : edge; }
  GARNER_HD std::uint64_t tree_of(std::uint64_t target) const { return to_tree ? to_tree[target] : 0; }
  GARNER_HD std::uint64_t key_of(std::uint64_t v, std::uint64_t tree) const { return random_bits(seed, stream, tree ? v ^ mix(tree) : v); }
};

// --- seeds -----------------------------------------------------------------------------------------------------------------------------
struct begin_batch {
  std::uint64_t* c;
  counter_map map;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t) const {
    for (std::uint32_t k = 0; k < map.history(map.hops + 1); ++k) c[k] = 0;
    c[map.bad] = nothing;
  }
};
struct count_seeds {
  std::uint64_t *count, seeds;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t) const {
    *count = seeds;
  }
};
// Those of one type; `first`: how many of other types stand before them.
struct take_seeds {
  std::uint64_t first;
  std::int64_t const *seeds, *times, *times_of_type;
  std::uint64_t vertices;
  void const* inside;  // by position, the internal id; null: the same
  std::uint32_t id_bytes;
  place_table places;
  std::int64_t* ids;
  std::uint32_t* tree;
  std::int64_t* tree_time;
  std::uint64_t* bad;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    auto v = static_cast<std::uint64_t>(seeds[i]);
    if (v >= vertices) {
      atomic_min(bad, first + i);
      v = 0;
    }
    if (tree_time) tree_time[first + i] = times ? times[i] : times_of_type[v];
    if (inside) v = id_bytes == 8 ? static_cast<std::uint64_t const*>(inside)[v] : static_cast<std::uint32_t const*>(inside)[v];
    ids[i] = static_cast<std::int64_t>(v);
    if (tree) tree[i] = static_cast<std::uint32_t>(first + i);
    atomic_min(places.place + places.insert(v, first + i), static_cast<std::uint32_t>(i));
  }
};
// Hop `hop` draws for those that the hop before reached, or for all; `hops`: nothing is drawn any more.
struct begin_hop {
  std::uint64_t* c;
  counter_map map;
  std::uint32_t hop;
  bool all;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t) const {
    for (std::uint32_t t = 0; t < map.types; ++t) {
      std::uint64_t const begin = c[map.end(t)], end = c[map.count(t)];
      c[map.begin(t)] = begin, c[map.end(t)] = end;
      c[map.drawing(t)] = c[map.bad] != nothing || c[map.over] ? 0 : all ? end : end - begin;
      c[map.history(hop) + t] = end;
    }
    for (std::uint32_t r = 0; r < map.relations; ++r) c[map.history(hop) + map.types + r] = c[map.edges(r)];
  }
};

// --- how many, and where -----------------------------------------------------------------------------------------------------------------
struct tally : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    auto const v = static_cast<std::uint64_t>(to_ids[first_drawing() + i]);
    std::uint64_t const degree = offsets[v + 1] - offsets[v];
    drawn[i] = static_cast<std::uint32_t>(smaller<std::uint64_t>(fanout < 0    ? degree
                                                                 : degree == 0 ? 0
                                                                 : replace     ? static_cast<std::uint64_t>(fanout)
                                                                               : smaller<std::uint64_t>(degree, fanout),
                                                                 none));
  }
};
// The hop has so many edges, if there is room.
struct open_edges : hop_of_relation {
  std::uint64_t const* total;  // scanned by ...
  std::uint32_t counted;       // ... this counter
  bool last;                   // nothing is left out afterwards
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t) const {
    std::uint64_t items = total[c[counted]];
    std::uint64_t const before = c[map.edges(relation)], base = c[map.count(from)];
    c[map.first_edge] = before;
    c[map.base] = base;
    c[map.need_items] = larger(c[map.need_items], items);
    if (last) c[map.need_edges(relation)] = larger(c[map.need_edges(relation)], before + items);
    if (items > room_items || (last && keeps && before + items > room_edges) || base + items >= none) c[map.over] = 1;
    if (c[map.over]) items = 0;
    c[map.items] = items;
    if (!last) c[map.looked_at] = items;
  }
};
struct draw : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (c[map.items] == 0) return;
    std::uint64_t const target = first_drawing() + i, n = at[i + 1] - at[i];
    auto const v = static_cast<std::uint64_t>(to_ids[target]);
    std::uint64_t const begin = offsets[v], degree = offsets[v + 1] - begin;
    std::int64_t* const mine = edges() + at[i];
    std::int64_t* const who = cols() + at[i];
    for (std::uint64_t k = 0; k < n; ++k) who[k] = static_cast<std::int64_t>(target);
    if (n == degree && !replace) {
      for (std::uint64_t k = 0; k < n; ++k) mine[k] = static_cast<std::int64_t>(begin + k);
      return;
    }
    std::uint64_t const key = key_of(v, tree_of(target));
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
    if (c[map.items] == 0) return;
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
    std::uint64_t const key = key_of(v, tree_of(target));
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
    if (first[i] != 2) return;
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
    if (!first[i] || c[map.items] == 0) return;
    cols()[rank[i]] = from_col[i];
    edges()[rank[i]] = from_edge[i];
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
    keys[i] = i << 32 | (i < c[map.items] ? static_cast<std::uint64_t>(edges()[i]) >> shift : pages);
  }
};
template <class Id, bool Packed>
struct fetch : hop_of_relation {
  csr_view<Id> lists;
  std::uint64_t const* order;  // of the first `ordered`; null: as they come
  std::uint64_t ordered;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    std::uint64_t const i = k < ordered ? order[k] >> 32 : k;
    auto const e = static_cast<std::uint64_t>(edges()[i]);
    std::int64_t* const row_at = rows() + i;
    std::uint64_t const tree = tree_of(static_cast<std::uint64_t>(cols()[i]));
    auto const mine = static_cast<std::uint32_t>(c[map.base] + i);
    t.each(known<Packed>(lists.arcs({e, e + 1})), [&](Id u) {
      *row_at = static_cast<std::int64_t>(u);
      atomic_min(places.place + places.insert(u, tree), mine);
    });
  }
};
struct mark_first : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    std::uint64_t const tree = tree_of(static_cast<std::uint64_t>(cols()[i]));
    first[i] = places.place[places.find(static_cast<std::uint64_t>(rows()[i]), tree)] == static_cast<std::uint32_t>(c[map.base] + i);
  }
};
struct open_vertices : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t) const {
    std::uint64_t const fresh = rank[c[map.items]], all_of_them = c[map.base] + fresh;
    c[map.need_vertices(from)] = larger(c[map.need_vertices(from)], all_of_them);
    if (all_of_them > room_vertices) c[map.over] = 1;
    c[map.fresh] = c[map.over] ? 0 : fresh;
  }
};
struct take_place : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    std::uint64_t const u = static_cast<std::uint64_t>(rows()[i]), tree = tree_of(static_cast<std::uint64_t>(cols()[i]));
    std::uint32_t* const mine = places.place + places.find(u, tree);
    if (c[map.over]) {  // there is no room for them: as if they had not been drawn
      if (!places.keys && atomic_load(mine) >= c[map.base]) atomic_store(mine, none);
      return;
    }
    if (!first[i]) return;
    std::uint64_t const number = c[map.base] + rank[i];
    from_ids[number] = static_cast<std::int64_t>(u);
    if (from_tree) from_tree[number] = static_cast<std::uint32_t>(tree);
    *mine = static_cast<std::uint32_t>(number);
  }
};
struct number_rows : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (c[map.over]) return;
    std::uint64_t const tree = tree_of(static_cast<std::uint64_t>(cols()[i]));
    rows()[i] = places.place[places.find(static_cast<std::uint64_t>(rows()[i]), tree)];
  }
};
struct end_relation : hop_of_relation {
  bool counts_vertices;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t) const {
    if (c[map.over]) return;
    if (counts_vertices) c[map.count(from)] += c[map.fresh];
    if (keeps) c[map.edges(relation)] += c[map.items];
    c[map.drawn] += c[map.items];
  }
};

// --- all edges among what was drawn
// --------------------------------------------------------------------------------------------------------
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
    if (c[map.items] == 0) return;
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
    std::uint64_t const target = keys[k] >> 32;
    cols()[k] = static_cast<std::int64_t>(target);
    edges()[k] = static_cast<std::int64_t>(offsets[static_cast<std::uint64_t>(to_ids[target])] + (keys[k] & 0xffffffffu));
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

// --- the end
// ---------------------------------------------------------------------------------------------------------------------------------
struct forget {
  std::int64_t const* ids;
  std::uint32_t* place;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    place[ids[i]] = none;
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

// --- the sampler
// ---------------------------------------------------------------------------------------------------------------------------
struct block_sampler::parts::impl {
  struct type_parts {
    std::uint64_t vertices = 0;
    buffer<std::uint32_t> place;
    buffer<std::uint64_t> keys;  // of a hash table
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
  bool sized = false;

  impl(place where, std::vector<sampled_type> const& of_types, std::vector<inner_relation> of_relations, block_options const& options)
      : model(options.access), x(where, &model), o(options) {
    map.types = static_cast<std::uint32_t>(of_types.size());
    map.relations = static_cast<std::uint32_t>(of_relations.size());
    map.hops = static_cast<std::uint32_t>(of_relations.empty() ? 0 : of_relations.front().fanouts.size());
    for (inner_relation& r : of_relations) {
      relation_parts p;
      p.lists = near_lists(x, *r.g, *r.lists);
      memory_block const& words = r.lists->packed_targets.empty() ? r.lists->targets : r.lists->packed_targets.words;
      p.far = x.on_device() && !in_device_memory(words.where());
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
      if (!o.disjoint) {
        p.place = {x.near(), p.vertices, x.device(), "local numbers of vertices"};
        x.fill(p.place.data(), 0xff, p.place.bytes());
      }
      if (!of_types[t].times.empty() && o.temporal) {
        p.times = {x.near(), p.vertices, x.device(), "times of vertices"};
        x.copy(p.times.data(), of_types[t].times.data(), p.times.bytes());
      }
      types.push_back(std::move(p));
    }
    room.vertices.assign(map.types, 0);
    room.edges.assign(map.relations, 0);
    counters = {x.near(), map.all(), x.device(), "counters of a mini-batch"};
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
  void guess(std::uint64_t seeds) {
    constexpr std::uint64_t reason = 1u << 20;
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
    room.items = std::max(room.items, items);
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
    more(room.items, c[counter_map::need_items]);
    for (std::uint32_t t = 0; t < map.types; ++t) more(room.vertices[t], c[map.need_vertices(t)]);
    for (std::uint32_t r = 0; r < map.relations; ++r) more(room.edges[r], c[map.need_edges(r)]);
  }
  template <class T>
  bool make(buffer<T>& b, std::uint64_t n, char const* what = "a mini-batch") {
    if (b.size() >= n) return false;
    b = {};
    b = buffer<T>(x.near(), n, x.device(), what);
    return true;
  }
  bool keeps_edges() const { return o.edges && !o.induced; }
  bool looks() const { return o.weighted || o.temporal.has_value(); }
  bool far() const {
    return std::any_of(relations.begin(), relations.end(), [](relation_parts const& r) { return r.far; });
  }
  void make_rooms(blocks::parts& b) {
    std::uint64_t const most = *std::max_element(room.vertices.begin(), room.vertices.end());
    bool const small = drawn.size() < most || at.size() < most + 1 || first.size() < room.items || rank.size() < room.items + 1 ||
                       b.types.size() != map.types || b.relations.size() != map.relations;
    bool const small_blocks = [&] {
      for (std::size_t t = 0; t < b.types.size(); ++t)
        if (b.types[t].ids.size() < room.vertices[t]) return true;
      for (std::size_t r = 0; r < b.relations.size(); ++r)
        if (o.edges && b.relations[r].pairs.size() < 2 * room.edges[r]) return true;
      return false;
    }();
    if (!small && !small_blocks) return;
    x.wait();  // what is given may use what goes
    b.done.wait();
    make(drawn, most), make(at, most + 1), make(first, room.items), make(rank, room.items + 1);
    if (!keeps_edges()) make(row, room.items), make(col, room.items);
    if (!keeps_edges() || !o.edge_ids) make(edge, room.items);
    if (looks()) make(sifted_col, room.items), make(sifted_edge, room.items);
    if (far() || o.induced) make(keys, room.items), make(spare_keys, std::max(room.items, most));
    if (o.disjoint)
      for (std::size_t t = 0; t < types.size(); ++t) {
        std::uint64_t const slots = std::bit_ceil(2 * (room.vertices[t] + (types[t].is_source ? room.items : 0)) + 2);
        if (!make(types[t].keys, slots)) continue;
        make(types[t].place, slots);
      }
    b.types.resize(map.types), b.relations.resize(map.relations);
    for (std::size_t t = 0; t < types.size(); ++t) {
      make(b.types[t].ids, room.vertices[t]);
      if (o.disjoint) make(b.types[t].tree, room.vertices[t]);
    }
    for (std::size_t r = 0; r < relations.size() && o.edges; ++r) {
      make(b.relations[r].pairs, 2 * room.edges[r]);
      if (o.edge_ids) make(b.relations[r].edge, room.edges[r]);
    }
    if (b.counted.size() < map.all()) b.counted = {tier::host, map.all(), x.device(), "counters of a mini-batch"};
  }
  std::uint64_t bytes() const {
    std::uint64_t n = counters.bytes() + at.bytes() + rank.bytes() + keys.bytes() + spare_keys.bytes() + drawn.bytes() + first.bytes() +
                      row.bytes() + col.bytes() + edge.bytes() + sifted_col.bytes() + sifted_edge.bytes() + tree_time.bytes() +
                      inside.bytes() + ranks.bytes();
    for (type_parts const& t : types) n += t.place.bytes() + t.keys.bytes() + t.times.bytes();
    return n;
  }

  // --- a mini-batch ---
  place_table table_of(std::uint32_t t, std::uint64_t seeds) const {
    if (!o.disjoint) return {types[t].place.data(), nullptr, 0, 1};
    return {types[t].place.data(), types[t].keys.data(), types[t].keys.size() - 1, std::max<std::uint64_t>(1, seeds)};
  }
  item_count counted(std::uint32_t counter, std::uint64_t most) const { return {counters.data() + counter, most}; }

  void give(blocks::parts& b) {
    check_interrupted();
    make_rooms(b);
    std::uint64_t* const c = counters.data();
    auto const clock = std::chrono::steady_clock::now();
    b.begun.record(x);
    for_each_item<1>(x, 1, begin_batch{c, map});
    if (o.disjoint)
      for (type_parts const& t : types) {
        x.fill(t.keys.data(), 0xff, t.keys.bytes());
        x.fill(t.place.data(), 0xff, t.place.bytes());
      }
    if (o.temporal && tree_time.size() < b.seeds) {
      x.wait();
      make(tree_time, b.seeds + b.seeds / 2, "times of seeds");
    }
    for (blocks::parts::group const& g : b.groups) {
      for_each_item<1>(x, 1, count_seeds{c + map.count(g.type), g.count});
      for_each_item<1>(x, g.count,
                       take_seeds{g.first, g.seeds, g.times, types[g.type].times.data(), types[g.type].vertices, inside.data(),
                                  inside_bytes, table_of(g.type, b.seeds), b.types[g.type].ids.data(), b.types[g.type].tree.data(),
                                  o.temporal ? tree_time.data() : nullptr, c + counter_map::bad});
    }
    for (std::uint32_t h = 0; h < map.hops; ++h) {
      for_each_item<1>(x, 1, begin_hop{c, map, h, o.rule == hop_rule::all});
      for (std::uint32_t r = 0; r < map.relations; ++r)
        if (relations[r].of.fanouts[h] != 0) with_id_type(relations[r].of.g->info, [&](auto id) { hop<decltype(id)>(b, h, r); });
    }
    for_each_item<1>(x, 1, begin_hop{c, map, map.hops, o.rule == hop_rule::all});
    if (o.induced && o.edges) {
      for_each_item<1>(x, 1, begin_hop{c, map, map.hops, true});  // for all
      for (std::uint32_t r = 0; r < map.relations; ++r)
        with_id_type(relations[r].of.g->info, [&](auto id) { induced<decltype(id)>(b, r); });
      for_each_item<1>(x, 1, begin_hop{c, map, map.hops, true});
    }
    for (std::uint32_t t = 0; t < map.types; ++t) {
      item_count const n = counted(map.count(t), room.vertices[t]);
      if (!o.disjoint) for_each_item<1>(x, n, forget{b.types[t].ids.data(), types[t].place.data()});
      if (ranks.bytes()) for_each_item<1>(x, n, name_by_position{b.types[t].ids.data(), ranks.data(), inside_bytes == 8});
    }
    x.copy(b.counted.data(), c, map.all() * sizeof *c);
    b.done.record(x);
    if (!x.on_device()) b.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - clock).count();
  }

  hop_of_relation shared(blocks::parts& b, std::uint32_t h, std::uint32_t r) const {
    relation_parts const& rel = relations[r];
    blocks::parts::of_type &from = b.types[rel.of.from], &to = b.types[rel.of.to];
    blocks::parts::of_relation& into = b.relations[r];
    bool const keeps = keeps_edges();
    hop_of_relation s{};
    s.c = counters.data(), s.map = map;
    s.from = rel.of.from, s.to = rel.of.to, s.relation = r;
    s.all = o.rule == hop_rule::all;
    s.offsets = rel.lists.offsets();
    s.from_ids = from.ids.data(), s.to_ids = to.ids.data();
    s.from_tree = o.disjoint ? from.tree.data() : nullptr, s.to_tree = o.disjoint ? to.tree.data() : nullptr;
    s.places = table_of(rel.of.from, b.seeds);
    s.drawn = drawn.data(), s.at = at.data();
    s.keeps = keeps, s.keeps_edge = keeps && o.edge_ids;
    s.row = keeps ? into.rows() : row.data(), s.col = keeps ? into.cols() : col.data();
    s.edge = s.keeps_edge ? into.edge.data() : edge.data();
    s.first = first.data(), s.rank = rank.data();
    s.room_items = room.items, s.room_edges = room.edges[r], s.room_vertices = room.vertices[rel.of.from];
    s.fanout = rel.of.fanouts[h];
    // Eight hops a stream, as long as there are no more; others, and other relations, draw from seeds of their own.
    std::uint64_t const other = std::uint64_t{r} << 32 | h / 8;
    s.seed = other ? mix(o.seed ^ mix(other)) : o.seed, s.stream = b.number * 8 + h % 8;
    s.replace = o.replace;
    return s;
  }

  template <class Id>
  void hop(blocks::parts& b, std::uint32_t h, std::uint32_t r) {
    hop_of_relation const s = shared(b, h, r);
    item_count const drawing = counted(map.drawing(s.to), room.vertices[s.to]);
    for_each_item<1>(x, drawing, tally{s});
    scan(x, s.drawn, s.at, drawing);
    for_each_item<1>(x, 1, open_edges{s, s.at, map.drawing(s.to), !looks()});
    if (looks()) {
      relation_parts const& rel = relations[r];
      csr_view<Id> const v = rel.lists.template view<Id>();
      if (o.weighted) drawn_by(s, drawing, by_weight{v.weights, rel.of.g->info.weights == weight_kind::f32});
      else if (rel.times) drawn_by(s, drawing, by_time_of_edge{{*o.temporal == temporal_rule::last}, rel.times});
      else drawn_by(s, drawing, by_time_of_vertex<Id>{{*o.temporal == temporal_rule::last}, v.targets, types[s.from].times.data()});
    } else {
      for_each_item<1>(x, drawing, draw{s});
    }
    number<Id>(s, relations[r].seen[h], true);
  }
  template <class By>
  void drawn_by(hop_of_relation const& s, item_count drawing, By const& by) {
    hop_of_relation unsifted = s;
    unsifted.col = sifted_col.data(), unsifted.edge = sifted_edge.data();
    unsifted.keeps = unsifted.keeps_edge = false;
    std::int64_t const* const limit = o.temporal ? tree_time.data() : nullptr;
    for_each_item<32>(x, drawing, draw_by<By>{unsifted, by, limit}, o.access, true);
    item_count const looked_at = counted(counter_map::looked_at, room.items);
    for_each_item<1>(x, looked_at, allowed<By>{unsifted, by, limit}, access_mode::merged);
    scan(x, s.first, s.rank, looked_at);
    for_each_item<1>(x, 1, open_edges{s, s.rank, counter_map::looked_at, true});
    for_each_item<1>(x, looked_at, sift{s, unsifted.col, unsifted.edge});
  }

  // Who stands at the edges that were drawn, and what their local numbers are.
  template <class Id>
  void number(hop_of_relation const& s, std::uint64_t expected, bool finds_vertices) {
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
      for_each_item<1>(x, 1, open_vertices{s});
      for_each_item<1>(x, items, take_place{s});
    }
    for_each_item<1>(x, items, number_rows{s});
    for_each_item<1>(x, 1, end_relation{s, finds_vertices});
  }
  static constexpr std::uint64_t far_reads_worth_an_order = 1u << 15;

  template <class Id>
  void fetch_all(hop_of_relation const& s, item_count items, std::uint64_t const* order, std::uint64_t ordered) {
    csr_view<Id> const v = relations[s.relation].lists.template view<Id>();
    // Neighbouring edges may stand side by side; a thread takes one, which no line can be begun for.
    if (!v.targets.packed) for_each_item<1>(x, items, fetch<Id, false>{s, v, order, ordered}, access_mode::merged);
    else if constexpr (sizeof(Id) == 4) for_each_item<1>(x, items, fetch<Id, true>{s, v, order, ordered}, access_mode::merged);
  }

  template <class Id>
  void induced(blocks::parts& b, std::uint32_t r) {
    hop_of_relation s = shared(b, 0, r);
    blocks::parts::of_relation& into = b.relations[r];
    s.all = true, s.keeps = true, s.keeps_edge = o.edge_ids;
    s.row = into.rows(), s.col = into.cols();
    if (o.edge_ids) s.edge = into.edge.data();
    csr_view<Id> const v = relations[r].lists.template view<Id>();
    if (!v.targets.packed) list_all<Id, false>(s, v);
    else if constexpr (sizeof(Id) == 4) list_all<Id, true>(s, v);
    number<Id>(s, 0, false);
  }
  template <class Id, bool Packed>
  void list_all(hop_of_relation const& s, csr_view<Id> const& v) {
    item_count const drawing = counted(map.drawing(s.to), room.vertices[s.to]), items = counted(counter_map::items, room.items);
    for_each_item<32>(x, drawing, tally_induced<Id, Packed>{s, v}, o.access, true);
    scan(x, s.drawn, s.at, drawing);
    for_each_item<1>(x, 1, open_edges{s, s.at, map.drawing(s.to), true});
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
traffic block_sampler::parts::take_traffic() { return impl_->model.take(); }
std::uint64_t block_sampler::parts::bytes() const { return impl_->bytes(); }
std::uint64_t block_sampler::parts::vertices(std::uint32_t type) const {
  if (type >= impl_->types.size()) fail(errc::usage, "vertices of type {}: there are {} types", type, impl_->types.size());
  return impl_->types[type].vertices;
}

void block_sampler::parts::start(blocks::parts& b, std::uint64_t number, std::span<typed_seeds const> seeds, bool near) {
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
  bool too_small = !s.sized;
  std::uint64_t first = 0;
  for (auto const& [type, ids, times] : seeds) {
    b.groups.push_back(
        {type, first, ids.size(), staged(b.seed_room, first, ids), times.empty() ? nullptr : staged(b.time_room, first, times)});
    too_small |= s.room.vertices[type] < count || (s.o.disjoint && 2 * s.room.vertices[type] < count);  // seeds always have room
    first += ids.size();
  }
  if (too_small) s.guess(count);
  s.give(b);
  b.pending = true;
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
    if (!c[counter_map::over]) break;
    s.x.wait();
    s.grow(c, b.number, b.seeds);
    s.give(b);
  }
  std::uint64_t const* const c = b.counted.data();
  counter_map const& map = s.map;
  b.drawn = c[counter_map::drawn];
  if (s.x.on_device()) b.ms = b.begun.ms_until(b.done);
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
    e.count = c[map.edges(r)];
    e.by_hop.clear();
    for (std::uint32_t h = 0; h < map.hops; ++h) {
      std::uint64_t const n = c[map.history(h + 1) + map.types + r] - c[map.history(h) + map.types + r];
      if (!s.o.induced) e.by_hop.push_back(n), s.relations[r].seen[h] = std::max(s.relations[r].seen[h], n);
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
