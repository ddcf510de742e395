// Mini-batches of a GNN: seeds in, a sampled subgraph out: its nodes by hop, and an edge from each sampled neighbor to its target, by
// local index. The data may lie in any tier; all devices return the same bits. Sources: GraphSAGE,
// NeurIPS 2017; LABOR-0: Balin and Catalyurek, NeurIPS 2023. The result is what PyG calls a SamplerOutput.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "garner/detail/held.hpp"
#include "garner/device.hpp"
#include "garner/handle.hpp"
#include "garner/sample.hpp"
#include "garner/stream.hpp"
#include "garner/traffic.hpp"

namespace garner {

enum class edge_direction : std::uint8_t {
  in,   // a node samples its in-neighbors (message passing; both sides are the same in an undirected graph)
  out,  // a node samples its out-neighbors
};
// Only neighbors that are no later than the seed.
enum class temporal_rule : std::uint8_t { uniform, last };

struct block_options {
  std::uint64_t seed = 1;
  hop_rule rule = hop_rule::last;
  bool replace = false;                   // sample with replacement; false: distinct neighbors, or all of them if fewer than the fanout;
                                          // fanout -1 takes each neighbor once in any case
  bool disjoint = false;                  // one tree per seed: trees do not share nodes
  bool weighted = false;                  // sample in proportion to edge weights; an edge of weight 0 is never sampled
  bool labor = false;                     // LABOR: a node keeps the neighbors with the smallest random numbers, one number per neighbor and
                                          // mini-batch. Nodes share neighbors, so a mini-batch has fewer of them; excludes replace,
                                          // weighted and temporal
  std::optional<temporal_rule> temporal;  // makes trees disjoint; needs times
  bool edges = true;                      // false: nodes only
  bool edge_ids = false;                  // also the index of each edge in the sampled adjacency, as adjacency_of() returns it
  bool inner_edge_ids = false;            // the index in internal order instead, for Garner's own modules
  bool induced = false;                   // returns all edges among the sampled nodes instead of the sampled edges
  std::optional<tier> adjacency;          // the memory tier of the adjacency; unset: where it is
  // Bytes of remote adjacency cached in GPU memory. Unset: none. `scores` selects the nodes sampled from most often: one predicted access
  // frequency per node, as scores() returns it, in the order of ids() (with several types: sampled_type's). The lookup table costs another
  // 8 bytes per node. Without scores the first nodes are cached, which suits a graph ordered by degree or score (reorder_graph).
  std::optional<std::uint64_t> graph_cache;
  std::span<float const> scores = {};
};

// A node type, and a relation between two: its adjacency has one list per node of type `to`, which holds nodes of type `from`.
struct sampled_type {
  std::uint64_t vertices = 0;
  std::span<std::int64_t const> times = {};  // one per node, in the order of ids(); empty: none
  std::span<float const> scores = {};        // as block_options::scores; read by the sampler's constructor
};
struct sampled_relation {
  graph_handle const* adjacency = nullptr;
  edge_direction side = edge_direction::in;
  std::uint32_t from = 0, to = 0;
  std::vector<std::int64_t> fanouts = {};    // one per hop: neighbors per node; 0: none, -1: all
  std::span<std::int64_t const> times = {};  // one per edge, in the order of adjacency_of(); empty: none
  // Each list is in the order of its edges' or its neighbors' times (make_adjacency's `times`). Temporal sampling then searches a list
  // instead of scanning it. The order is not checked.
  bool in_time_order = false;
};

// Seeds of one type: node positions. `times`: one per seed, for temporal sampling; empty: the seeds' own times.
struct typed_seeds {
  std::uint32_t type = 0;
  std::span<std::int64_t const> seeds = {};
  std::span<std::int64_t const> times = {};
};

// The result of one mini-batch. Arrays are in the memory of the sampling device and stay valid until the next start() with this object.
class sampled_subgraph {
 public:
  struct vertices {
    std::int64_t const* ids = nullptr;    // positions among graph_handle::ids(); seeds first, then in the order of discovery
    std::uint32_t const* tree = nullptr;  // disjoint: the seed that each node belongs to
    std::uint64_t count = 0;
    std::vector<std::uint64_t> by_hop;  // seeds, then the new nodes of each hop: block k has the first k + 2 entries
  };
  struct edges {
    std::int64_t const* row = nullptr;   // local index of the neighbor, among the nodes of type `from`
    std::int64_t const* col = nullptr;   // local index of the target, among those of type `to`; ordered by hop, then by `col`; in the same
                                         // allocation, after `row`
    std::int64_t const* edge = nullptr;  // with edge_ids: index in adjacency_of()
    std::uint64_t count = 0;
    std::vector<std::uint64_t> by_hop;
  };
  sampled_subgraph();
  ~sampled_subgraph();
  sampled_subgraph(sampled_subgraph&&) noexcept;
  sampled_subgraph& operator=(sampled_subgraph&&) noexcept;

  // Valid after finish().
  vertices const& of_type(std::size_t k) const;
  edges const& of_relation(std::size_t k) const;
  std::uint64_t number() const, seeds() const;
  double ms() const;  // time of the work, by the clock of the device that ran it
  execution_device device() const;

  struct parts;
  parts& inside() const { return *parts_; }

 private:
  detail::held<parts> parts_;
};

// Samples mini-batches. The sample of a node depends only on (seed, mini-batch, hop, relation, node, tree): it is the same on every device
// and for any number of threads. Call it from one thread at a time. Adjacency, times and weights must outlive it.
class block_sampler {
 public:
  // errc::usage if options contradict each other, a fanout is out of range, or the device cannot read the adjacency; errc::input if a
  // graph lacks the in-edges, weights or times that the options need.
  block_sampler(execution_device device, std::vector<sampled_type> types, std::vector<sampled_relation> relations,
                block_options const& options = {});
  // For one graph: its weights, and `times` of its nodes.
  block_sampler(execution_device device, graph_handle const& g, std::vector<std::int64_t> fanouts, block_options const& options = {},
                edge_direction side = edge_direction::in, std::span<std::int64_t const> times = {});
  ~block_sampler();
  block_sampler(block_sampler&&) noexcept;
  block_sampler& operator=(block_sampler&&) noexcept;

  // Mini-batch `number` of these seeds, positions of nodes of type `type`; a repeated seed appears twice in it. `times`: one per seed, for
  // temporal sampling; empty: the seeds' own times.
  sampled_subgraph sample(std::uint64_t number, std::span<std::int64_t const> seeds, std::uint32_t type = 0,
                          std::span<std::int64_t const> times = {});
  // Seeds of several types, such as the ends of edges: each type at most once. Positions and trees are numbered across types, in order.
  sampled_subgraph sample_types(std::uint64_t number, std::span<typed_seeds const> seeds);
  // The same in two halves. start() submits the work without waiting: it copies seeds in host memory; seeds in device memory must stay
  // valid until finish(). finish() waits for that work only. errc::input names a seed that is not a node of its type, its position and the
  // mini-batch; the sampler is unchanged then.
  void start(sampled_subgraph& into, std::uint64_t number, std::span<std::int64_t const> seeds, std::uint32_t type = 0,
             std::span<std::int64_t const> times = {});
  void start_types(sampled_subgraph& into, std::uint64_t number, std::span<typed_seeds const> seeds);
  void finish(sampled_subgraph& of);
  void work_on(stream_ref stream);  // the caller's stream from here on; empty: the sampler's own

  execution_device device() const;
  std::uint64_t vertices(std::uint32_t type) const;
  std::uint64_t bytes() const;  // device memory that it holds now
  std::string about() const;    // one line: the tier of the adjacency, and which of it is cached
  traffic take_traffic();       // simulated: since the last call

  struct parts;
  parts& inside() const { return *parts_; }

 private:
  detail::held<parts> parts_;
};

// --- edges as seeds ---
enum class negative_kind : std::uint8_t { binary, triplet };
struct negative_options {
  negative_kind kind = negative_kind::binary;
  double amount = 1;            // negatives per edge; binary: for all edges together, rounded up
  bool never_positive = false;  // no negative is an edge of the graph; errc::input names a node for which no negative exists
  std::uint64_t seed = 1;
};
// Samples pairs (binary) or targets for each source (triplet: `amount` per source, in order), uniform over the nodes of each type.
struct vertex_pairs {
  std::vector<std::int64_t> sources, targets;  // triplet: targets only
};
vertex_pairs sample_negatives(std::uint64_t number, std::span<std::int64_t const> sources, std::uint64_t source_vertices,
                              std::uint64_t target_vertices, negative_options const& options, graph_handle const* g = nullptr);

// --- random walks ---
// node2vec (Grover and Leskovec, KDD 2016): the step from v, after t, goes to a neighbor x of v with a weight of 1 / p if x is t, of 1
// if t is a neighbor of x, else of 1 / q. With p = q = 1 all edges are equally likely.
struct random_walk_options {
  execution_device device;
  std::optional<tier> edges;                  // the memory tier of the edges; unset: where they are
  edge_direction side = edge_direction::out;  // a step follows an edge (out) or goes against it (in)
  double p = 1, q = 1;                        // 0.001 to 1,000
  std::uint64_t seed = 1;  // a walk depends only on the seed and its index in `starts`; all devices return the same walks
  bool edge_ids = false;   // for a graph in natural order
};
struct random_walks {
  std::vector<std::int64_t> nodes;  // walk by walk, length + 1 nodes each, positions among graph.ids(), start first; a walk stays at a node
                                    // without neighbors
  std::vector<std::int64_t> edges;  // edge_ids: `length` per walk, index of the edge in the adjacency; -1 where the walk stays
};
// errc::usage for options out of range or adjacency that the device cannot read; errc::input for a start that does not exist or a directed
// graph without in-edges.
random_walks walk_randomly(graph_handle const& g, std::span<std::int64_t const> starts, std::uint32_t length,
                           random_walk_options const& options = {});

}  // namespace garner
