#include "nn/aggregate.hpp"

#include <bit>
#include <cmath>

#include "core/each.hpp"
#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/primitives.hpp"
#include "nn/pointwise.hpp"
#include "nn/row_teams.hpp"

namespace garner {

namespace {

// The edges ascend by target: where each target's begin. Item e looks at what lies between edge e - 1 and edge e.
struct find_offsets {
  std::int64_t const* cols;
  std::uint64_t edges, targets;
  std::uint64_t* offsets;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t e) const {
    std::uint64_t const from = e ? static_cast<std::uint64_t>(cols[e - 1]) + 1 : 0,
                        to = e < edges ? static_cast<std::uint64_t>(cols[e]) : targets;
    for (std::uint64_t v = from; v <= to; ++v) offsets[v] = e;
  }
};

struct key_of_end {
  std::uint32_t const* ends;
  std::uint64_t* keys;
  std::uint32_t* order;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t e) const {
    keys[e] = ends[e];
    order[e] = static_cast<std::uint32_t>(e);
  }
};

// Sorted by source, where each source's begin, and the target and the weight of each.
template <class Real>
struct lay_out_turned {
  std::uint64_t const* keys;
  std::uint32_t const* order;
  std::int64_t const* cols;
  Real const* weights;  // null: none
  std::uint64_t edges, sources;
  std::uint64_t* offsets;
  std::uint32_t* ends;
  Real* turned_weights;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t k) const {
    // Most sources come behind those that have edges here, so nobody fills in a gap: each looks for where its edges begin.
    if (k <= sources) {
      std::uint64_t low = 0, high = edges;
      while (low < high) {
        std::uint64_t const middle = (low + high) / 2;
        if (keys[middle] < k) low = middle + 1;
        else high = middle;
      }
      offsets[k] = low;
    }
    if (k >= edges) return;
    ends[k] = static_cast<std::uint32_t>(cols[order[k]]);
    if (weights) turned_weights[k] = weights[order[k]];
  }
};

template <class Real>
struct read_weights {
  arc_array<std::uint32_t> from;
  bool real;
  std::int64_t const* edge;
  Real* to;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t e) const {
    auto const at = static_cast<std::uint64_t>(edge[e]);
    t.each(from.part(at, at + 1),
           [&](std::uint32_t w) { to[e] = real ? static_cast<Real>(std::bit_cast<float>(w)) : static_cast<Real>(w); });
  }
};

template <class Real>
struct find_factors {
  aggregation how;
  std::uint64_t targets;
  std::uint64_t const* offsets;  // null: of a whole graph, whose vertices have all their neighbors
  Real const* weights;
  Real const *degrees, *counts;  // counts: null: nothing was left out
  std::int64_t const* ids;
  Real *of_source, *of_target, *of_self;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    if (how == aggregation::mean) {
      Real sum = offsets ? static_cast<Real>(offsets[v + 1] - offsets[v]) : degrees[v];
      if (offsets && weights) {
        sum = 0;
        for (std::uint64_t k = offsets[v]; k < offsets[v + 1]; ++k) sum += weights[k];
      }
      of_target[v] = sum > 0 ? 1 / sum : 0;
      return;
    }
    std::uint64_t const at = ids ? static_cast<std::uint64_t>(ids[v]) : v;
    Real const root = 1 / std::sqrt(degrees[at] + 1);
    of_source[v] = root;
    if (v >= targets) return;
    of_self[v] = root * root;
    of_target[v] = root;
    if (!offsets || !counts) return;
    Real const drawn = static_cast<Real>(offsets[v + 1] - offsets[v]);
    of_target[v] = drawn > 0 ? root * counts[at] / drawn : 0;
  }
};

struct find_long {
  std::uint64_t const* offsets;
  std::uint64_t* counts;
  long_list* lists;
  list_slice* slices;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    std::uint64_t const begin = offsets[i], end = offsets[i + 1];
    if (end - begin <= slice_edges) return;
    std::uint64_t const n = (end - begin + slice_edges - 1) / slice_edges, first = atomic_add(counts + 1, n);
    lists[atomic_add(counts, std::uint64_t{1})] = {i, first, n};
    for (std::uint64_t k = 0; k < n; ++k) slices[first + k] = {i, begin + k * slice_edges, smaller(end, begin + (k + 1) * slice_edges)};
  }
};

}  // namespace

template <class Real>
struct sum_rows {
  list_view<Real> lists;
  std::uint64_t below;       // of each list what lies under it; ~0: all
  Real const *factor, *own;  // by the other end; by the item; null: 1
  row_block<Real const> in;
  row_block<Real> out;
  std::uint64_t columns;
  bool add;
  row_block<Real const> self;  // a row of the item's own
  Real const* of_self;         // its factors; null: 1
  std::uint64_t selves;        // items that have one

  bool wide() const {
    return is_wide(in, columns) && is_wide<Real>({out.data, out.stride}, columns) && (!selves || is_wide(self, columns));
  }

  struct adding {
    sum_rows const& b;
    finish_sum<Real> then;
    GARNER_HD Real start(std::uint64_t) const { return 0; }
    GARNER_HD rows_by_id<Real> rows() const { return b.rows(); }
    template <int Each>
    GARNER_HD void done(std::uint64_t c, row_part<Real, Each> const& sum) const {
      then(c, sum);
    }
  };

  GARNER_HD rows_by_id<Real> rows() const { return {in.data, in.stride, lists.ends, lists.weights, factor}; }
  GARNER_HD finish_sum<Real> of(std::uint64_t i) const {
    bool const has_self = i < selves;
    return {has_self ? self.data + i * self.stride : nullptr, has_self && of_self ? of_self[i] : Real{1}, own ? own[i] : Real{1},
            out.data + i * out.stride, add};
  }
  GARNER_HD indices cut(indices list) const {  // at the first that is not below
    if (below == ~std::uint64_t{0} || list.begin >= list.end || lists.ends[list.end - 1] < below) return list;
    std::uint64_t low = list.begin, high = list.end;
    while (low < high) {
      std::uint64_t const middle = (low + high) / 2;
      if (lists.ends[middle] < below) low = middle + 1;
      else high = middle;
    }
    return {list.begin, low};
  }
};

namespace {

// An item's list, or a slice of a long one into a row of its own. Slices come first: they take the longest, and nobody waits for them
// alone.
template <class Real>
struct sum_list_or_slice {
  sum_rows<Real> of;
  list_slice const* slices;
  std::uint64_t const* count;               // of slices, at most most_slices
  std::uint64_t most_slices, first, items;  // the items that slices may be of
  Real* sums;
  bool wide;

  struct adding {
    sum_rows<Real> const& b;
    Real* out;
    GARNER_HD Real start(std::uint64_t) const { return 0; }
    GARNER_HD rows_by_id<Real> rows() const { return b.rows(); }
    template <int Each>
    GARNER_HD void done(std::uint64_t c, row_part<Real, Each> const& sum) const {
      row_part<Real, Each>::in(out + c) = sum;
    }
  };
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    if (k < most_slices) {
      if (k >= *count) return;
      list_slice const s = slices[k];
      if (s.item - first >= items) return;
      t.template add_rows<Real>(of.cut({s.begin - of.lists.base, s.end - of.lists.base}), of.columns, wide,
                                adding{of, sums + k * of.columns});
      return;
    }
    std::uint64_t const i = k - most_slices;
    indices const list{of.lists.offsets[i] - of.lists.base, of.lists.offsets[i + 1] - of.lists.base};
    if (list.end - list.begin > slice_edges) return;
    t.template add_rows<Real>(of.cut(list), of.columns, wide, typename sum_rows<Real>::adding{of, of.of(i)});
  }
};
// The sums of slices, in their order.
template <class Real>
struct sum_slices_of_list {
  sum_rows<Real> of;
  long_list const* lists;
  std::uint64_t first, items;
  Real const* sums;
  bool wide;

  struct adding {
    finish_sum<Real> then;
    Real const* sums;
    std::uint64_t columns;
    GARNER_HD Real start(std::uint64_t) const { return 0; }
    GARNER_HD rows_in_order<Real> rows() const { return {sums, columns}; }
    template <int Each>
    GARNER_HD void done(std::uint64_t c, row_part<Real, Each> const& sum) const {
      then(c, sum);
    }
  };
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    long_list const l = lists[k];
    if (l.item - first >= items) return;
    t.template add_rows<Real>({l.first, l.first + l.count}, of.columns, wide, adding{of.of(l.item - first), sums, of.columns});
  }
};

}  // namespace

template <class Real>
void relation_edges<Real>::take(executor& x, sampled_subgraph::edges const& edges, std::uint64_t targets, std::uint64_t sources,
                                std::uint64_t backward, arc_array<std::uint32_t> const* weights, weight_kind kind, Real const* own) {
  if (sources >= std::uint64_t{1} << 32 || edges.count >= std::uint64_t{1} << 32)
    fail(errc::usage, "{} sources and {} edges in a mini-batch; use smaller ones, of less than 2^32", sources, edges.count);
  targets_ = targets, sources_ = sources, edges_ = edges.count;
  auto* const offsets = room(x, offsets_, targets + 1, "edges of a mini-batch");
  auto* const ends = room(x, ends_, edges_, "edges of a mini-batch");
  for_each_item<1>(x, edges_ + 1, find_offsets{edges.col, edges_, targets, offsets});
  for_each_item<1>(x, edges_, narrow_each<std::int64_t, std::uint32_t>{edges.row, ends});
  Real const* w = own;
  if (weights) {
    auto* const read = room(x, weights_, edges_, "weights of a mini-batch");
    for_each_item<1>(x, edges_, read_weights<Real>{*weights, kind == weight_kind::f32, edges.edge, read});
    w = read;
  }
  lists_ = {offsets, ends, w};
  first_ = 0, same_ = whole_ = false;
  find_long_lists(x, long_, offsets, targets, edges_, false);
  long_turned_.none();
  if (backward == 0) {  // one layer, or nothing was sampled before the last hop: no source has a list
    turned_ = {room(x, turned_offsets_, sources + 1, "edges of a mini-batch"), nullptr, nullptr};
    x.fill(turned_offsets_.data(), 0, (sources + 1) * sizeof(std::uint64_t));
    return;
  }

  auto const keys = std::span(room(x, keys_, backward, "edges to turn round"), backward),
             spare = std::span(room(x, spare_keys_, backward, "edges to turn round"), backward);
  auto order = std::span(room(x, order_, backward, "edges to turn round"), backward);
  auto const spare_order = std::span(room(x, spare_order_, backward, "edges to turn round"), backward);
  for_each_item<1>(x, backward, key_of_end{ends, keys.data(), order.data()});
  int const bits = std::bit_width(sources);
  auto const sorted = sort_by_key(x, keys, spare, order, spare_order, bits);
  turned_ = {room(x, turned_offsets_, sources + 1, "edges of a mini-batch"), room(x, turned_ends_, backward, "edges of a mini-batch"),
             w ? room(x, turned_weights_, backward, "weights of a mini-batch") : nullptr};
  for_each_item<1>(x, std::max(backward, sources + 1),
                   lay_out_turned<Real>{sorted.data(), order.data(), edges.col, w, backward, sources, turned_offsets_.data(),
                                        turned_ends_.data(), w ? turned_weights_.data() : nullptr});
  find_long_lists(x, long_turned_, turned_offsets_.data(), sources, backward, false);
}

template <class Real>
void relation_edges<Real>::find_long_lists(executor& x, long_lists& to, std::uint64_t const* offsets, std::uint64_t items,
                                           std::uint64_t edges, bool count) {
  to.most_lists = edges / (slice_edges + 1);
  to.most_slices = to.most_lists ? edges / slice_edges + to.most_lists : 0;
  if (to.most_lists == 0) return;
  auto* const counts = room(x, to.counts, 2, "long lists");
  x.fill(counts, 0, 2 * sizeof(std::uint64_t));
  for_each_item<1>(
      x, items,
      find_long{offsets, counts, room(x, to.lists, to.most_lists, "long lists"), room(x, to.slices, to.most_slices, "long lists")});
  if (!count) return;
  to.most_lists = x.read(counts), to.most_slices = x.read(counts + 1);
}

template <class Real>
void relation_edges<Real>::run(executor& x, sum_rows<Real> const& body, long_lists const& of, std::uint64_t first, std::uint64_t items) {
  std::uint64_t const columns = body.columns;
  bool const wide = body.wide();  // sums of slices too: their columns are a multiple of 16 bytes then
  bool const any = of.most_lists != 0;
  auto* const sums = any ? room(x, partial_, of.most_slices * columns, "sums of long lists") : nullptr;
  for_each_row<Real>(x, of.most_slices + items, columns, wide,
                     sum_list_or_slice<Real>{body, any ? of.slices.data() : nullptr, any ? of.counts.data() + 1 : nullptr, of.most_slices,
                                             first, items, sums, wide});
  if (any)
    for_each_row<Real>(x, item_count(of.counts.data(), of.most_lists), columns, wide,
                       sum_slices_of_list<Real>{body, of.lists.data(), first, items, sums, wide});
}

template <class Real>
void relation_edges<Real>::take(executor& x, host_lists const& lists, host_lists const& turned, std::uint64_t vertices) {
  if (vertices >= std::uint64_t{1} << 32) fail(errc::usage, "{} vertices; a model takes graphs of less than 2^32", vertices);
  targets_ = sources_ = vertices, edges_ = lists.offsets[vertices];
  auto const bring = [&](host_lists const& from, buffer<std::uint64_t>& offsets, buffer<std::uint32_t>& ends, buffer<Real>& weights) {
    list_view<Real> v{from.offsets, from.ends, nullptr};
    if (x.asynchronous()) {
      v.offsets = room(x, offsets, vertices + 1, "lists of a whole graph");
      v.ends = room(x, ends, edges_, "lists of a whole graph");
      x.copy(offsets.data(), from.offsets, (vertices + 1) * sizeof(std::uint64_t));
      x.copy(ends.data(), from.ends, edges_ * sizeof(std::uint32_t));
    }
    if (from.weights) {
      v.weights = room(x, weights, edges_, "weights of a whole graph");
      if constexpr (sizeof(Real) == sizeof(float)) {
        x.copy(weights.data(), from.weights, edges_ * sizeof(float));
      } else {
        std::vector<Real> as(from.weights, from.weights + edges_);
        x.copy(weights.data(), as.data(), edges_ * sizeof(Real));
        x.wait();
      }
    }
    return v;
  };
  lists_ = bring(lists, offsets_, ends_, weights_);
  bool const same = lists.offsets == turned.offsets && lists.ends == turned.ends && lists.weights == turned.weights;
  turned_ = same ? lists_ : bring(turned, turned_offsets_, turned_ends_, turned_weights_);
  first_ = 0;
  find_long_lists(x, long_, lists_.offsets, vertices, edges_, true);
  if (!same) find_long_lists(x, long_turned_, turned_.offsets, vertices, edges_, true);
  same_ = same, whole_ = true;
}

template <class Real>
row_block<Real const> relation_edges<Real>::times_factors(executor& x, row_block<Real const> in, std::uint64_t count, std::uint64_t columns,
                                                          Real const*& factor) {
  if (!whole_ || !factor) return in;
  row_block<Real> const to{whole_room(x, scaled_, count * columns, "rows times their factors", x.near()), columns};
  multiply_rows(x, in, to, count, columns, std::exchange(factor, nullptr));
  return {to.data, to.stride};
}

template <class Real>
void relation_edges<Real>::take_part(executor& x, host_lists const& lists, std::uint64_t first, std::uint64_t count,
                                     std::uint64_t vertices) {
  if (vertices >= std::uint64_t{1} << 32) fail(errc::usage, "{} vertices; a model takes graphs of less than 2^32", vertices);
  std::uint64_t const from = lists.offsets[first];
  targets_ = sources_ = vertices, first_ = first, edges_ = lists.offsets[first + count] - from;
  bool const in_place = x.where().kind == device_kind::cpu && std::is_same_v<Real, float>;
  lists_ = {lists.offsets + first, lists.ends, nullptr, 0};
  if (!in_place) {
    lists_.base = from;
    x.copy(room(x, offsets_, count + 1, "lists of a whole graph"), lists.offsets + first, (count + 1) * sizeof(std::uint64_t));
    x.copy(room(x, ends_, edges_, "lists of a whole graph"), lists.ends + from, edges_ * sizeof(std::uint32_t));
    lists_.offsets = offsets_.data(), lists_.ends = ends_.data();
  }
  if constexpr (std::is_same_v<Real, float>) {
    lists_.weights = lists.weights;
    if (lists.weights && !in_place) {
      x.copy(room(x, weights_, edges_, "weights of a whole graph"), lists.weights + from, edges_ * sizeof(float));
      lists_.weights = weights_.data();
    }
  } else if (lists.weights) {
    std::vector<Real> const as(lists.weights + from, lists.weights + from + edges_);
    x.copy(room(x, weights_, edges_, "weights of a whole graph"), as.data(), edges_ * sizeof(Real));
    x.wait();
    lists_.weights = weights_.data();
  }
  turned_ = {}, long_turned_.none(), whole_ = false;
  find_long_lists(x, long_, lists_.offsets, count, edges_, false);
}

template <class Real>
void relation_edges<Real>::normalise_whole(executor& x, aggregation how, Real const* degrees, std::uint64_t vertices) {
  how_ = how;
  if (how == aggregation::sum) return;
  auto* const of_target = room(x, of_target_, vertices, "factors of a graph");
  Real *of_source = nullptr, *of_self = nullptr;
  if (how == aggregation::gcn)
    of_source = room(x, of_source_, vertices, "factors of a graph"), of_self = room(x, of_self_, vertices, "factors of a graph");
  for_each_item<1>(x, vertices,
                   find_factors<Real>{how, vertices, nullptr, nullptr, degrees, nullptr, nullptr, of_source, of_target, of_self});
}

template <class Real>
void relation_edges<Real>::normalise(executor& x, aggregation how, Real const* degrees, Real const* counts, std::int64_t const* ids) {
  how_ = how;
  if (how == aggregation::sum) return;
  auto* const of_target = room(x, of_target_, targets_, "factors of a mini-batch");
  if (how == aggregation::mean) {
    for_each_item<1>(
        x, targets_,
        find_factors<Real>{how, targets_, lists_.offsets, lists_.weights, nullptr, nullptr, nullptr, nullptr, of_target, nullptr});
    return;
  }
  auto* const of_source = room(x, of_source_, sources_, "factors of a mini-batch");
  auto* const of_self = room(x, of_self_, targets_, "factors of a mini-batch");
  for_each_item<1>(x, sources_,
                   find_factors<Real>{how, targets_, lists_.offsets, lists_.weights, degrees, counts, ids, of_source, of_target, of_self});
}

template <class Real>
void relation_edges<Real>::forward(executor& x, row_block<Real const> in, row_block<Real> out, std::uint64_t targets, std::uint64_t columns,
                                   row_block<Real const> self, std::uint64_t from) {
  if (others_) return others_->forward(x, in, out, columns, self);
  bool const gcn = how_ == aggregation::gcn;
  list_view<Real> lists = lists_;
  lists.offsets += from - first_;
  Real const* factor = gcn ? of_source_.data() : nullptr;
  row_block<Real const> const rows = times_factors(x, in, sources_, columns, factor);
  run(x,
      sum_rows<Real>{lists, ~std::uint64_t{0}, factor, how_ == aggregation::sum ? nullptr : of_target_.data() + from, rows, out, columns,
                     false, gcn ? row_block<Real const>{in.row(from), in.stride} : self, gcn ? of_self_.data() + from : nullptr,
                     gcn || self.data ? targets : 0},
      long_, from - first_, targets);
}

template <class Real>
void relation_edges<Real>::backward(executor& x, row_block<Real const> in, row_block<Real> out, std::uint64_t targets,
                                    std::uint64_t sources, std::uint64_t columns, row_block<Real const> self, bool add) {
  if (others_) return others_->backward(x, in, out, columns, self, add);
  bool const gcn = how_ == aggregation::gcn;
  Real const* factor = how_ == aggregation::sum ? nullptr : of_target_.data();
  row_block<Real const> const rows = times_factors(x, in, targets, columns, factor);
  run(x,
      sum_rows<Real>{turned_, whole_ && targets == targets_ ? ~std::uint64_t{0} : targets, factor, gcn ? of_source_.data() : nullptr, rows,
                     out, columns, add, gcn ? in : self, gcn ? of_self_.data() : nullptr, gcn || self.data ? targets : 0},
      same_ ? long_ : long_turned_, 0, sources);
}

template <class Real>
typename relation_edges<Real>::factors relation_edges<Real>::all_factors() const {
  bool const gcn = how_ == aggregation::gcn;
  return {gcn ? of_source_.data() : nullptr, how_ == aggregation::sum ? nullptr : of_target_.data(), gcn ? of_self_.data() : nullptr};
}

template <class Real>
std::uint64_t relation_edges<Real>::bytes() const {
  if (others_) return others_->bytes();
  return offsets_.bytes() + turned_offsets_.bytes() + keys_.bytes() + spare_keys_.bytes() + ends_.bytes() + turned_ends_.bytes() +
         order_.bytes() + spare_order_.bytes() + weights_.bytes() + turned_weights_.bytes() + of_source_.bytes() + of_target_.bytes() +
         of_self_.bytes() + scaled_.bytes() + partial_.bytes() + long_.bytes() + long_turned_.bytes();
}

template class relation_edges<float>;
template class relation_edges<double>;

}  // namespace garner
