#include "nn/pointwise.hpp"

#include <cmath>
#include <cstdint>

#include "core/exec.hpp"
#include "core/random.hpp"
#include "nn/row_teams.hpp"

namespace garner {

namespace {

constexpr std::uint64_t block_columns = 32;

// A factor of each number: 0, or what makes up for those; 1 where nothing is left out.
template <class Real>
struct keeper {
  std::uint64_t seed, stream, apart, first;
  std::uint64_t const* step;
  std::uint32_t threshold;  // of 2^16: below it is left out
  Real factor;
  explicit keeper(dropped const& d)
      : seed(d.seed),
        stream(d.stream),
        apart(d.apart),
        first(d.first),
        step(d.step),
        threshold(static_cast<std::uint32_t>(d.share * 65536.0 + 0.5)),
        factor(static_cast<Real>(65536.0 / (65536.0 - (threshold < 65536 ? threshold : 65535)))) {}
  GARNER_HD bool any() const { return threshold > 0; }
  // Calls f(c, factor) for each column of row i; four numbers share 64 bits.
  template <class Team, class F>
  GARNER_HD void each(Team const& t, std::uint64_t i, std::uint64_t columns, F f) const {
    if (!any()) {
      t.each(indices{0, columns}, [&](std::uint64_t c) { f(c, Real{1}); });
      return;
    }
    std::uint64_t const fours = (columns + 3) / 4, from = step ? stream + *step * apart : stream;
    t.each(indices{0, fours}, [&](std::uint64_t q) {
      std::uint64_t bits = random_bits(seed, from, (first + i) * fours + q);
      for (std::uint64_t c = q * 4; c < smaller(columns, q * 4 + 4); ++c, bits >>= 16) f(c, (bits & 0xffff) < threshold ? Real{0} : factor);
    });
  }
};

template <class Real>
struct activate_row {
  row_block<Real> rows;
  std::uint64_t columns;
  Real const* bias;
  bool relu;
  keeper<Real> keep;
  bool wide;
  GARNER_HD Real active(Real v, std::uint64_t c) const {
    if (bias) v += bias[c];
    return relu && v < 0 ? Real{0} : v;
  }
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    Real* const row = rows.row(i);
    if (keep.any()) return keep.each(t, i, columns, [&](std::uint64_t c, Real by) { row[c] = active(row[c], c) * by; });
    each_row_part<Real>(t, columns, wide, [&](std::uint64_t c, auto n) {
      auto& at = row_part<Real, decltype(n)::value>::in(row + c);
      auto part = at;
      for (int j = 0; j < decltype(n)::value; ++j) part.v[j] = active(part.v[j], c + j);
      at = part;
    });
  }
};

template <class Real>
struct activate_row_back {
  row_block<Real const> y;
  row_block<Real> gradient;
  std::uint64_t columns;
  bool relu;
  keeper<Real> keep;
  bool wide;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    Real const* const out = y.row(i);
    Real* const g = gradient.row(i);
    if (!relu) return keep.each(t, i, columns, [&](std::uint64_t c, Real by) { g[c] *= by; });
    each_row_part<Real>(t, columns, wide, [&](std::uint64_t c, auto n) {
      auto const of = row_part<Real, decltype(n)::value>::in(out + c);
      auto& at = row_part<Real, decltype(n)::value>::in(g + c);
      auto part = at;
      for (int j = 0; j < decltype(n)::value; ++j) part.v[j] = of.v[j] == 0 ? Real{0} : part.v[j] * keep.factor;
      at = part;
    });
  }
};

template <class Real>
struct drop_row {
  row_block<Real const> from;
  row_block<Real> to;
  std::uint64_t columns;
  keeper<Real> keep;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    Real const* const row = from.row(i);
    Real* const out = to.row(i);
    keep.each(t, i, columns, [&](std::uint64_t c, Real by) { out[c] = row[c] * by; });
  }
};

template <class Real>
struct put_row {
  row_block<Real const> from;
  row_block<Real> to;
  std::uint64_t columns;
  bool wide, add;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    Real const* const row = from.row(i);
    Real* const out = to.row(i);
    each_row_part<Real>(t, columns, wide, [&](std::uint64_t c, auto n) {
      auto const more = row_part<Real, decltype(n)::value>::in(row + c);
      auto& at = row_part<Real, decltype(n)::value>::in(out + c);
      auto part = more;
      for (int j = 0; add && j < decltype(n)::value; ++j) part.v[j] = at.v[j] + more.v[j];
      at = part;
    });
  }
};

template <class Real>
struct multiply_row {
  row_block<Real const> from;
  row_block<Real> to;
  std::uint64_t columns;
  Real const* factors;
  bool wide;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    Real const by = factors[i];
    Real const* const row = from.row(i);
    Real* const out = to.row(i);
    each_row_part<Real>(t, columns, wide, [&](std::uint64_t c, auto n) {
      auto part = row_part<Real, decltype(n)::value>::in(row + c);
      for (int j = 0; j < decltype(n)::value; ++j) part.v[j] *= by;
      row_part<Real, decltype(n)::value>::in(out + c) = part;
    });
  }
};

template <class Real>
struct scale_row {
  row_block<Real> rows;
  std::uint64_t columns;
  bool squares;
  struct size_of {
    Real const* row;
    bool squares;
    GARNER_HD Real operator()(std::uint64_t c) const { return squares ? row[c] * row[c] : row[c] < 0 ? -row[c] : row[c]; }
  };
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    Real* const row = rows.row(i);
    Real const sum = t.sum(indices{0, columns}, size_of{row, squares});
    Real const by = sum == 0 ? Real{1} : 1 / (squares ? std::sqrt(sum) : sum);
    t.each(indices{0, columns}, [&](std::uint64_t c) { row[c] *= by; });
  }
};

template <class Real>
struct mean_and_spread {
  Real mean, inverse;
  template <class Team>
  GARNER_HD static mean_and_spread of(Team const& t, Real const* row, std::uint64_t columns) {
    Real const n = static_cast<Real>(columns);
    Real const mean = t.sum(indices{0, columns}, value{row}) / n;
    Real const spread = t.sum(indices{0, columns}, square{row, mean}) / n;
    return {mean, 1 / std::sqrt(spread + static_cast<Real>(1e-5))};
  }
  struct value {
    Real const* row;
    GARNER_HD Real operator()(std::uint64_t c) const { return row[c]; }
  };
  struct square {
    Real const* row;
    Real mean;
    GARNER_HD Real operator()(std::uint64_t c) const { return (row[c] - mean) * (row[c] - mean); }
  };
};

template <class Real>
struct normalise_row {
  row_block<Real const> from;
  row_block<Real> to;
  std::uint64_t columns;
  Real const *gain, *shift;
  bool wide;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    Real const* const row = from.row(i);
    Real* const out = to.row(i);
    auto const m = mean_and_spread<Real>::of(t, row, columns);
    each_row_part<Real>(t, columns, wide, [&](std::uint64_t c, auto n) {
      auto part = row_part<Real, decltype(n)::value>::in(row + c);
      for (int j = 0; j < decltype(n)::value; ++j) part.v[j] = (part.v[j] - m.mean) * m.inverse * gain[c + j] + shift[c + j];
      row_part<Real, decltype(n)::value>::in(out + c) = part;
    });
  }
};

template <class Real>
struct normalise_row_back {
  row_block<Real const> from;
  row_block<Real> gradient, gain_terms;
  std::uint64_t columns;
  Real const* gain;
  struct scaled {  // the gradient of the normalized values, and its first two moments with them
    Real const *row, *g, *gain;
    Real mean, inverse;
    bool second;
    GARNER_HD Real operator()(std::uint64_t c) const {
      Real const d = g[c] * gain[c];
      return second ? d * (row[c] - mean) * inverse : d;
    }
  };
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    Real const* const row = from.row(i);
    Real *const g = gradient.row(i), *const terms = gain_terms.row(i);
    auto const m = mean_and_spread<Real>::of(t, row, columns);
    Real const n = static_cast<Real>(columns);
    Real const first = t.sum(indices{0, columns}, scaled{row, g, gain, m.mean, m.inverse, false}) / n,
               second = t.sum(indices{0, columns}, scaled{row, g, gain, m.mean, m.inverse, true}) / n;
    t.each(indices{0, columns}, [&](std::uint64_t c) {
      Real const normal = (row[c] - m.mean) * m.inverse, d = g[c];
      terms[c] = d * normal;
      g[c] = m.inverse * (d * gain[c] - first - normal * second);
    });
  }
};

// A slice of 32 columns a team, so that few rows keep a device busy too.
template <class Real>
struct sum_slice {
  row_block<Real const> rows;
  std::uint64_t count, columns, blocks;
  bool add;  // of the last, where there is one slice
  Real* sums;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t item) const {
    std::uint64_t const slice = item / blocks, first = item % blocks * block_columns;
    std::uint64_t const from = slice * slice_rows, to = smaller(count, from + slice_rows);
    t.each(indices{first, smaller(columns, first + block_columns)}, [&](std::uint64_t c) {
      Real sum = 0;
#if defined(__CUDACC__)
#pragma unroll 16
#endif
      for (std::uint64_t i = from; i < to; ++i) sum += rows.row(i)[c];
      Real* const out = sums + slice * columns + c;
      *out = add ? *out + sum : sum;
    });
  }
};

template <class T>
struct pick_row {
  std::int64_t const* positions;
  T const* from;
  std::uint64_t columns;
  T* to;
  std::uint64_t first;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    std::uint64_t const at = (static_cast<std::uint64_t>(positions[i]) - first) * columns;
    t.each(indices{0, columns}, [&](std::uint64_t c) { to[i * columns + c] = from[at + c]; });
  }
};

}  // namespace

template <class Real>
void activate(executor& x, row_block<Real> rows, std::uint64_t count, std::uint64_t columns, Real const* bias, bool relu,
              dropped const& drop) {
  bool const wide = is_wide<Real>({rows.data, rows.stride}, columns);
  for_each_even_row<Real>(x, count, columns, wide, activate_row<Real>{rows, columns, bias, relu, keeper<Real>(drop), wide});
}
template <class Real>
void activate_back(executor& x, row_block<Real const> y, row_block<Real> gradient, std::uint64_t count, std::uint64_t columns, bool relu,
                   dropped const& drop) {
  keeper<Real> const keep(drop);
  if (!relu && !keep.any()) return;
  bool const wide = all_wide(columns, y, gradient);
  for_each_even_row<Real>(x, count, columns, wide, activate_row_back<Real>{y, gradient, columns, relu, keep, wide});
}
template <class Real>
void drop_rows(executor& x, row_block<Real const> from, row_block<Real> to, std::uint64_t count, std::uint64_t columns,
               dropped const& drop) {
  keeper<Real> const keep(drop);
  if (keep.any()) return for_each_narrow(x, count, columns, drop_row<Real>{from, to, columns, keep});
  // Whole lines a request: either side may be in host memory.
  bool const wide = all_wide(columns, from, to);
  for_each_even_row<Real>(x, count, columns, wide, put_row<Real>{from, to, columns, wide, false});
}
template <class Real>
void add_rows(executor& x, row_block<Real const> from, row_block<Real> to, std::uint64_t count, std::uint64_t columns) {
  bool const wide = all_wide(columns, from, to);
  for_each_even_row<Real>(x, count, columns, wide, put_row<Real>{from, to, columns, wide, true});
}
template <class Real>
void multiply_rows(executor& x, row_block<Real const> from, row_block<Real> to, std::uint64_t count, std::uint64_t columns,
                   Real const* factors) {
  bool const wide = all_wide(columns, from, to);
  for_each_even_row<Real>(x, count, columns, wide, multiply_row<Real>{from, to, columns, factors, wide});
}
template <class Real>
void scale_rows(executor& x, row_block<Real> rows, std::uint64_t count, std::uint64_t columns, row_scaling how) {
  if (how != row_scaling::none) for_each_item<32>(x, count, scale_row<Real>{rows, columns, how == row_scaling::length});
}
void pick(executor& x, std::int64_t const* positions, std::uint64_t count, std::int64_t const* from, std::int64_t* to) {
  for_each_item<1>(x, count, pick_row<std::int64_t>{positions, from, 1, to, 0});
}
void pick(executor& x, std::int64_t const* positions, std::uint64_t count, float const* from, std::uint64_t columns, float* to,
          std::uint64_t first) {
  for_each_item<32>(x, count, pick_row<float>{positions, from, columns, to, first});
}
template <class Real>
void normalise_rows(executor& x, row_block<Real const> from, row_block<Real> to, std::uint64_t count, std::uint64_t columns,
                    Real const* gain, Real const* shift) {
  for_each_narrow(x, count, columns, normalise_row<Real>{from, to, columns, gain, shift, all_wide(columns, from, to)});
}
template <class Real>
void normalise_rows_back(executor& x, row_block<Real const> from, row_block<Real> gradient, row_block<Real> gain_terms, std::uint64_t count,
                         std::uint64_t columns, Real const* gain) {
  for_each_narrow(x, count, columns, normalise_row_back<Real>{from, gradient, gain_terms, columns, gain});
}
template <class Real>
void column_sums<Real>::run(executor& x, row_block<Real const> rows, std::uint64_t count, std::uint64_t columns, Real* sums, bool add) {
  std::uint64_t const blocks = (columns + block_columns - 1) / block_columns;
  if (count == 0) {
    if (!add) x.fill(sums, 0, columns * sizeof(Real));
    return;
  }
  // Slices of slices, until there is one.
  for (bool turn = false; count > slice_rows; turn = !turn) {
    std::uint64_t const n = row_slices(count);
    Real* const partial = room(x, slices_[turn], n * columns, "sums over rows");
    for_each_item<32>(x, n * blocks, sum_slice<Real>{rows, count, columns, blocks, false, partial});
    rows = {partial, columns}, count = n;
  }
  for_each_item<32>(x, blocks, sum_slice<Real>{rows, count, columns, blocks, add, sums});
}

#define GARNER_OF_REAL(Real)                                                                                                               \
  template void activate(executor&, row_block<Real>, std::uint64_t, std::uint64_t, Real const*, bool, dropped const&);                     \
  template void activate_back(executor&, row_block<Real const>, row_block<Real>, std::uint64_t, std::uint64_t, bool, dropped const&);      \
  template void drop_rows(executor&, row_block<Real const>, row_block<Real>, std::uint64_t, std::uint64_t, dropped const&);                \
  template void add_rows(executor&, row_block<Real const>, row_block<Real>, std::uint64_t, std::uint64_t);                                 \
  template void normalise_rows(executor&, row_block<Real const>, row_block<Real>, std::uint64_t, std::uint64_t, Real const*, Real const*); \
  template void normalise_rows_back(executor&, row_block<Real const>, row_block<Real>, row_block<Real>, std::uint64_t, std::uint64_t,      \
                                    Real const*);                                                                                          \
  template void multiply_rows(executor&, row_block<Real const>, row_block<Real>, std::uint64_t, std::uint64_t, Real const*);               \
  template void scale_rows(executor&, row_block<Real>, std::uint64_t, std::uint64_t, row_scaling);                                         \
  template class column_sums<Real>
GARNER_OF_REAL(float);
GARNER_OF_REAL(double);
#undef GARNER_OF_REAL

}  // namespace garner
