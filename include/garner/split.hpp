// Mini-batches of a graph whose adjacency is split over processes by vertices. A graph_part holds the adjacency of one block of vertices.
// A split_sampler serves sampling requests for its part, and builds its own mini-batches from the results. The caller transports messages
// between processes: per hop, node ids to the owners of their adjacency (asks), and the sampled neighbors back (take).
// Invariant: a mini-batch has the same bits as block_sampler's over the whole graph, for any split.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "garner/blocks.hpp"
#include "garner/detail/held.hpp"
#include "garner/handle.hpp"
#include "garner/shards.hpp"

namespace garner {

struct part_options {
  list_side side = list_side::in;
  shard_balance balance = shard_balance::edges;  // the quantity that is balanced between parts
  bool weights = false;                          // keep edge weights too, for weighted sampling
};

// The adjacency of a block of vertices, in host memory or on a device. Vertices are named by their positions among all ids().
class graph_part {
 public:
  // Part `part` of the graph, which may be destroyed afterwards. If the graph stays in its file, only the part is read. errc::usage for
  // a part that does not exist; errc::input if the graph lacks requested in-edges or weights.
  graph_part(graph_handle const& g, std::uint32_t part, std::uint32_t of, part_options const& options = {});
  // From arrays: the vertices from `first` on, of `vertices` in all; targets by position; one weight per edge, or none. `first_edge`:
  // number of edges of earlier vertices, of `edges` in all. errc::input for descending offsets and for targets that do not exist.
  struct arrays {
    std::uint64_t first = 0, vertices = 0, first_edge = 0, edges = 0;
    std::span<std::int64_t const> offsets = {}, targets = {};  // offsets start at 0, one more than there are vertices here
    std::span<float const> weights = {};
  };
  explicit graph_part(arrays const& lists);
  ~graph_part();
  graph_part(graph_part&&) noexcept;
  graph_part& operator=(graph_part&&) noexcept;

  std::uint64_t first() const, count() const, edges() const;  // of this part
  std::uint64_t all_vertices() const, all_edges() const;      // of all parts
  // A digest shared by all parts of one graph: of its sizes, degrees and order; 0 for arrays.
  std::uint64_t digest() const;
  std::uint64_t bytes() const;                                 // of its adjacency and its vertex metadata
  void bring_to(place where, std::optional<tier> edges = {});  // as bring_to() of a graph; errc::usage once a sampler uses it

  struct parts;
  std::shared_ptr<parts> const& inside() const { return parts_; }

 private:
  std::shared_ptr<parts> parts_;  // shared with the samplers
};

// One hop's sampling requests: node positions, and the mini-batch of each. `more`: a hop follows, whose request may be empty.
struct list_asks {
  bool more = false;
  std::uint32_t hop = 0;
  std::vector<std::int64_t> vertices;
  std::vector<std::uint32_t> batches;
};
// The sampled neighbors: counts per node, the neighbors contiguously, and with edge_ids the index of each edge in the whole graph's
// adjacency.
struct list_draws {
  std::vector<std::uint32_t> counts;
  std::vector<std::int64_t> neighbours, edges;
};

// Call it from one thread at a time; every call blocks. It shares the part's adjacency, so the part may be destroyed or moved.
class split_sampler {
 public:
  static constexpr std::uint64_t most_together = 64;

  // Options used: seed, replace, weighted, labor, edges, edge_ids, access, lists. errc::usage for others, and as block_sampler. With labor,
  // a reordered graph gives other neighbors than the whole graph.
  split_sampler(place where, graph_part const& part, std::vector<std::int64_t> fanouts, block_options const& options = {});
  ~split_sampler();
  split_sampler(split_sampler&&) noexcept;
  split_sampler& operator=(split_sampler&&) noexcept;

  // Serves a request: hop `hop` of mini-batches number + batches[i] for vertices[i]. errc::input for a vertex of another part.
  list_draws draw(std::uint64_t number, std::uint32_t hop, std::span<std::int64_t const> vertices, std::span<std::uint32_t const> batches);
  // For this process: mini-batches number, number + 1 ... of these seeds, 1 to most_together of them, into these. errc::input for a seed
  // that does not exist.
  void begin(std::uint64_t number, std::vector<std::span<std::int64_t const>> const& seeds, std::vector<blocks> into);
  list_asks const& asks() const;
  void take(list_draws came);    // the results for asks(), in its order; errc::input if they do not match
  std::vector<blocks> finish();  // once asks().more is false

  place where() const;
  std::uint64_t bytes() const;        // device memory that it holds now
  std::uint64_t fingerprint() const;  // of everything that determines the samples: must be equal in all processes

  struct parts;

 private:
  detail::held<parts> parts_;
};

}  // namespace garner
