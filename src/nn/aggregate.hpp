// Aggregation: every target sums rows of its neighbors, and backward every source those of its targets.
//   out[v] = own[v] * sum over edges (u, v) of weight * factor[u] * in[u], and a row of v's own (GCN's loop, a tree's root)
// Sum, mean, and GCN's normalization differ in the factors alone. Forward and backward are one kernel, over lists and their transpose.
// Invariant: a vertex adds in the order of its list, on any device and for any number of threads; edges of a block ascend by target, so a
// layer that has the first targets alone has a prefix of them. A list of more than slice_edges is cut into slices, a team each, whose sums
// are added in order, on every device. Cost: a row read per edge, a row written per vertex; 12 bytes per edge to transpose a block, and a
// sort. Source: Gather-Scatter of DGL (Wang et al., 2019), by segments and without atomics.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/executor.hpp"
#include "garner/gnn.hpp"
#include "garner/subgraph.hpp"
#include "graph/graph.hpp"
#include "memory/buffer.hpp"

namespace garner {

constexpr std::uint64_t slice_edges = 512;  // of a longer list: what one team adds while others wait for it

// New length of an array with space for `has` elements when n are needed.
constexpr std::uint64_t grown(std::uint64_t has, std::uint64_t n) { return has < n ? n + n / 4 : has; }
// A workspace that grows and is reused; growth discards its contents. Size 0 is valid too: a shard without rows takes part all the
// same.
template <class T>
T* room(executor& x, buffer<T>& in, std::uint64_t n, char const* what, tier where) {
  if (std::uint64_t const more = grown(in.size(), std::max<std::uint64_t>(n, 1)); more > in.size()) {
    x.tell_move();
    grow(x, in, more, more, what, where);
  }
  return in.data();
}
template <class T>
T* room(executor& x, buffer<T>& in, std::uint64_t n, char const* what) {
  return room(x, in, n, what, x.near());
}

// As room(), with nothing to spare: for sizes of a whole graph, which stay.
template <class T>
T* whole_room(executor& x, buffer<T>& in, std::uint64_t n, char const* what, tier where) {
  n = std::max<std::uint64_t>(n, 1);
  if (in.size() < n) x.tell_move(), grow(x, in, n, n, what, where);
  return in.data();
}

// Copies a host array to the device.
template <class T>
buffer<T> bring(executor& x, std::vector<T> const& from, char const* what) {
  buffer<T> to(x.near(), from.size(), x.device(), what);
  x.copy(to.data(), from.data(), to.bytes());
  x.wait();
  return to;
}

// Lists as a kernel reads them.
template <class Real>
struct list_view {
  std::uint64_t const* offsets = nullptr;
  std::uint32_t const* ends = nullptr;  // the other ends, ascending within a list where it is cut
  Real const* weights = nullptr;        // one an edge; null: 1
  std::uint64_t base = 0;               // where ends[0] stands by the offsets
};

// A list of more edges than one team sums, and its slices.
struct long_list {
  std::uint64_t item, first, count;
};
struct list_slice {
  std::uint64_t item, begin, end;
};
template <class Real>
struct sum_rows;

// Rows of numbers, on the device.
template <class Real>
struct row_block {
  Real* data = nullptr;
  std::uint64_t stride = 0;
  GARNER_HD_INLINE Real* row(std::uint64_t i) const { return data + i * stride; }
};

// Whether its rows can be read 16 bytes at a time.
template <class Real>
bool is_wide(row_block<Real const> b, std::uint64_t columns) {
  constexpr std::uint64_t each = 16 / sizeof(Real);
  return columns % each == 0 && b.stride % each == 0 && reinterpret_cast<std::uintptr_t>(b.data) % 16 == 0;
}

// Aggregation that is not of the lists here: over the shards of a graph (sharded.hpp). All targets and sources of this place.
template <class Real>
class aggregation_over {
 public:
  virtual ~aggregation_over() = default;
  virtual void forward(executor& x, row_block<Real const> in, row_block<Real> out, std::uint64_t columns, row_block<Real const> self) = 0;
  virtual void backward(executor& x, row_block<Real const> in, row_block<Real> out, std::uint64_t columns, row_block<Real const> self,
                        bool add) = 0;
  virtual std::uint64_t bytes() const = 0;
};

// The edges of one relation of a mini-batch, or of a whole graph, for its layers.
template <class Real>
class relation_edges {
 public:
  // For the block that `rule` last sampled. `weights`: of the sampled lists, by the ids of edges; empty: all 1. `backward`: how many of the
  // edges will be transposed. `own`: weights of these edges instead, on the device, owned by the caller.
  void take(executor& x, sampled_subgraph::edges const& edges, std::uint64_t targets, std::uint64_t sources, std::uint64_t backward,
            arc_array<std::uint32_t> const* weights = nullptr, weight_kind kind = weight_kind::none, Real const* own = nullptr);
  // For a whole graph, whose lists and their transpose are given in host memory, 4 bytes per id. On the host the caller keeps ownership; a
  // device gets copies.
  struct host_lists {
    std::uint64_t const* offsets;
    std::uint32_t const* ends;
    float const* weights;  // null: 1
  };
  void take(executor& x, host_lists const& lists, host_lists const& turned, std::uint64_t vertices);
  // The lists of vertices [first, first + count) of it alone, for forward(): read in place at the host, else copied.
  void take_part(executor& x, host_lists const& lists, std::uint64_t first, std::uint64_t count, std::uint64_t vertices);

  // From here on others do it.
  void leave_to(aggregation_over<Real>& others) { others_ = &others; }

  // The factors. `degrees`: by position, the number of neighbors (weighted: their weights' sum); `ids`: positions of the sources, null:
  // they are numbered so. `counts`: the number of neighbors: sampled neighbors of a target are up-weighted by neighbors over samples; null:
  // each counts once.
  void normalise(executor& x, aggregation how, Real const* degrees, Real const* counts, std::int64_t const* ids);
  // The same for all vertices of a whole graph, whichever lists are there.
  void normalise_whole(executor& x, aggregation how, Real const* degrees, std::uint64_t vertices);

  struct factors {
    Real const *of_source, *of_target, *of_self;  // null: 1
  };
  factors all_factors() const;

  std::uint64_t targets() const { return targets_; }
  std::uint64_t sources() const { return sources_; }
  std::uint64_t edges() const { return edges_; }
  std::uint64_t bytes() const;

  // out[v] for v < targets, `columns` of each. `self`: rows that are added as they are (GCN takes its own from `in`, by its factor).
  // `from`: of targets from there on; out and self begin with that one's row.
  void forward(executor& x, row_block<Real const> in, row_block<Real> out, std::uint64_t targets, std::uint64_t columns,
               row_block<Real const> self = {}, std::uint64_t from = 0);
  // out[u] for u < sources; added to what is there, if `add`. `self`: a row for each target besides, as it is; else what GCN gives back to
  // its own row.
  void backward(executor& x, row_block<Real const> in, row_block<Real> out, std::uint64_t targets, std::uint64_t sources,
                std::uint64_t columns, row_block<Real const> self, bool add);

 private:
  struct long_lists {
    std::uint64_t most_lists = 0, most_slices = 0;  // bounds; 0: without bounds
    buffer<std::uint64_t> counts;                   // how many there are of each
    buffer<long_list> lists;
    buffer<list_slice> slices;
    void none() { most_lists = most_slices = 0; }
    std::uint64_t bytes() const { return counts.bytes() + lists.bytes() + slices.bytes(); }
  };
  // `count`: the bounds become what there is, which waits.
  void find_long_lists(executor& x, long_lists& to, std::uint64_t const* offsets, std::uint64_t items, std::uint64_t edges, bool count);
  // For a whole graph: multiplies the rows by their factors, once per row instead of once per edge; `factor` is then null. Reading a factor
  // with each row costs half as much again as the rows (docs/dev/decisions.md).
  row_block<Real const> times_factors(executor& x, row_block<Real const> in, std::uint64_t count, std::uint64_t columns,
                                      Real const*& factor);
  void run(executor& x, sum_rows<Real> const& body, long_lists const& of, std::uint64_t first, std::uint64_t items);
  aggregation how_ = aggregation::mean;
  std::uint64_t targets_ = 0, sources_ = 0, edges_ = 0;
  std::uint64_t first_ = 0;  // the target of the first list
  bool same_ = false;        // turned round the lists are the same
  bool whole_ = false;       // of a whole graph, all targets at once
  list_view<Real> lists_, turned_;
  buffer<std::uint64_t> offsets_, turned_offsets_, keys_, spare_keys_;
  buffer<std::uint32_t> ends_, turned_ends_, order_, spare_order_;
  buffer<Real> weights_, turned_weights_;
  buffer<Real> of_source_, of_target_, of_self_;  // factors; of_self_: GCN's loops
  long_lists long_, long_turned_;
  buffer<Real> scaled_, partial_;
  aggregation_over<Real>* others_ = nullptr;
};

}  // namespace garner
