// What samples blocks: the inside of the contract's block_sampler and blocks, for Garner's own rooms.
// Nothing waits: how many vertices and edges there are stays where the next loop reads it, and the host learns it when it asks (finish).
// Room is made for what mini-batches took so far; one that takes more is sampled again with more room, and has the same bits. Invariant:
// vertices stand in the order in which they are first drawn, edges in that of the vertices that drew them: the same bits at every place and
// for any number of threads. Cost: 45 bytes an edge of a hop and 12 a vertex of working memory, 4 bytes a vertex of the graph (disjoint: 40
// to 80 a vertex of the mini-batch, at first for as many as fanouts allow); a far read of a sector an edge where lists are longer than the
// fanout.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "access/traffic.hpp"
#include "core/event.hpp"
#include "core/executor.hpp"
#include "garner/blocks.hpp"
#include "garner/split.hpp"
#include "graph/graph.hpp"
#include "graph/placed.hpp"
#include "memory/buffer.hpp"
#include "memory/pin.hpp"

namespace garner {

struct blocks::parts {
  struct of_type {
    buffer<std::int64_t> ids;
    buffer<std::uint32_t> tree;
    blocks::vertices seen;
  };
  struct of_relation {
    buffer<std::int64_t> pairs, edge;  // of pairs the first half are rows, the second columns: one array of two dimensions
    blocks::edges seen;
    std::int64_t* rows() const { return pairs.data(); }
    std::int64_t* cols() const { return pairs.empty() ? nullptr : pairs.data() + pairs.size() / 2; }
  };
  std::vector<of_type> types;
  std::vector<of_relation> relations;
  std::uint64_t number = 0, seeds = 0, drawn = 0;
  place where;
  // Of the work that was given: seeds and times where the place reads them, counters where the host does.
  struct group {  // of one type; the first of them is seed number `first` of all
    std::uint32_t type;
    std::uint64_t first, count;
    std::int64_t const *seeds, *times;
  };
  std::vector<group> groups;
  buffer<std::int64_t> seed_room, time_room;
  buffer<std::uint64_t> counted;
  event begun, done;
  double ms = 0;  // of the work, by the clock of where it ran
  bool pending = false;
  std::uint32_t together = 1;  // mini-batches that were drawn with it

  parts() = default;
  parts(parts const&) = delete;
  ~parts() {
    try {
      done.wait();
    } catch (...) {  // of a device that is gone, or a process that was forked
    }
  }
};

// Whose lists are drawn from, inside.
struct inner_relation {
  graph const* g = nullptr;
  edge_lists const* lists = nullptr;
  std::uint32_t from = 0, to = 0;
  std::vector<std::int64_t> fanouts;
  std::span<std::int64_t const> times;
  bool in_time_order = false;  // as sampled_relation has it
  // Lists that lie with others: g tells no more than sizes, and what was drawn of them comes by parts::take().
  bool elsewhere = false;
  // Of a part of a graph: what its vertices are called where draws are keyed; empty: the first of them, and those behind it.
  std::span<std::uint64_t const> names = {};
  std::uint64_t first_name = 0, first_edge = 0;
  // Of a graph in another order inside, to name edges: entry i of the list of v is edge first_edge + begins[v] + places[i]; begins empty:
  // the lists here have that order.
  std::span<std::uint64_t const> begins = {};
  std::span<std::uint32_t const> places = {};
  std::shared_ptr<void const> owner = {};  // of what these refer to, and times
};

// Room that a sampler makes: edges of a hop, of all mini-batches that are drawn together; of one of them vertices by type and edges by
// relation.
struct sampler_rooms {
  std::uint64_t items = 0;
  std::vector<std::uint64_t> vertices = {}, edges = {};
};
struct sampled_size {  // of a relation
  std::uint64_t edges = 0;
  std::vector<std::int64_t> fanouts;
};
// Of a first mini-batch: what fanouts allow, within reason; what is too little is found out, and then it is a quarter more than was wanted.
sampler_rooms first_rooms(std::span<std::uint64_t const> types, std::span<sampled_size const> relations, block_options const& o,
                          std::uint64_t seeds, std::uint64_t batches);

void require_options(block_options const& o);  // errc::usage for options that do not go together
// errc::usage for fanouts out of range, or not of so many hops.
void require_fanouts(std::vector<std::int64_t> const& fanouts, std::size_t hops);

// Entries a vertex, for mini-batches that are drawn together, take no more bytes than this; beyond it what there is of vertices is hashed.
// Entries are the faster ones (0.14 ms a mini-batch near, hashed 0.20): a card has room for them, caches of a processor hold few.
std::uint64_t places_beyond(bool on_device, std::uint64_t free);

struct block_sampler::parts {
  // `renamed`: vertices are named by positions among the user's ids; else by internal ids.
  parts(place where, std::vector<sampled_type> types, std::vector<inner_relation> relations, block_options const& options, bool renamed);
  ~parts();

  executor& at();
  void hash_beyond(std::uint64_t bytes);  // of entries a vertex for mini-batches that are drawn together; for tests
  // `near`: all seeds are near, whatever the addresses look like; else what is in host memory is copied.
  void start(blocks::parts& into, std::uint64_t number, std::span<typed_seeds const> seeds, bool near);
  // The same in two steps, so that several mini-batches whose numbers follow each other are drawn together: as many as there is room for,
  // in one pass over the pages of the lists, and with as few launches as one.
  void prepare(blocks::parts& into, std::uint64_t number, std::span<typed_seeds const> seeds, bool near);
  void give(std::span<blocks::parts* const> prepared);
  void finish(blocks::parts& of);
  void discard(blocks::parts& of) noexcept;  // what was given and nobody will ask for

  // --- lists that are split over processes (garner/split.hpp); these wait ---
  // Where the lists lie, of type 1, drawn by type 0: what the hop of these mini-batches draws for own vertices.
  list_draws draw(std::uint64_t number, std::uint32_t hop, std::span<std::int64_t const> vertices, std::span<std::uint32_t const> batches);
  // Where mini-batches are made, whose relation is `elsewhere`: draws them together, as far as what came goes. At their end they are as
  // after give(). Where one throws, begin() starts anew.
  void begin(std::span<blocks::parts* const> prepared);
  void take(list_draws came);
  list_asks const& asks() const;

  traffic take_traffic();
  bool far() const;  // lists of some relation lie beyond the link
  std::uint64_t bytes() const;
  double bytes_each() const;                          // of the rooms, for each of the mini-batches that are sampled together
  std::uint64_t vertices(std::uint32_t type) const;   // errc::usage where there is no such type
  std::uint64_t edges(std::uint32_t relation) const;  // the same; errc::usage too where edges are not named

  struct impl;
  std::unique_ptr<impl> impl_;
  std::string about;
  std::vector<std::string> kept_near;  // a relation each, in words; empty: none of its lists
  std::uint64_t fingerprint = 0;       // of what decides the bits: options, fanouts, sizes of graphs
};

}  // namespace garner
