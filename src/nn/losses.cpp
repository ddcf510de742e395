#include <cmath>
#include <cstdint>
#include <limits>

#include "core/exec.hpp"
#include "nn/pointwise.hpp"
#include "nn/row_teams.hpp"

namespace garner {

namespace {

// Slices of rows, slices of those, and so on until they are one slice.
constexpr std::uint64_t slices_of_losses(std::uint64_t rows) {
  std::uint64_t n = row_slices(rows), all = n;
  while (n > slice_rows) n = row_slices(n), all += n;
  return all;
}

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
    each_row_part<Real>(t, classes, wide, [&](std::uint64_t c, auto n) {
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
void mark_bad(executor& x, Real const* values, std::uint64_t count, std::uint64_t told, std::uint64_t* bad) {
  for_each_item<1>(x, count, mark_bad_number<Real>{values, told, bad});
}
template <class Real>
void spoil(executor& x, std::uint64_t const* bad, Real* value) {
  for_each_item<1>(x, 1, spoil_number<Real>{bad, value});
}
template <class Real>
void losses<Real>::add_up(executor& x, std::uint64_t count, loss_totals* totals) {
  loss_totals* from = room(x, slices_, slices_of_losses(count), "losses of a mini-batch");
  std::uint64_t n = row_slices(count);
  for_each_item<1>(x, n, slice_of_rows{{loss_.data(), correct_.data(), counted_.data(), bad_.data()}, count, n, from});
  for (; n > slice_rows; n = row_slices(n)) {
    for_each_item<1>(x, row_slices(n), slice_of_totals{from, n, from + n, false});
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

#define GARNER_OF_REAL(Real)                                                                                              \
  template void mark_bad(executor&, Real const*, std::uint64_t, std::uint64_t, std::uint64_t*);                           \
  template void spoil(executor&, std::uint64_t const*, Real*);                                                            \
  template class losses<Real>;                                                                                            \
  template void adam(executor&, Real*, Real const*, Real*, Real*, std::uint64_t, adam_step const&, std::uint64_t const*); \
  template std::uint64_t first_bad(executor&, Real const*, std::uint64_t, buffer<std::uint64_t>*)
GARNER_OF_REAL(float);
GARNER_OF_REAL(double);
#undef GARNER_OF_REAL

}  // namespace garner
