// Neighbour sampling into blocks: seeds in, vertices and edges by local numbers out, at any place, from lists in any tier, plain or packed, of
// one relation or several.
// Nothing waits: how many vertices and edges there are stays where the next step reads it, and the host learns it when it asks (finish). Room
// is made for what mini-batches took so far; one that takes more is sampled again with more room, and has the same bits.
// Invariants: what a vertex draws is a function of (seed, mini-batch, hop, relation, vertex, and of a disjoint tree its number); vertices stand
// in the order in which they are first drawn, edges in the order of the vertices that drew them: the same bits at every place and for any
// number of threads.
// Cost: an item is a draw; 25 bytes an item and 8 a vertex of working memory, 4 bytes a vertex of the graph; a far read of a sector an item.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "access/traffic.hpp"
#include "core/executor.hpp"
#include "garner/sample.hpp"
#include "graph/graph.hpp"
#include "graph/placed.hpp"
#include "memory/buffer.hpp"

namespace garner {

// Whose lists are drawn from, as the place that samples reads them.
struct sampled_lists {
  graph const* g = nullptr;
  edge_lists const* lists = nullptr;
  std::uint32_t from = 0, to = 0;           // types: a list belongs to a vertex of type `to` and holds vertices of type `from`
  std::vector<std::int64_t> fanouts;        // one a hop; -1: all neighbours; 0: none
  std::int64_t const* edge_times = nullptr; // one an arc, in the order of the lists, readable at the place; null: none
};
struct sampled_vertices {
  std::uint64_t count = 0;
  std::int64_t const* times = nullptr;  // one a vertex, near; null: none
};

struct block_options {
  std::uint64_t seed = 1;
  hop_rule rule = hop_rule::last;
  bool replace = false;
  bool disjoint = false;
  bool weighted = false;  // draws by the weights of the arcs, without replacement
  std::optional<temporal_rule> temporal;
  bool edges = true;     // false: vertices alone
  bool edge_ids = false;  // where each edge stands in its lists
  bool induced = false;   // after the last hop: all edges between the vertices that were drawn
};

// What one mini-batch drew. Buffers are near; counts are known after finish().
struct sampled_blocks {
  struct of_type {
    buffer<std::int64_t> vertices;      // targets first
    buffer<std::uint32_t> tree;         // disjoint: which seed each belongs to
    std::uint64_t count = 0;
    std::vector<std::uint64_t> by_hop;  // new ones: seeds, first hop ...
  };
  struct of_relation {
    buffer<std::int64_t> row, col, edge;  // local numbers of the neighbour and of the vertex that drew it; where the edge stands
    std::uint64_t count = 0;
    std::vector<std::uint64_t> by_hop;
  };
  std::vector<of_type> types;
  std::vector<of_relation> relations;
  std::uint64_t number = 0, seeds = 0, edges_drawn = 0;
  std::uint32_t seed_type = 0;

  sampled_blocks() = default;
  sampled_blocks(sampled_blocks&&) noexcept = default;
  sampled_blocks& operator=(sampled_blocks&&) noexcept = default;
  ~sampled_blocks();

 private:
  friend class block_sampler;
  buffer<std::int64_t> seed_ids, seed_times;
  buffer<std::uint64_t> seen;  // the counters, where the host reads them
  void* done = nullptr;
  int device = -1;
};

class block_sampler {
 public:
  // errc::usage for options that contradict each other, or lists that cannot be read there. What it is given must outlive it.
  block_sampler(place where, access_mode access, std::vector<sampled_vertices> types, std::vector<sampled_lists> relations,
                block_options const& options, request_sink* sink = nullptr);
  ~block_sampler();
  block_sampler(block_sampler&&) noexcept;

  executor& at();
  // Gives the work of mini-batch `number`. `seeds`: ids of type `type`, in host memory or near; read when the call returns, unless they are
  // near. `times`: of the seeds, where sampling is temporal.
  void start(sampled_blocks& into, std::uint64_t number, std::span<std::int64_t const> seeds, std::uint32_t type = 0,
             std::span<std::int64_t const> times = {}, bool seeds_are_near = false);
  // Waits until it is done. errc::input names a seed that is no vertex, and its place.
  void finish(sampled_blocks& of);

  // Near memory for mini-batches of so many seeds, at the most.
  std::uint64_t most_bytes(std::uint64_t seeds) const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace garner
