// What the loops of one hop over one relation share: counters, which stay where the next loop reads them, local numbers, and arrays.
// Invariant: place[v] is the local number of v, or none. While a hop runs, a vertex without a number holds base + the first edge that
// sampled it; base exceeds every number so far. The smallest wins, in any order of threads.
#pragma once
#include <cstdint>

#include "core/exec.hpp"
#include "core/random.hpp"
#include "graph/graph.hpp"

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

}  // namespace garner::drawing
