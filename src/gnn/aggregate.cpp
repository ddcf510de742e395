#include "gnn/aggregate.hpp"

#include <bit>
#include <cmath>

#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/primitives.hpp"

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

struct narrow {
  std::int64_t const* rows;
  std::uint32_t* ends;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t e) const {
    ends[e] = static_cast<std::uint32_t>(rows[e]);
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
    std::uint64_t const from = k ? keys[k - 1] + 1 : 0, to = k < edges ? keys[k] : sources;
    for (std::uint64_t u = from; u <= to; ++u) offsets[u] = k;
    if (k == edges) return;
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
  std::uint64_t const* offsets;
  Real const* weights;
  float const *degrees, *counts;
  std::int64_t const* ids;
  Real *of_source, *of_target, *of_self;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    if (how == aggregation::mean) {
      Real sum = static_cast<Real>(offsets[v + 1] - offsets[v]);
      if (weights) {
        sum = 0;
        for (std::uint64_t k = offsets[v]; k < offsets[v + 1]; ++k) sum += weights[k];
      }
      of_target[v] = sum > 0 ? 1 / sum : 0;
      return;
    }
    std::uint64_t const at = ids ? static_cast<std::uint64_t>(ids[v]) : v;
    Real const root = 1 / std::sqrt(static_cast<Real>(degrees[at]) + 1);
    of_source[v] = root;
    if (v >= targets) return;
    Real const drawn = static_cast<Real>(offsets[v + 1] - offsets[v]);
    of_target[v] = drawn > 0 ? root * static_cast<Real>(counts[at]) / drawn : 0;
    of_self[v] = root * root;
  }
};

template <class Real>
struct sum_rows {
  list_view<Real> lists;
  std::uint64_t below;  // of each list what lies under it
  Real const *factor, *own;  // by the other end; by the item; null: 1
  row_block<Real const> in;
  row_block<Real> out;
  std::uint64_t columns;
  bool wide, add;
  row_block<Real const> self;  // a row of the item's own
  Real const* of_self;         // its factors; null: 1
  std::uint64_t selves;        // items that have one

  struct rows {
    sum_rows const& b;
    Real const* self;
    Real self_factor, own;
    Real* out;
    GARNER_HD Real start(std::uint64_t) const { return 0; }
    GARNER_HD Real const* row(std::uint64_t k) const { return b.in.data + b.lists.ends[k] * b.in.stride; }
    GARNER_HD Real scale(std::uint64_t k) const {
      Real const f = b.factor ? b.factor[b.lists.ends[k]] : Real{1};
      return b.lists.weights ? f * b.lists.weights[k] : f;
    }
    GARNER_HD void done(std::uint64_t c, Real sum) const {
      Real value = own * sum;
      if (self) value += self_factor * self[c];
      if (b.add) value += out[c];
      out[c] = value;
    }
  };

  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    indices list{lists.offsets[i], lists.offsets[i + 1]};
    if (list.begin < list.end && lists.ends[list.end - 1] >= below) {  // cut: the first that is not below
      std::uint64_t low = list.begin, high = list.end;
      while (low < high) {
        std::uint64_t const middle = (low + high) / 2;
        if (lists.ends[middle] < below) low = middle + 1;
        else high = middle;
      }
      list.end = low;
    }
    bool const has_self = i < selves;
    t.template add_rows<Real>(list, columns, wide,
                              rows{*this, has_self ? self.data + i * self.stride : nullptr, has_self && of_self ? of_self[i] : Real{1},
                                   own ? own[i] : Real{1}, out.data + i * out.stride});
  }
};

template <class Real>
bool is_wide(row_block<Real const> b, std::uint64_t columns) {
  constexpr std::uint64_t each = 16 / sizeof(Real);
  return columns % each == 0 && b.stride % each == 0 && reinterpret_cast<std::uintptr_t>(b.data) % 16 == 0;
}

}  // namespace

template <class Real>
void relation_edges<Real>::take(executor& x, blocks::edges const& edges, std::uint64_t targets, std::uint64_t sources,
                                std::uint64_t backward, arc_array<std::uint32_t> const* weights, weight_kind kind) {
  if (sources >= std::uint64_t{1} << 32 || edges.count >= std::uint64_t{1} << 32)
    fail(errc::usage, "{} sources and {} edges in a mini-batch; say smaller ones, of less than 2^32", sources, edges.count);
  targets_ = targets, sources_ = sources, edges_ = edges.count;
  auto* const offsets = room(x, offsets_, targets + 1, "edges of a mini-batch");
  auto* const ends = room(x, ends_, edges_, "edges of a mini-batch");
  for_each_item<1>(x, edges_ + 1, find_offsets{edges.col, edges_, targets, offsets});
  for_each_item<1>(x, edges_, narrow{edges.row, ends});
  Real* w = nullptr;
  if (weights) {
    w = room(x, weights_, edges_, "weights of a mini-batch");
    for_each_item<1>(x, edges_, read_weights<Real>{*weights, kind == weight_kind::f32, edges.edge, w});
  }
  lists_ = {offsets, ends, w};
  if (backward == 0) {  // one layer, or nothing was drawn before the last hop: no source has a list
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
  for_each_item<1>(x, backward + 1,
                   lay_out_turned<Real>{sorted.data(), order.data(), edges.col, w, backward, sources, turned_offsets_.data(),
                                        turned_ends_.data(), w ? turned_weights_.data() : nullptr});
}

template <class Real>
void relation_edges<Real>::take(executor& x, host_lists const& lists, host_lists const& turned, std::uint64_t vertices) {
  if (vertices >= std::uint64_t{1} << 32) fail(errc::usage, "{} vertices; a model takes graphs of less than 2^32", vertices);
  targets_ = sources_ = vertices, edges_ = lists.offsets[vertices];
  auto const bring = [&](host_lists const& from, buffer<std::uint64_t>& offsets, buffer<std::uint32_t>& ends, buffer<Real>& weights) {
    list_view<Real> v{from.offsets, from.ends, nullptr};
    if (x.on_device()) {
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
}

template <class Real>
void relation_edges<Real>::normalise(executor& x, aggregation how, float const* degrees, float const* counts, std::int64_t const* ids) {
  how_ = how;
  if (how == aggregation::sum) return;
  auto* const of_target = room(x, of_target_, targets_, "factors of a mini-batch");
  if (how == aggregation::mean) {
    for_each_item<1>(x, targets_,
                     find_factors<Real>{how, targets_, lists_.offsets, lists_.weights, nullptr, nullptr, nullptr, nullptr, of_target, nullptr});
    return;
  }
  auto* const of_source = room(x, of_source_, sources_, "factors of a mini-batch");
  auto* const of_self = room(x, of_self_, targets_, "factors of a mini-batch");
  for_each_item<1>(x, sources_,
                   find_factors<Real>{how, targets_, lists_.offsets, lists_.weights, degrees, counts, ids, of_source, of_target, of_self});
}

template <class Real>
void relation_edges<Real>::forward(executor& x, row_block<Real const> in, row_block<Real> out, std::uint64_t targets,
                                   std::uint64_t columns, row_block<Real const> self) const {
  bool const gcn = how_ == aggregation::gcn;
  for_each_item<32>(x, targets,
                    sum_rows<Real>{lists_, ~std::uint64_t{0}, gcn ? of_source_.data() : nullptr,
                                   how_ == aggregation::sum ? nullptr : of_target_.data(), in, out, columns, is_wide(in, columns), false,
                                   gcn ? in : self, gcn ? of_self_.data() : nullptr, gcn || self.data ? targets : 0});
}

template <class Real>
void relation_edges<Real>::backward(executor& x, row_block<Real const> in, row_block<Real> out, std::uint64_t targets,
                                    std::uint64_t sources, std::uint64_t columns, row_block<Real const> self, bool add) const {
  bool const gcn = how_ == aggregation::gcn;
  for_each_item<32>(x, sources,
                    sum_rows<Real>{turned_, targets, how_ == aggregation::sum ? nullptr : of_target_.data(),
                                   gcn ? of_source_.data() : nullptr, in, out, columns, is_wide(in, columns), add, gcn ? in : self,
                                   gcn ? of_self_.data() : nullptr, gcn || self.data ? targets : 0});
}

template <class Real>
std::uint64_t relation_edges<Real>::bytes() const {
  return offsets_.bytes() + turned_offsets_.bytes() + keys_.bytes() + spare_keys_.bytes() + ends_.bytes() + turned_ends_.bytes() +
         order_.bytes() + spare_order_.bytes() + weights_.bytes() + turned_weights_.bytes() + of_source_.bytes() + of_target_.bytes() +
         of_self_.bytes();
}

template class relation_edges<float>;
template class relation_edges<double>;

}  // namespace garner
