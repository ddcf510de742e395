// Aggregation over the edges of a block, or over a part of a graph, for layers of one's own: every target adds up rows of those that its
// edges come from, and backward every source the gradients of its targets. The same bits at every place but for what a device rounds at
// once; no atomics.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "garner/detail/held.hpp"
#include "garner/gnn.hpp"
#include "garner/place.hpp"
#include "garner/shards.hpp"
#include "garner/stream.hpp"

namespace garner {

// Real: float or double.
template <class Real>
class block_aggregation {
 public:
  explicit block_aggregation(place where);
  ~block_aggregation();
  block_aggregation(block_aggregation&&) noexcept;
  block_aggregation& operator=(block_aggregation&&) noexcept;

  // Memory that the place reads.
  struct edges {
    std::int64_t const *row = nullptr, *col = nullptr;  // from source number row[e] to target number col[e]; col ascends
    std::uint64_t count = 0;
    std::uint64_t targets = 0, sources = 0;  // gcn: the first sources are the targets
    Real const* weights = nullptr;           // one an edge, kept by the caller until the last backward(); null: all 1
    // gcn: of each source. Without weights: how many neighbors it has where these were drawn from; each edge of a target that has fewer
    // here counts for those that were left out. With weights: the sum of its edges' weights, and each edge counts for itself. Null: those
    // of these edges, which takes as many targets as sources.
    Real const* degrees = nullptr;
  };
  // Waits until the edges have been looked at: errc::input names one whose ends are not there or that is not in order.
  void take(edges const& e, aggregation how, stream_ref stream = {});
  // `targets` rows out of `sources` rows, `columns` each, one after the other. sum, mean: of a target's neighbours, 0 without any; gcn: its
  // own row too.
  void forward(Real const* in, Real* out, std::uint64_t columns, stream_ref stream = {});
  // Gradients of `sources` rows out of those of `targets` rows.
  void backward(Real const* in, Real* out, std::uint64_t columns, stream_ref stream = {});

  place where() const;

 private:
  struct impl;
  detail::held<impl> impl_;
};

extern template class block_aggregation<float>;
extern template class block_aggregation<double>;

// What the rows of a list_sums hold. Sums of f16 and bf16 are of float, and are rounded once.
enum class row_real : std::uint8_t { f32, f64, f16, bf16 };

// Sums over adjacency lists that the caller made and keeps. Nothing is kept between calls and no call waits for the device, so that a
// CUDA graph can capture them. Ends are not looked at: one that names no row is memory that is not there.
class list_sums {
 public:
  explicit list_sums(place where);
  ~list_sums();
  list_sums(list_sums&&) noexcept;
  list_sums& operator=(list_sums&&) noexcept;

  struct lists {
    std::int64_t const* offsets = nullptr;  // items + 1: list i has the edges [offsets[i], offsets[i + 1])
    std::int32_t const* ends = nullptr;     // of each edge the row that it adds
    std::int64_t const* order = nullptr;    // of each edge where its weight stands; null: in the order of the lists
    std::uint64_t items = 0, edges = 0;
    std::uint64_t loops = 0;  // the first so many items have an edge to themselves besides; its weight stands behind those of all edges
  };
  // A row is `heads` times `columns` numbers, one head after the other, and an edge has a weight for each head.
  struct shape {
    row_real kind = row_real::f32;
    std::uint64_t heads = 1, columns = 0;
  };
  enum class scale : std::uint8_t {
    none,
    mean,    // a sum is divided by the length of its list
    shares,  // a row is divided by the length of its own list, by end_offsets: what gives the gradients of means back
  };
  // Memory that sum() works in: of lists that are longer than a team adds up alone.
  static std::uint64_t scratch_bytes(lists const& l, shape const& s);
  // out[i] = sum of weight * in[end] over list i; a row of zeros where the list is empty. weights: float, with f64 double; null: all 1.
  // A loop adds row i of `own` (null: of `in`), times its weight or, without weights, 1 + *eps (null: 1); no scale divides it.
  void sum(lists const& l, shape const& s, void const* in, void* out, void const* weights, scale by, std::int64_t const* end_offsets,
           void* scratch, stream_ref stream = {}, void const* own = nullptr, void const* eps = nullptr);
  // The gradients of the weights: of each edge and head the product of in[end] with the gradient of list i's sum (by: none, mean). out: as
  // weights.
  void dot(lists const& l, shape const& s, void const* in, void const* gradients, void* out, scale by, stream_ref stream = {});

  // Attention. The score of an edge to item i is scores[head][end][0] + scores[head][i][1], times `slope` where it is negative; its weight
  // is its share among the exponentials of the scores of list i. There are `items` of both ends. Where loops are, other edges of an item to
  // itself weigh 0. s.kind: f32 or f64, of all these numbers; s.columns is not read.
  void soften(lists const& l, shape const& s, void const* scores, void* weights, double slope, stream_ref stream = {});
  // The gradients of the scores by those of the weights, which it overwrites. `back`: the same edges by their other end.
  void soften_back(lists const& l, lists const& back, shape const& s, void const* scores, void const* weights, void* gradients,
                   void* of_scores, double slope, stream_ref stream = {});

  place where() const;

 private:
  struct impl;
  detail::held<impl> impl_;
};

// One part's side of an aggregation whose other rows the caller brings (by torch.distributed, MPI): which it needs of whom, and the sums.
// All parts are made of the same graph and options, and make the same calls. Any number of parts, with exact sums up to 48.
class shard_aggregation {
 public:
  // Reads the lists of the whole graph, and keeps those of its part. errc::usage as split_report(), errc::input where a directed graph
  // lacks the in-lists, or the graph the weights.
  shard_aggregation(graph_handle const& g, list_side side, bool weighted, shard_options const& options, std::uint32_t shard, place where);
  ~shard_aggregation();
  shard_aggregation(shard_aggregation&&) noexcept;
  shard_aggregation& operator=(shard_aggregation&&) noexcept;

  std::uint64_t first() const, count() const;   // its vertices, in the order that the graph has
  std::vector<std::int64_t> positions() const;  // the same as positions among graph_handle::ids()
  // Rows of each part that forward (`back`: backward) needs, by that part's own numbers, ascending.
  std::vector<std::vector<std::uint32_t>> const& needs(bool back) const;
  bool symmetric() const;  // forward and backward need the same
  std::uint64_t bytes() const;

  // Out of `count()` rows, or gradients of as many, `columns` floats each, and those that needs() says, by owner, one after the other:
  // begin() adds up what can be before these have come, finish() the rest. in, brought, out: memory that the place reads.
  void begin(aggregation how, bool back, float const* in, float* out, std::uint64_t columns, stream_ref stream = {});
  void finish(aggregation how, bool back, float const* in, float const* brought, float* out, std::uint64_t columns, stream_ref stream = {});

 private:
  struct impl;
  detail::held<impl> impl_;
};

}  // namespace garner
