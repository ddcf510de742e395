// Mini-batches of a GNN: seeds in, blocks out. A block is what one hop drew: the vertices that drew, the vertices that they drew, and an
// edge from each of these to its target, by local numbers. The data may lie in any tier; the same bits at every place. Sources: GraphSAGE,
// NeurIPS 2017; LABOR-0: Balin and Catalyurek, NeurIPS 2023; what comes out is what PyG calls a SamplerOutput.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "garner/detail/held.hpp"
#include "garner/handle.hpp"
#include "garner/place.hpp"
#include "garner/sample.hpp"
#include "garner/stream.hpp"
#include "garner/traffic.hpp"

namespace garner {

enum class list_side : std::uint8_t {
  in,   // a vertex draws from those that lead to it (message passing; of an undirected graph both are the same)
  out,  // ... from those that it leads to
};
// Among neighbours that are no later than the seed.
enum class temporal_rule : std::uint8_t { uniform, last };

struct block_options {
  std::uint64_t seed = 1;
  hop_rule rule = hop_rule::last;
  bool replace = false;                   // a neighbor may be drawn again; else all different, and all of them where they are no more;
                                          // where all are wanted (-1) each comes once in any case
  bool disjoint = false;                  // a tree a seed: vertices of different seeds are different ones
  bool weighted = false;                  // drawn by the weights of the edges; one of weight 0 never is
  bool labor = false;                     // LABOR: a node keeps the neighbors of the smallest random numbers, one a neighbor and
                                          // mini-batch, so that nodes keep the same ones and a mini-batch has fewer; not with replace,
                                          // weighted or temporal
  std::optional<temporal_rule> temporal;  // makes trees disjoint; needs times
  bool edges = true;                      // false: the vertices alone
  bool edge_ids = false;                  // where each edge stands in the lists that were drawn from, as lists_of() gives them
  bool inner_edge_ids = false;            // as they lie inside instead, for Garner's own rooms
  bool induced = false;                   // then, instead of what was drawn, all edges among the vertices that were
  access_mode access = access_mode::aligned;
  std::optional<tier> lists;  // where the lists lie; unset: where they are
  // Bytes of far lists that are kept near a device. Unset: none. They are those that are read most by `scores`, as scores() gives them: how
  // often each vertex draws; one each, in the order of ids() (of several types: sampled_type's). Telling where a list is takes 8 bytes a
  // vertex besides. Without scores: the first lists, which is right where the graph is ordered by degree or score (reorder_graph).
  std::optional<std::uint64_t> device_budget;
  std::span<float const> scores = {};
};

// A type of vertices, and a relation between two: its lists belong to vertices of type `to` and hold vertices of type `from`.
struct sampled_type {
  std::uint64_t vertices = 0;
  std::span<std::int64_t const> times = {};  // one a vertex, in the order of ids(); empty: none
  std::span<float const> scores = {};        // as block_options::scores; read while the sampler is made
};
struct sampled_relation {
  graph_handle const* lists = nullptr;
  list_side side = list_side::in;
  std::uint32_t from = 0, to = 0;
  std::vector<std::int64_t> fanouts = {};    // a hop each: drawn a vertex; 0: none, -1: all
  std::span<std::int64_t const> times = {};  // one an edge, in the order of lists_of(); empty: none
  // Each list has its edges, or else its neighbors, in the order of their times (make_adjacency's times): then temporal sampling searches a
  // list where it else looks at each of its entries. Nobody checks that.
  bool in_time_order = false;
};

// Seeds of one type: positions of its vertices. `times`: one a seed, where sampling is temporal; empty: those of the seeds' own.
struct typed_seeds {
  std::uint32_t type = 0;
  std::span<std::int64_t const> seeds = {};
  std::span<std::int64_t const> times = {};
};

// What one mini-batch drew. Arrays are near the place that sampled and stay until the next start() into it.
class blocks {
 public:
  struct vertices {
    std::int64_t const* ids = nullptr;    // positions among graph_handle::ids(); the seeds first, then as they were reached
    std::uint32_t const* tree = nullptr;  // disjoint: which seed each belongs to
    std::uint64_t count = 0;
    std::vector<std::uint64_t> by_hop;  // seeds, then how many each hop reached first: block k has the first k + 2 of them
  };
  struct edges {
    std::int64_t const* row = nullptr;   // local numbers: the neighbour, among the vertices of type `from` ...
    std::int64_t const* col = nullptr;   // ... and who drew it, among those of type `to`; in the order of hops, then of `col`; in the same
                                         // allocation, behind `row`
    std::int64_t const* edge = nullptr;  // with edge_ids: where it stands in lists_of()
    std::uint64_t count = 0;
    std::vector<std::uint64_t> by_hop;
  };
  blocks();
  ~blocks();
  blocks(blocks&&) noexcept;
  blocks& operator=(blocks&&) noexcept;

  // After finish().
  vertices const& of_type(std::size_t k) const;
  edges const& of_relation(std::size_t k) const;
  std::uint64_t number() const, seeds() const;
  double ms() const;  // what the work took, by the clock of where it ran
  place where() const;

  struct parts;
  parts& inside() const { return *parts_; }

 private:
  detail::held<parts> parts_;
};

// Draws mini-batches. What a vertex draws is a function of (seed, mini-batch, hop, relation, vertex, tree): the same for any number of
// threads and at every place. Calls from one thread at a time. Lists, times and weights must outlive it.
class block_sampler {
 public:
  // errc::usage for options that contradict each other, fanouts out of range, or lists that cannot be read there; errc::input where a graph
  // lacks the in-lists, weights or times that are asked for.
  block_sampler(place where, std::vector<sampled_type> types, std::vector<sampled_relation> relations, block_options const& options = {});
  // Of one graph; its weights, and `times` of its vertices.
  block_sampler(place where, graph_handle const& g, std::vector<std::int64_t> fanouts, block_options const& options = {},
                list_side side = list_side::in, std::span<std::int64_t const> times = {});
  ~block_sampler();
  block_sampler(block_sampler&&) noexcept;
  block_sampler& operator=(block_sampler&&) noexcept;

  // Mini-batch `number` of these seeds, positions of vertices of type `type`; a seed that stands twice is there twice. `times`: one a seed,
  // where sampling is temporal; empty: those of the seeds' own.
  blocks sample(std::uint64_t number, std::span<std::int64_t const> seeds, std::uint32_t type = 0,
                std::span<std::int64_t const> times = {});
  // Seeds of several types, as the ends of edges are: each type at most once. Positions and trees are counted through, in this order.
  blocks sample_types(std::uint64_t number, std::span<typed_seeds const> seeds);
  // The same in two halves. start() gives the work and does not wait: seeds are copied, if they are in host memory, and stay the caller's
  // until finish(), if they are near. finish() waits for that work alone. errc::input names a seed that is no vertex, its position and the
  // mini-batch; the sampler is then as it was.
  void start(blocks& into, std::uint64_t number, std::span<std::int64_t const> seeds, std::uint32_t type = 0,
             std::span<std::int64_t const> times = {});
  void start_types(blocks& into, std::uint64_t number, std::span<typed_seeds const> seeds);
  void finish(blocks& of);
  void work_on(stream_ref stream);  // a stream of the caller's, from here on; empty: its own

  place where() const;
  std::uint64_t vertices(std::uint32_t type) const;
  std::uint64_t bytes() const;  // near memory of its own, now
  std::string about() const;    // one line: where the lists lie, and which are kept near
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
  double amount = 1;            // negatives an edge; binary: of all edges together, rounded up
  bool never_positive = false;  // none is an edge of the graph, however few are left; where none is, errc::input says of which vertex
  std::uint64_t seed = 1;
};
// Draws pairs (binary) or targets for each source (triplet: amount a source, source by source), uniform over the vertices of each type.
struct vertex_pairs {
  std::vector<std::int64_t> sources, targets;  // triplet: targets alone
};
vertex_pairs draw_negatives(std::uint64_t number, std::span<std::int64_t const> sources, std::uint64_t source_vertices,
                            std::uint64_t target_vertices, negative_options const& options, graph_handle const* g = nullptr);

// --- random walks ---
// node2vec's (Grover and Leskovec, KDD 2016): the step behind t, v goes to a neighbor x of v with a chance in proportion to 1 / p where x
// is t, to 1 where x leads to t, else to 1 / q. With p = q = 1 every edge is as likely.
struct random_walk_options {
  place where;
  access_mode access = access_mode::aligned;
  std::optional<tier> edges;        // where they lie; unset: where they are
  list_side side = list_side::out;  // a step leads along an edge, or against it
  double p = 1, q = 1;              // 0.001 to 1,000
  std::uint64_t seed = 1;           // a walk is a function of it and of its place among the starts, the same at every place
  bool edge_ids = false;            // of a graph in natural order
};
struct random_walks {
  std::vector<std::int64_t> nodes;  // walk by walk, length + 1 each, positions among graph.ids(), the start first; a walk stays at a node
                                    // without neighbors
  std::vector<std::int64_t> edges;  // edge_ids: length each, where the edge stands in the lists; -1 where the walk stays
};
// errc::usage for options out of range and lists that cannot be read there, errc::input for a start that is no vertex or a directed graph
// without in-lists.
random_walks walk_randomly(graph_handle const& g, std::span<std::int64_t const> starts, std::uint32_t length,
                           random_walk_options const& options = {});

}  // namespace garner
