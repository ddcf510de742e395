#include "nn/pointwise.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/exec.hpp"
#include "core/random.hpp"
#include "nn/row_teams.hpp"

namespace garner {

namespace {

constexpr std::uint64_t slice_rows = 64, block_columns = 32;
constexpr std::uint64_t slices_of(std::uint64_t rows) { return (rows + slice_rows - 1) / slice_rows; }
// Slices of rows, slices of those, and so on until they are one slice.
constexpr std::uint64_t slices_of_losses(std::uint64_t rows) {
  std::uint64_t n = slices_of(rows), all = n;
  while (n > slice_rows) n = slices_of(n), all += n;
  return all;
}

// Calls f(c, N) for the columns of a row, std::integral_constant N at a time: 16 bytes where rows are wide (is_wide), else one number.
template <class Real, class Team, class F>
GARNER_HD void each_part(Team const& t, std::uint64_t columns, bool wide, F f) {
  constexpr int each = 16 / sizeof(Real);
  if (wide) t.each(indices{0, columns / each}, [&](std::uint64_t p) { f(p * each, std::integral_constant<int, each>{}); });
  else t.each(indices{0, columns}, [&](std::uint64_t c) { f(c, std::integral_constant<int, 1>{}); });
}
template <class Real>
bool all_wide(std::uint64_t columns, row_block<Real const> a, row_block<Real> b) {
  return is_wide(a, columns) && is_wide<Real>({b.data, b.stride}, columns);
}

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
    each_part<Real>(t, columns, wide, [&](std::uint64_t c, auto n) {
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
    each_part<Real>(t, columns, wide, [&](std::uint64_t c, auto n) {
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
struct add_row {
  row_block<Real const> from;
  row_block<Real> to;
  std::uint64_t columns;
  bool wide;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    Real const* const row = from.row(i);
    Real* const out = to.row(i);
    each_part<Real>(t, columns, wide, [&](std::uint64_t c, auto n) {
      auto const more = row_part<Real, decltype(n)::value>::in(row + c);
      auto& at = row_part<Real, decltype(n)::value>::in(out + c);
      auto part = at;
      for (int j = 0; j < decltype(n)::value; ++j) part.v[j] += more.v[j];
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
    each_part<Real>(t, columns, wide, [&](std::uint64_t c, auto n) {
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
    each_part<Real>(t, columns, wide, [&](std::uint64_t c, auto n) {
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

// The result of one row.
struct row_verdict {
  double* loss;
  std::uint32_t *correct, *counted, *bad;
  GARNER_HD void set(std::uint64_t i, double l, std::uint32_t right, std::uint32_t of) const {
    loss[i] = l, correct[i] = right, counted[i] = of;
    bad[i] = l - l != 0;  // neither a NaN nor infinite is 0 so
  }
};

// A row of scores, with the bias that it may lack.
template <class Real>
struct score_row {
  Real const *row, *bias;
  GARNER_HD Real operator[](std::uint64_t c) const { return bias ? row[c] + bias[c] : row[c]; }
  template <int Each>
  GARNER_HD row_part<Real, Each> part(std::uint64_t c) const {
    auto p = row_part<Real, Each>::in(row + c);
    for (int j = 0; bias && j < Each; ++j) p.v[j] += bias[c + j];
    return p;
  }
};

template <class Real>
struct softmax_row {
  row_block<Real const> scores;
  Real const* bias;  // null: none
  std::int64_t const* labels;
  std::uint64_t classes;
  Real scale;
  row_block<Real> gradient;
  bool wide;
  row_verdict out;
  struct highest {
    Real value = -std::numeric_limits<Real>::infinity();
    GARNER_HD friend highest operator+(highest const& a, highest const& b) { return b.value > a.value ? b : a; }
  };
  struct score_of {
    score_row<Real> row;
    GARNER_HD highest operator()(std::uint64_t c) const { return {row[c]}; }
  };
  struct power {
    score_row<Real> row;
    Real highest;
    GARNER_HD Real operator()(std::uint64_t c) const { return std::exp(row[c] - highest); }  // of a NaN a NaN
  };
  struct is_highest {
    score_row<Real> row;
    Real highest;
    GARNER_HD std::uint32_t operator()(std::uint64_t c) const { return row[c] == highest; }
  };
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    score_row<Real> const row{scores.row(i), bias};
    std::int64_t const label = labels[i];
    Real const highest = t.sum(indices{0, classes}, score_of{row}).value;
    Real const sum = t.sum(indices{0, classes}, power{row, highest});
    bool const counts = label >= 0;
    Real const at_label = counts ? row[label] : highest;
    // With equal scores the first class is the prediction.
    bool const right = counts && at_label == highest && t.sum(indices{0, static_cast<std::uint64_t>(label)}, is_highest{row, highest}) == 0;
    Real const own = counts ? std::log(sum) + highest - at_label : sum;  // sum: a NaN shows without a label too
    t.once([&] { out.set(i, counts ? static_cast<double>(own) : own - own == 0 ? 0.0 : static_cast<double>(own), right, counts); });
    if (!gradient.data) return;
    Real* const g = gradient.row(i);
    Real const by = (counts ? scale : Real{0}) / sum, at = counts ? scale : Real{0};
    auto const of_label = static_cast<std::uint32_t>(label);
    each_part<Real>(t, classes, wide, [&](std::uint64_t c, auto n) {
      auto part = row.template part<decltype(n)::value>(c);
      for (int j = 0; j < decltype(n)::value; ++j)
        part.v[j] = std::exp(part.v[j] - highest) * by - (static_cast<std::uint32_t>(c) + j == of_label ? at : Real{0});
      row_part<Real, decltype(n)::value>::in(g + c) = part;
    });
  }
};

template <class Real>
struct sigmoid_row {
  row_block<Real const> scores;
  Real const* bias;  // null: none
  float const* truths;
  std::uint64_t classes;
  Real scale;
  row_block<Real> gradient;
  row_verdict out;
  struct cost {  // -log of the probability of what is true, without overflow
    score_row<Real> row;
    float const* truth;
    GARNER_HD double operator()(std::uint64_t c) const {
      Real const z = row[c];
      if (truth[c] < 0) return z - z;  // a NaN shows without a truth too
      return static_cast<double>((z > 0 ? z : z - z) - z * static_cast<Real>(truth[c]) + std::log1p(std::exp(z > 0 ? -z : z)));
    }
  };
  struct right {
    score_row<Real> row;
    float const* truth;
    GARNER_HD std::uint32_t operator()(std::uint64_t c) const { return truth[c] >= 0 && (row[c] > 0) == (truth[c] > 0.5f); }
  };
  struct counts {
    float const* truth;
    GARNER_HD std::uint32_t operator()(std::uint64_t c) const { return truth[c] >= 0; }
  };
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    score_row<Real> const row{scores.row(i), bias};
    float const* const truth = truths + i * classes;
    double const loss = t.sum(indices{0, classes}, cost{row, truth});
    std::uint32_t const correct = t.sum(indices{0, classes}, right{row, truth});
    std::uint32_t const counted = t.sum(indices{0, classes}, counts{truth});
    t.once([&] { out.set(i, loss, correct, counted); });
    if (!gradient.data) return;
    Real* const g = gradient.row(i);
    t.each(indices{0, classes}, [&](std::uint64_t c) {
      Real const z = row[c], e = std::exp(z > 0 ? -z : z), p = z > 0 ? 1 / (1 + e) : e / (1 + e);
      g[c] = truth[c] < 0 ? Real{0} : (p - static_cast<Real>(truth[c])) * scale;
    });
  }
};

// Rows of a slice are `apart` rows from each other, so that adjacent slices read adjacent rows.
struct slice_of_rows {
  row_verdict rows;
  std::uint64_t count, apart;
  loss_totals* slices;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t s) const {
    loss_totals t;
    for (std::uint64_t i = s; i < count; i += apart) {
      t.loss += rows.loss[i], t.correct += rows.correct[i], t.counted += rows.counted[i];
      if (rows.bad[i] && i < t.bad) t.bad = i;
    }
    slices[s] = t;
  }
};
// A slice of slices.
struct slice_of_totals {
  loss_totals const* from;
  std::uint64_t count;
  loss_totals* to;
  bool add;  // to what stands there
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t k) const {
    loss_totals t;
    if (add) t = to[k];
    for (std::uint64_t s = k * slice_rows; s < smaller(count, (k + 1) * slice_rows); ++s) {
      t.loss += from[s].loss, t.correct += from[s].correct, t.counted += from[s].counted;
      if (from[s].bad < t.bad) t.bad = from[s].bad;
    }
    to[k] = t;
  }
};

template <class Real>
struct adam_number {
  Real* values;
  Real const* gradients;
  Real *first, *second;
  Real rate, beta1, beta2, epsilon, decay;
  adam_corrections correct;
  adam_corrections const* known;
  std::uint64_t const* bad;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (bad && *bad != ~std::uint64_t{0}) return;
    Real const g = gradients[i] + decay * values[i];
    Real const m = beta1 * first[i] + (1 - beta1) * g, v = beta2 * second[i] + (1 - beta2) * g * g;
    first[i] = m, second[i] = v;
    adam_corrections const by = known ? *known : correct;
    values[i] -= rate * (m * static_cast<Real>(by.first)) / (std::sqrt(v * static_cast<Real>(by.second)) + epsilon);
  }
};

template <class Real>
struct find_bad {
  Real const* values;
  std::uint64_t* first;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (values[i] - values[i] != 0) atomic_min(first, i);
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

template <class Real>
struct mark_bad_number {
  Real const* values;
  std::uint64_t told;
  std::uint64_t* bad;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    Real const square = values[i] * values[i];
    if (square - square != 0) atomic_min(bad, told);
  }
};

template <class Real>
struct spoil_number {
  std::uint64_t const* bad;
  Real* value;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t) const {
    if (*bad != ~std::uint64_t{0}) *value = std::numeric_limits<Real>::quiet_NaN();
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
  for_each_narrow(x, count, columns, drop_row<Real>{from, to, columns, keeper<Real>(drop)});
}
template <class Real>
void add_rows(executor& x, row_block<Real const> from, row_block<Real> to, std::uint64_t count, std::uint64_t columns) {
  bool const wide = all_wide(columns, from, to);
  for_each_even_row<Real>(x, count, columns, wide, add_row<Real>{from, to, columns, wide});
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
void mark_bad(executor& x, Real const* values, std::uint64_t count, std::uint64_t told, std::uint64_t* bad) {
  for_each_item<1>(x, count, mark_bad_number<Real>{values, told, bad});
}
template <class Real>
void spoil(executor& x, std::uint64_t const* bad, Real* value) {
  for_each_item<1>(x, 1, spoil_number<Real>{bad, value});
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
    std::uint64_t const n = slices_of(count);
    Real* const partial = room(x, slices_[turn], n * columns, "sums over rows");
    for_each_item<32>(x, n * blocks, sum_slice<Real>{rows, count, columns, blocks, false, partial});
    rows = {partial, columns}, count = n;
  }
  for_each_item<32>(x, blocks, sum_slice<Real>{rows, count, columns, blocks, add, sums});
}

template <class Real>
void losses<Real>::add_up(executor& x, std::uint64_t count, loss_totals* totals) {
  loss_totals* from = room(x, slices_, slices_of_losses(count), "losses of a mini-batch");
  std::uint64_t n = slices_of(count);
  for_each_item<1>(x, n, slice_of_rows{{loss_.data(), correct_.data(), counted_.data(), bad_.data()}, count, n, from});
  for (; n > slice_rows; n = slices_of(n)) {
    for_each_item<1>(x, slices_of(n), slice_of_totals{from, n, from + n, false});
    from += n;
  }
  for_each_item<1>(x, 1, slice_of_totals{from, n, totals, true});
}
template <class Real>
void losses<Real>::softmax(executor& x, row_block<Real const> scores, std::int64_t const* labels, std::uint64_t count,
                           std::uint64_t classes, double scale, row_block<Real> gradient, loss_totals* totals, Real const* bias) {
  row_verdict const out{room(x, loss_, count, "losses of a mini-batch"), room(x, correct_, count, "losses of a mini-batch"),
                        room(x, counted_, count, "losses of a mini-batch"), room(x, bad_, count, "losses of a mini-batch")};
  for_each_narrow(x, count, classes,
                  softmax_row<Real>{scores, bias, labels, classes, static_cast<Real>(scale), gradient,
                                    gradient.data && all_wide(classes, scores, gradient), out});
  add_up(x, count, totals);
}
template <class Real>
void losses<Real>::sigmoid(executor& x, row_block<Real const> scores, float const* truths, std::uint64_t count, std::uint64_t classes,
                           double scale, row_block<Real> gradient, loss_totals* totals, Real const* bias) {
  row_verdict const out{room(x, loss_, count, "losses of a mini-batch"), room(x, correct_, count, "losses of a mini-batch"),
                        room(x, counted_, count, "losses of a mini-batch"), room(x, bad_, count, "losses of a mini-batch")};
  for_each_item<32>(x, count, sigmoid_row<Real>{scores, bias, truths, classes, static_cast<Real>(scale), gradient, out});
  add_up(x, count, totals);
}

template <class Real>
std::uint64_t losses<Real>::bytes_for(std::span<std::uint64_t const> counts) {
  std::uint64_t rows = 0, slices = 0;
  for (std::uint64_t const n : counts) rows = grown(rows, n), slices = grown(slices, slices_of_losses(n));
  return rows * (sizeof(double) + 3 * sizeof(std::uint32_t)) + slices * sizeof(loss_totals);
}

adam_corrections adam_step::corrections() const {
  auto const t = static_cast<double>(step);
  return {1 / (1 - std::pow(beta1, t)), 1 / (1 - std::pow(beta2, t))};
}
template <class Real>
void adam(executor& x, Real* values, Real const* gradients, Real* first, Real* second, std::uint64_t count, adam_step const& how,
          std::uint64_t const* bad) {
  auto const real = [](double v) { return static_cast<Real>(v); };
  for_each_item<1>(x, count,
                   adam_number<Real>{values, gradients, first, second, real(how.rate), real(how.beta1), real(how.beta2), real(how.epsilon),
                                     real(how.decay), how.corrections(), how.known, bad});
}

template <class Real>
std::uint64_t first_bad(executor& x, Real const* values, std::uint64_t count, buffer<std::uint64_t>* kept) {
  buffer<std::uint64_t> own;
  std::uint64_t* const found = room(x, kept ? *kept : own, 1, "a search for numbers that are not finite");
  x.fill(found, 0xff, sizeof(std::uint64_t));
  for_each_item<1>(x, count, find_bad<Real>{values, found});
  return x.read(found);
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
  template void mark_bad(executor&, Real const*, std::uint64_t, std::uint64_t, std::uint64_t*);                                            \
  template void spoil(executor&, std::uint64_t const*, Real*);                                                                             \
  template class column_sums<Real>;                                                                                                        \
  template class losses<Real>;                                                                                                             \
  template void adam(executor&, Real*, Real const*, Real*, Real*, std::uint64_t, adam_step const&, std::uint64_t const*);                  \
  template std::uint64_t first_bad(executor&, Real const*, std::uint64_t, buffer<std::uint64_t>*)
GARNER_OF_REAL(float);
GARNER_OF_REAL(double);
#undef GARNER_OF_REAL

}  // namespace garner
