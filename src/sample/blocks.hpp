// Samples blocks: the internals of the contract's block_sampler and blocks, for Garner's own modules. No call waits: counts of vertices and
// edges stay where the next loop reads them, and the host learns them in finish(). Buffers have the size that mini-batches needed so far. A
// mini-batch that needs more is sampled again with larger buffers, and has the same bits.
// Invariant: vertices are in the order in which they are first sampled, edges in that of the vertices that sampled them. The bits are the
// same on every device and for any number of threads.
// Cost: 45 bytes per edge of a hop and 12 per vertex of working memory, 4 bytes per vertex of the graph (disjoint: 40 to 80 per vertex of
// the mini-batch, initially for as many as fanouts allow); one remote sector read per edge where lists are longer than the fanout.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/event.hpp"
#include "core/executor.hpp"
#include "far/traffic.hpp"
#include "garner/shards.hpp"
#include "garner/subgraph.hpp"
#include "graph/graph.hpp"
#include "graph/placed.hpp"
#include "memory/buffer.hpp"
#include "memory/pin.hpp"

namespace garner {

class split_stages;

struct sampled_subgraph::parts {
  struct of_type {
    buffer<std::int64_t> ids;
    buffer<std::uint32_t> tree;
    sampled_subgraph::vertices seen;
  };
  struct of_relation {
    buffer<std::int64_t> pairs, edge;  // of pairs the first half are rows, the second columns: one array of two dimensions
    sampled_subgraph::edges seen;
    std::int64_t* rows() const { return pairs.data(); }
    std::int64_t* cols() const { return pairs.empty() ? nullptr : pairs.data() + pairs.size() / 2; }
  };
  std::vector<of_type> types;
  std::vector<of_relation> relations;
  std::uint64_t number = 0, seeds = 0, drawn = 0;
  execution_device where;
  // Input of the current call: seeds and times where the device reads them, counters where the host does.
  struct group {  // of one type; the first of them is seed number `first` overall
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
  std::uint32_t together = 1;  // mini-batches sampled with it

  parts() = default;
  parts(parts const&) = delete;
  ~parts() {
    try {
      done.wait();
    } catch (...) {  // the device is lost, or the process was forked
    }
  }
};

// Adjacency that is sampled, internal.
struct inner_relation {
  graph const* g = nullptr;
  edge_lists const* lists = nullptr;
  std::uint32_t from = 0, to = 0;
  std::vector<std::int64_t> fanouts;
  std::span<std::int64_t const> times;
  bool in_time_order = false;  // as sampled_relation has it
  // Adjacency owned by others: g holds sizes only, and sampled edges come by parts::take().
  bool elsewhere = false;
  // For a part of a graph: names of its vertices, which key the random numbers. Empty: consecutive, from the first of them on.
  std::span<std::uint64_t const> names = {};
  std::uint64_t first_name = 0, first_edge = 0;
  // For a reordered graph, to name edges: entry i of the list of v is edge first_edge + begins[v] + places[i]; begins empty: the lists here
  // have the user's order.
  std::span<std::uint64_t const> begins = {};
  std::span<std::uint32_t const> places = {};
  std::shared_ptr<void const> owner = {};  // of what these refer to, and times
};

// Capacity of a sampler's buffers: edges per hop, for all mini-batches sampled together; per mini-batch, vertices by type and edges by
// relation.
struct sampler_rooms {
  std::uint64_t items = 0;
  std::vector<std::uint64_t> vertices = {}, edges = {};
};
struct sampled_size {  // of a relation
  std::uint64_t edges = 0;
  std::vector<std::int64_t> fanouts;
};
// Capacity for a first mini-batch: what fanouts allow, within reason. If it is exceeded, it grows to 1.25 times the need.
sampler_rooms first_rooms(std::span<std::uint64_t const> types, std::span<sampled_size const> relations, block_options const& o,
                          std::uint64_t seeds, std::uint64_t batches);

void require_options(block_options const& o);  // errc::usage for options that do not go together
// errc::usage for fanouts out of range, or not of so many hops.
void require_fanouts(std::vector<std::int64_t> const& fanouts, std::size_t hops);

// Limit in bytes of the per-vertex entries of mini-batches sampled together; beyond it vertices are hashed. Entries are faster (0.14 ms per
// mini-batch in GPU memory, hashed 0.20): GPU memory has space for them, processor caches hold few.
std::uint64_t places_beyond(bool on_device, std::uint64_t free);

struct block_sampler::parts {
  // `renamed`: vertices are named by positions among the user's ids; else by internal ids.
  parts(execution_device where, std::vector<sampled_type> types, std::vector<inner_relation> relations, block_options const& options,
        bool renamed);
  ~parts();

  executor& at();
  void hash_beyond(std::uint64_t bytes);  // per-vertex entries of mini-batches sampled together; for tests
  // `near`: all seeds are in device memory, whatever their addresses suggest; otherwise seeds in host memory are copied.
  void start(sampled_subgraph::parts& into, std::uint64_t number, std::span<typed_seeds const> seeds, bool near);
  // The same in two steps, so that several mini-batches with consecutive numbers are sampled together: as many as memory allows, in one
  // pass over the pages of the adjacency, with as few launches as one.
  void prepare(sampled_subgraph::parts& into, std::uint64_t number, std::span<typed_seeds const> seeds, bool near);
  void give(std::span<sampled_subgraph::parts* const> prepared);
  void finish(sampled_subgraph::parts& of);
  void discard(sampled_subgraph::parts& of) noexcept;  // discards pending results

  split_stages& split();  // over adjacency that other processes own (sample/split_stages.hpp); these wait

  traffic take_traffic();
  bool far() const;  // lists of some relation lie beyond the link
  std::uint64_t bytes() const;
  double bytes_each() const;                          // of the buffers, for each of the mini-batches sampled together
  std::uint64_t vertices(std::uint32_t type) const;   // errc::usage where the type does not exist
  std::uint64_t edges(std::uint32_t relation) const;  // the same; errc::usage too where edges are not named

  struct impl;
  std::unique_ptr<impl> impl_;
  std::string about;
  std::vector<std::string> kept_near;  // a relation each, in words; empty: none of its lists
  std::uint64_t fingerprint = 0;       // of what decides the bits: options, fanouts, sizes of graphs
};

}  // namespace garner
