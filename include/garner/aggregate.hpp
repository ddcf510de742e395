// Aggregation for custom layers, over the edges of a block or over one part of a graph. Forward, every target reduces the rows of its
// edges' sources; backward, every source reduces the gradients of its targets. No atomics: all devices return the same bits, except where
// a GPU fuses a multiplication and an addition.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "garner/detail/held.hpp"
#include "garner/device.hpp"
#include "garner/gnn.hpp"
#include "garner/shards.hpp"
#include "garner/stream.hpp"

namespace garner {

// Real: float or double.
template <class Real>
class block_aggregation {
 public:
  explicit block_aggregation(execution_device device);
  ~block_aggregation();
  block_aggregation(block_aggregation&&) noexcept;
  block_aggregation& operator=(block_aggregation&&) noexcept;

  // Memory that the device reads.
  struct edges {
    std::int64_t const *row = nullptr, *col = nullptr;  // from source number row[e] to target number col[e]; col ascends
    std::uint64_t count = 0;
    std::uint64_t targets = 0, sources = 0;  // gcn: the first sources are the targets
    Real const* weights = nullptr;           // one per edge, owned by the caller until the last backward(); null: all 1
    // gcn: the degree of each source. Without weights: its number of neighbors in the sampled graph; the edges of a target with fewer
    // neighbors here are scaled up for the missing ones. With weights: the sum of its edges' weights, without scaling. Null: the degrees
    // in these edges, which needs as many targets as sources.
    Real const* degrees = nullptr;
  };
  // Blocks until the edges are checked: errc::input names an edge whose ends do not exist or that is out of order.
  void take(edges const& e, aggregation how, stream_ref stream = {});
  // Reduces `sources` rows to `targets` rows of `columns` numbers, contiguous. sum, mean: over a target's neighbors, 0 without neighbors;
  // gcn: its own row too.
  void forward(Real const* in, Real* out, std::uint64_t columns, stream_ref stream = {});
  // Gradients of `sources` rows from those of `targets` rows.
  void backward(Real const* in, Real* out, std::uint64_t columns, stream_ref stream = {});

  execution_device device() const;

 private:
  struct impl;
  detail::held<impl> impl_;
};

extern template class block_aggregation<float>;
extern template class block_aggregation<double>;

// The element type of the rows of a list_sums. f16 and bf16 accumulate in float and round once.
enum class row_real : std::uint8_t { f32, f64, f16, bf16 };

// Aggregation over adjacency that the caller made and owns. No call keeps state or waits for the device, so a CUDA graph can capture
// it. Ends are not checked: an end beyond the last row reads memory out of bounds.
class list_sums {
 public:
  explicit list_sums(execution_device device);
  ~list_sums();
  list_sums(list_sums&&) noexcept;
  list_sums& operator=(list_sums&&) noexcept;

  struct lists {
    std::int64_t const* offsets = nullptr;  // items + 1: list i has the edges [offsets[i], offsets[i + 1])
    std::int32_t const* ends = nullptr;     // the row that each edge adds
    std::int64_t const* order = nullptr;    // the index of each edge's weight; null: in adjacency order
    std::uint64_t items = 0, edges = 0;
    std::uint64_t loops = 0;  // the first `loops` items also have an edge to themselves; the weights of these edges come last
  };
  // A row is `heads` times `columns` numbers, head by head, and an edge has one weight per head.
  struct shape {
    row_real kind = row_real::f32;
    std::uint64_t heads = 1, columns = 0;
  };
  enum class scale : std::uint8_t {
    none,
    mean,    // divides a sum by the length of its list
    shares,  // divides a row by the length of its own list, by end_offsets: the gradient of a mean
  };
  // Bytes of scratch that sum() needs for lists that take more than one team.
  static std::uint64_t scratch_bytes(lists const& l, shape const& s);
  // out[i] = sum of weight * in[end] over list i; zeros for an empty list. weights: float, or double with f64; null: all 1.
  // A loop adds row i of `own` (null: of `in`), times its weight or, without weights, 1 + *eps (null: 1); `by` does not apply to it.
  void sum(lists const& l, shape const& s, void const* in, void* out, void const* weights, scale by, std::int64_t const* end_offsets,
           void* scratch, stream_ref stream = {}, void const* own = nullptr, void const* eps = nullptr);
  // Gradients of the weights: per edge and head, the dot product of in[end] with the gradient of list i's sum (by: none, mean). `out` has
  // the layout of `weights`.
  void dot(lists const& l, shape const& s, void const* in, void const* gradients, void* out, scale by, stream_ref stream = {});

  // Attention. The score of an edge to item i is scores[head][end][0] + scores[head][i][1], times `slope` if negative; its weight is the
  // softmax over list i. Both sides have `items` entries. With loops, other edges from an item to itself have weight 0.
  // s.kind: f32 or f64, for all arrays; s.columns is not read.
  void soften(lists const& l, shape const& s, void const* scores, void* weights, double slope, stream_ref stream = {});
  // Gradients of the scores from those of the weights, which it overwrites. `back`: the same edges by their other end.
  void soften_back(lists const& l, lists const& back, shape const& s, void const* scores, void const* weights, void* gradients,
                   void* of_scores, double slope, stream_ref stream = {});

  execution_device device() const;

 private:
  struct impl;
  detail::held<impl> impl_;
};

// One part's side of an aggregation whose remote rows the caller exchanges (torch.distributed, MPI): the rows it needs, and the reduction.
// All parts use the same graph and options, and make the same calls. Any number of parts; at most 48 with deterministic reduction.
class shard_aggregation {
 public:
  // Reads the adjacency of the whole graph and keeps its own part. errc::usage as for split_report(); errc::input if a directed graph
  // lacks in-edges or the graph lacks weights.
  shard_aggregation(graph_handle const& g, edge_direction side, bool weighted, shard_options const& options, std::uint32_t shard,
                    execution_device device);
  ~shard_aggregation();
  shard_aggregation(shard_aggregation&&) noexcept;
  shard_aggregation& operator=(shard_aggregation&&) noexcept;

  std::uint64_t first() const, count() const;   // its vertices, in the order of the graph
  std::vector<std::int64_t> positions() const;  // the same as positions among graph_handle::ids()
  // The rows of each part that forward (`back`: backward) needs, as that part's local indices, ascending.
  std::vector<std::vector<std::uint32_t>> const& needs(bool back) const;
  bool symmetric() const;  // forward and backward need the same rows
  std::uint64_t bytes() const;

  // From `count()` local rows (or gradients) of `columns` floats, and the rows of needs(), by owner, contiguous: begin() reduces whatever
  // needs no remote row, finish() the rest. in, brought, out: memory that the device reads.
  void begin(aggregation how, bool back, float const* in, float* out, std::uint64_t columns, stream_ref stream = {});
  void finish(aggregation how, bool back, float const* in, float const* brought, float* out, std::uint64_t columns, stream_ref stream = {});
  // Both, of the one part of a graph, with rows in host memory that the device need not have room for: it takes 64 columns of them at a
  // time, which come, are reduced, and go back to `out` at the same time. Blocks. errc::usage for one part of several.
  void reduce_host(aggregation how, bool back, float const* in, float* out, std::uint64_t columns);

 private:
  struct impl;
  detail::held<impl> impl_;
};

}  // namespace garner
