// The API's sums over lists of the caller, of rows of four kinds, and the gradients of weights. Invariant: a list adds in its order; one of
// more than slice_edges edges in slices that end at multiples of so many edges, and then the slices in order, on every device. A slice has
// edges of at most two such lists: the one of its first edge and the one of its last. The offsets alone thus assign the work; no list of
// long lists is made, and nothing waits. Cost: a row read per edge, a row written per item, and two rows of sums per slice. The softmax of
// attention takes one team per list, of any length: it reads numbers, not rows.
#include <bit>
#include <cmath>

#include "core/convert.hpp"
#include "core/exec.hpp"
#include "core/fail.hpp"
#include "features/ask.hpp"
#include "garner/aggregate.hpp"
#include "nn/aggregate.hpp"
#include "nn/row_teams.hpp"

namespace garner {

namespace {

using lists = list_sums::lists;
using shape = list_sums::shape;
using scale = list_sums::scale;

// Types of the elements of rows, and of their accumulators.
template <class Real>
struct exact {
  using stored = Real;
  using real = Real;
  GARNER_HD static Real widened(Real v) { return v; }
  GARNER_HD static Real narrowed(Real v) { return v; }
};
template <class From, class To>
struct rounded {
  using stored = typename From::bits;
  using real = float;
  GARNER_HD static float widened(stored v) { return From::value(v, 1.0f); }
  GARNER_HD static stored narrowed(float v) { return To::of(v); }
};

// The list that holds this edge.
GARNER_HD inline std::uint64_t list_of(lists const& l, std::uint64_t edge) {
  std::uint64_t low = 0, high = l.items;
  while (high - low > 1) {
    std::uint64_t const middle = (low + high) / 2;
    if (static_cast<std::uint64_t>(l.offsets[middle]) <= edge) low = middle;
    else high = middle;
  }
  return low;
}
GARNER_HD inline indices list_at(lists const& l, std::uint64_t i) {
  return {static_cast<std::uint64_t>(l.offsets[i]), static_cast<std::uint64_t>(l.offsets[i + 1])};
}
GARNER_HD inline bool is_long(indices r) { return r.end - r.begin > slice_edges; }
constexpr std::uint64_t slices_of(std::uint64_t edges) { return edges > slice_edges ? (edges + slice_edges - 1) / slice_edges : 0; }

// One head of the rows that lists name.
template <class Number>
struct rows_of_head {
  typename Number::stored const* data;
  std::uint64_t stride;
  lists of;
  typename Number::real const* weights;  // this head's; null: 1
  std::uint64_t heads;
  std::int64_t const* end_offsets;
  GARNER_HD std::uint32_t id(std::uint64_t k) const { return static_cast<std::uint32_t>(of.ends[k]); }
  GARNER_HD bool scaled() const { return weights || end_offsets; }
  GARNER_HD typename Number::real scale(std::uint64_t k) const {
    using real = typename Number::real;
    real const w = weights ? weights[(of.order ? static_cast<std::uint64_t>(of.order[k]) : k) * heads] : real{1};
    return end_offsets ? w / static_cast<real>(end_offsets[of.ends[k] + 1] - end_offsets[of.ends[k]]) : w;
  }
  GARNER_HD static typename Number::real widened(typename Number::stored v) { return Number::widened(v); }
};
// The sums of the slices of a long list: of its first slice that of the list of its last edge, of others that of their first.
template <class Real>
struct rows_of_slices {
  Real const* data;
  std::uint64_t stride, first;
  bool begins_with_it;
  GARNER_HD std::uint64_t id(std::uint64_t k) const { return 2 * k + (k == first && !begins_with_it); }
  GARNER_HD bool scaled() const { return false; }
  GARNER_HD Real scale(std::uint64_t) const { return 1; }
};

template <class Number>
struct summed {
  using real = typename Number::real;
  using stored = typename Number::stored;
  lists of;
  std::uint64_t heads, columns;
  stored const* in;
  stored* out;
  real const* weights;
  bool mean;
  std::int64_t const* end_offsets;
  real* slices;  // two rows per slice
  bool wide;
  stored const* own;  // what loops add
  real const* eps;

  GARNER_HD rows_of_head<Number> rows(std::uint64_t head) const {
    return {in + head * columns, heads * columns, of, weights ? weights + head : nullptr, heads, end_offsets};
  }
  GARNER_HD real* slice_row(std::uint64_t k, std::uint64_t head) const { return slices + (k * heads + head) * columns; }
};

template <class Number, class Rows>
struct into_item {
  using real = typename Number::real;
  Rows from;
  typename Number::stored* out;
  real factor;
  typename Number::stored const* own;  // null: no loop
  real own_factor;
  GARNER_HD real start(std::uint64_t) const { return 0; }
  GARNER_HD Rows rows() const { return from; }
  template <int Each>
  GARNER_HD void done(std::uint64_t c, row_part<real, Each> const& sum) const {
    using part = row_part<typename Number::stored, Each>;
    part value;
    if (own) {
      part const mine = part::in(own + c);
      for (int j = 0; j < Each; ++j) value.v[j] = Number::narrowed(factor * sum.v[j] + own_factor * Number::widened(mine.v[j]));
    } else {
      for (int j = 0; j < Each; ++j) value.v[j] = Number::narrowed(factor * sum.v[j]);
    }
    part::in(out + c) = value;
  }
};
template <class Number, class Rows>
GARNER_HD into_item<Number, Rows> into(summed<Number> const& s, std::uint64_t i, std::uint64_t head, Rows const& from, indices list) {
  using real = typename Number::real;
  bool const divided = s.mean && list.end > list.begin, loop = i < s.of.loops;
  std::uint64_t const at = (i * s.heads + head) * s.columns;
  return {from, s.out + at, divided ? 1 / static_cast<real>(list.end - list.begin) : real{1}, loop ? s.own + at : nullptr,
          loop && s.weights ? s.weights[(s.of.edges + i) * s.heads + head]
          : s.eps           ? 1 + *s.eps
                            : real{1}};
}

// A list, or what a slice has of long ones. Slices come first: they take the longest.
template <class Number>
struct sum_list {
  summed<Number> s;
  std::uint64_t slices;
  struct into_slice {
    using real = typename Number::real;
    rows_of_head<Number> from;
    real* out;
    GARNER_HD real start(std::uint64_t) const { return 0; }
    GARNER_HD rows_of_head<Number> rows() const { return from; }
    template <int Each>
    GARNER_HD void done(std::uint64_t c, row_part<real, Each> const& sum) const {
      row_part<real, Each>::in(out + c) = sum;
    }
  };
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    std::uint64_t const head = k % s.heads, item = k / s.heads;
    if (item >= 2 * slices) {
      std::uint64_t const i = item - 2 * slices;
      indices const list = list_at(s.of, i);
      if (!is_long(list)) t.template add_rows<typename Number::real>(list, s.columns, s.wide, into(s, i, head, s.rows(head), list));
      return;
    }
    std::uint64_t const begin = item / 2 * slice_edges, end = smaller(begin + slice_edges, s.of.edges);
    std::uint64_t const first = list_of(s.of, begin);
    std::uint64_t const i = item % 2 ? list_of(s.of, end - 1) : first;
    if (item % 2 && i == first) return;
    indices const list = list_at(s.of, i);
    if (!is_long(list)) return;
    t.template add_rows<typename Number::real>({larger(begin, list.begin), smaller(end, list.end)}, s.columns, s.wide,
                                               into_slice{s.rows(head), s.slice_row(item, head)});
  }
};
// The slices of the long list that begins in one.
template <class Number>
struct sum_slices {
  summed<Number> s;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    std::uint64_t const head = k % s.heads, slice = k / s.heads;
    std::uint64_t const begin = slice * slice_edges, end = smaller(begin + slice_edges, s.of.edges);
    std::uint64_t const i = list_of(s.of, end - 1);
    indices const list = list_at(s.of, i);
    if (list.begin < begin || !is_long(list)) return;
    rows_of_slices<typename Number::real> const from{s.slice_row(0, head), s.heads * s.columns, slice, list_of(s.of, begin) == i};
    t.template add_rows<typename Number::real>({slice, (list.end - 1) / slice_edges + 1}, s.columns, s.wide, into(s, i, head, from, list));
  }
};

template <class Number>
struct multiply_ends {
  using real = typename Number::real;
  lists of;
  std::uint64_t heads, columns;
  typename Number::stored const *in, *gradients;
  real* out;
  bool mean;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    std::uint64_t const head = k % heads, e = k / heads;
    bool const loop = e >= of.edges;
    std::uint64_t const i = loop ? e - of.edges : list_of(of, e), end = loop ? i : static_cast<std::uint64_t>(of.ends[e]);
    auto const* const row = in + (end * heads + head) * columns;
    auto const* const gradient = gradients + (i * heads + head) * columns;
    real const product =
        t.sum(indices{0, columns}, [&](std::uint64_t c) -> real { return Number::widened(row[c]) * Number::widened(gradient[c]); });
    indices const list = list_at(of, i);
    t.once([&] {
      std::uint64_t const at = of.order && !loop ? static_cast<std::uint64_t>(of.order[e]) : e;
      out[at * heads + head] = mean && !loop ? product / static_cast<real>(list.end - list.begin) : product;
    });
  }
};

// One head of attention. A list's edges and, behind them, its loop are places [begin, end + loop).
template <class Real>
struct attention {
  lists of;
  std::uint64_t heads;
  Real const* scores;
  Real slope;

  // Sum of exponentials, each relative to that of the largest.
  struct shares {
    Real most = 0, sum = 0;  // sum 0: of none
    GARNER_HD friend shares operator+(shares a, shares b) {
      if (a.sum == 0) return b;
      if (b.sum == 0) return a;
      Real const most = larger(a.most, b.most);
      return {most, a.sum * std::exp(a.most - most) + b.sum * std::exp(b.most - most)};
    }
  };
  GARNER_HD indices places(std::uint64_t i) const {
    indices const list = list_at(of, i);
    return {list.begin, list.end + (i < of.loops)};
  }
  GARNER_HD bool is_loop(std::uint64_t i, std::uint64_t k) const { return k == static_cast<std::uint64_t>(of.offsets[i + 1]); }
  GARNER_HD std::uint64_t weight_of(std::uint64_t i, std::uint64_t k, std::uint64_t head) const {
    return (is_loop(i, k) ? of.edges + i : of.order ? static_cast<std::uint64_t>(of.order[k]) : k) * heads + head;
  }
  GARNER_HD std::uint64_t end_of(std::uint64_t i, std::uint64_t k) const {
    return is_loop(i, k) ? i : static_cast<std::uint64_t>(of.ends[k]);
  }
  GARNER_HD bool counts(std::uint64_t i, std::uint64_t k) const { return i >= of.loops || is_loop(i, k) || end_of(i, k) != i; }
  GARNER_HD std::uint64_t score_of(std::uint64_t i, std::uint64_t head, int side) const { return (head * of.items + i) * 2 + side; }
  GARNER_HD Real before_slope(std::uint64_t i, std::uint64_t k, std::uint64_t head) const {
    return scores[score_of(end_of(i, k), head, 0)] + scores[score_of(i, head, 1)];
  }
  GARNER_HD Real score(std::uint64_t i, std::uint64_t k, std::uint64_t head) const {
    Real const v = before_slope(i, k, head);
    return v < 0 ? slope * v : v;
  }
};

template <class Real>
struct soften_list {
  attention<Real> a;
  Real* weights;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    using shares = typename attention<Real>::shares;
    std::uint64_t const head = k % a.heads, i = k / a.heads;
    indices const places = a.places(i);
    shares const all = t.sum(places, [&](std::uint64_t e) -> shares { return a.counts(i, e) ? shares{a.score(i, e, head), 1} : shares{}; });
    t.each(places, [&](std::uint64_t e) {
      weights[a.weight_of(i, e, head)] = a.counts(i, e) ? std::exp(a.score(i, e, head) - all.most) / all.sum : 0;
    });
  }
};
// For a list: scores of its edges, and their sum, which is the gradient of the item's own term.
template <class Real>
struct soften_list_back {
  attention<Real> a;
  Real const* weights;
  Real *gradients, *of_scores;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    std::uint64_t const head = k % a.heads, i = k / a.heads;
    indices const places = a.places(i);
    Real const mean = t.sum(places, [&](std::uint64_t e) -> Real {
      std::uint64_t const at = a.weight_of(i, e, head);
      return weights[at] * gradients[at];
    });
    auto const of_edge = [&](std::uint64_t e) -> Real {
      std::uint64_t const at = a.weight_of(i, e, head);
      Real const by_score = weights[at] * (gradients[at] - mean);
      return a.before_slope(i, e, head) > 0 ? by_score : a.slope * by_score;  // at 0 as torch has it
    };
    Real const sum = t.sum(places, of_edge);
    t.each(places, [&](std::uint64_t e) { gradients[a.weight_of(i, e, head)] = of_edge(e); });
    t.once([&] { of_scores[a.score_of(i, head, 1)] = sum; });
  }
};
// The same of the other ends, once the edges' are there.
template <class Real>
struct soften_ends_back {
  attention<Real> back;
  Real const* gradients;
  Real* of_scores;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    std::uint64_t const head = k % back.heads, i = k / back.heads;
    Real const sum = t.sum(back.places(i), [&](std::uint64_t e) -> Real { return gradients[back.weight_of(i, e, head)]; });
    t.once([&] { of_scores[back.score_of(i, head, 0)] = sum; });
  }
};

// For items that read a list of numbers each.
template <class Body>
void for_each_list(executor& x, lists const& l, std::uint64_t heads, Body const& body) {
  if (l.edges <= 16 * l.items) for_each_item<8>(x, l.items * heads, body);
  else for_each_item<32>(x, l.items * heads, body);
}

template <class F>
void with_number(row_real kind, F f) {
  switch (kind) {
    case row_real::f32:
      return f(exact<float>{});
    case row_real::f64:
      return f(exact<double>{});
    case row_real::f16:
      return f(rounded<from_half, to_half>{});
    case row_real::bf16:
      return f(rounded<from_brain, to_brain>{});
  }
}

void require(executor& x, lists const& l, shape const& s, void const* in, void const* out) {
  if (l.items >= std::uint64_t{1} << 31 || l.edges >= std::uint64_t{1} << 31)
    fail(errc::usage, "{} lists and {} edges; sums are over less than 2^31 of each; split them", l.items, l.edges);
  if (l.loops > l.items) fail(errc::usage, "{} loops of {} lists; give as many lists", l.loops, l.items);
  if (s.heads == 0) fail(errc::usage, "rows of 0 heads; set heads to 1 or more");
  require_readable(x, in, "rows");
  require_readable(x, out, "outputs");
}

}  // namespace

struct list_sums::impl {
  executor x;
  explicit impl(execution_device where) : x(where) {}
  template <class F>
  void run(stream_ref stream, F const& f) {
    if (x.asynchronous()) x.work_on(stream.get());
    f();
    if (x.asynchronous() && !stream) x.wait();
  }
};

list_sums::list_sums(execution_device where) : impl_(as_error([&] { return std::make_unique<impl>(where); })) {}
list_sums::~list_sums() = default;
list_sums::list_sums(list_sums&&) noexcept = default;
list_sums& list_sums::operator=(list_sums&&) noexcept = default;
execution_device list_sums::device() const { return impl_->x.where(); }

std::uint64_t list_sums::scratch_bytes(lists const& l, shape const& s) {
  return 2 * slices_of(l.edges) * s.heads * s.columns * (s.kind == row_real::f64 ? sizeof(double) : sizeof(float));
}

void list_sums::sum(lists const& l, shape const& s, void const* in, void* out, void const* weights, scale by,
                    std::int64_t const* end_offsets, void* scratch, stream_ref stream, void const* own, void const* eps) {
  as_error([&] {
    executor& x = impl_->x;
    require(x, l, s, in, out);
    require_readable(x, own, "rows of loops");
    require_readable(x, eps, "eps");
    if ((by == scale::shares) != (end_offsets != nullptr)) fail(errc::usage, "end_offsets are for shares; set both or neither");
    if (scratch_bytes(l, s) && !scratch) fail(errc::usage, "no scratch; give scratch_bytes() of it");
    if (l.items == 0 || s.columns == 0) return;
    with_number(s.kind, [&]<class Number>(Number) {
      using real = typename Number::real;
      summed<Number> body{l,
                          s.heads,
                          s.columns,
                          static_cast<typename Number::stored const*>(in),
                          static_cast<typename Number::stored*>(out),
                          static_cast<real const*>(weights),
                          by == scale::mean,
                          end_offsets,
                          static_cast<real*>(scratch),
                          false,
                          static_cast<typename Number::stored const*>(own ? own : in),
                          static_cast<real const*>(eps)};
      constexpr std::uint64_t each = 16 / sizeof(real);
      auto const begins_wide = [](void const* at, std::size_t bytes) { return std::bit_cast<std::uintptr_t>(at) % bytes == 0; };
      body.wide = s.columns % each == 0 && begins_wide(in, each * sizeof(*body.in)) && begins_wide(out, each * sizeof(*body.in)) &&
                  begins_wide(scratch, 16) && begins_wide(body.own, each * sizeof(*body.in));
      std::uint64_t const slices = slices_of(l.edges);
      impl_->run(stream, [&] {
        for_each_row<real>(x, (2 * slices + l.items) * s.heads, s.columns, body.wide, sum_list<Number>{body, slices});
        if (slices) for_each_row<real>(x, slices * s.heads, s.columns, body.wide, sum_slices<Number>{body});
      });
    });
  });
}

void list_sums::dot(lists const& l, shape const& s, void const* in, void const* gradients, void* out, scale by, stream_ref stream) {
  as_error([&] {
    executor& x = impl_->x;
    require(x, l, s, in, out);
    require_readable(x, gradients, "gradients");
    if (by == scale::shares) fail(errc::usage, "the gradients of the weights of shares; take those of none or mean");
    with_number(s.kind, [&]<class Number>(Number) {
      using stored = typename Number::stored;
      multiply_ends<Number> const body{l,
                                       s.heads,
                                       s.columns,
                                       static_cast<stored const*>(in),
                                       static_cast<stored const*>(gradients),
                                       static_cast<typename Number::real*>(out),
                                       by == scale::mean};
      impl_->run(stream, [&] { for_each_narrow(x, (l.edges + l.loops) * s.heads, s.columns, body); });
    });
  });
}

namespace {

template <class F>
void with_real(row_real kind, F f) {
  if (kind == row_real::f32) return f(float{});
  if (kind == row_real::f64) return f(double{});
  fail(errc::usage, "scores of 16 bits; widen them to f32");
}

}  // namespace

void list_sums::soften(lists const& l, shape const& s, void const* scores, void* weights, double slope, stream_ref stream) {
  as_error([&] {
    executor& x = impl_->x;
    require(x, l, s, scores, weights);
    with_real(s.kind, [&]<class Real>(Real) {
      attention<Real> const a{l, s.heads, static_cast<Real const*>(scores), static_cast<Real>(slope)};
      impl_->run(stream, [&] { for_each_list(x, l, s.heads, soften_list<Real>{a, static_cast<Real*>(weights)}); });
    });
  });
}

void list_sums::soften_back(lists const& l, lists const& back, shape const& s, void const* scores, void const* weights, void* gradients,
                            void* of_scores, double slope, stream_ref stream) {
  as_error([&] {
    executor& x = impl_->x;
    require(x, l, s, scores, weights);
    require(x, back, s, gradients, of_scores);
    if (back.items != l.items || back.loops != l.loops)
      fail(errc::usage, "{} lists and {} by the other ends; scores are of as many", l.items, back.items);
    with_real(s.kind, [&]<class Real>(Real) {
      attention<Real> const a{l, s.heads, static_cast<Real const*>(scores), static_cast<Real>(slope)},
          turned{back, s.heads, a.scores, a.slope};
      auto *const of_edges = static_cast<Real*>(gradients), *const to = static_cast<Real*>(of_scores);
      impl_->run(stream, [&] {
        for_each_list(x, l, s.heads, soften_list_back<Real>{a, static_cast<Real const*>(weights), of_edges, to});
        for_each_list(x, back, s.heads, soften_ends_back<Real>{turned, of_edges, to});
      });
    });
  });
}

}  // namespace garner
