// Elementwise operations of models, against formulas in double.
#include "nn/pointwise.hpp"

#include <cmath>
#include <limits>

#include "core/random.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

using numbers = std::vector<float>;
numbers some(std::uint64_t n, std::uint64_t seed, float from = -2, float to = 2) {
  numbers v(n);
  for (std::uint64_t i = 0; i < n; ++i) v[i] = from + (to - from) * unit_float(random_bits(seed, 0, i));
  return v;
}
void expect_near(numbers const& got, std::vector<double> const& wanted, double within = 2e-5) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(double{got[i]}, wanted[i], within * std::max(1.0, std::abs(wanted[i]))) << i;
}

class pointwise : public at_place {};
GARNER_AT_EVERY_PLACE(pointwise);

// More rows than a slice, and a number of classes that is not a multiple of any width.
constexpr std::uint64_t count = 700, classes = 7;

void expect_softmax(execution_device const& where, std::uint64_t count, std::uint64_t classes, bool equal_ones) {
  SCOPED_TRACE(std::to_string(count) + " rows of " + std::to_string(classes));
  executor x(where);
  numbers scores = some(count * classes, 1, -8, 8);
  if (equal_ones)
    for (float& s : scores) s = std::round(s);
  scores[3] = 300, scores[classes] = -300;  // neither overflows
  std::vector<std::int64_t> labels(count);
  for (std::uint64_t i = 0; i < count; ++i) labels[i] = static_cast<std::int64_t>(random_bits(2, 0, i) % (classes + 1)) - 1;
  labels[1] = -1;
  loss_totals begun{2.5, 3, 4, ~std::uint64_t{0}};
  auto const near = near_copy(x, scores);
  auto const near_labels = near_copy(x, labels);
  auto const totals = near_copy(x, std::vector{begun});
  buffer<float> gradient(x.near(), count * classes, x.device(), "a test");
  losses<float> l;
  l.softmax(x, {near.data(), classes}, near_labels.data(), count, classes, 0.25, {gradient.data(), classes}, totals.data());
  double loss = 2.5;
  std::uint64_t correct = 3, counted = 4;
  std::vector<double> wanted;
  for (std::uint64_t i = 0; i < count; ++i) {
    float const* const row = &scores[i * classes];
    double const highest = *std::max_element(row, row + classes);
    double sum = 0;
    for (std::uint64_t c = 0; c < classes; ++c) sum += std::exp(row[c] - highest);
    for (std::uint64_t c = 0; c < classes; ++c)
      wanted.push_back(labels[i] < 0 ? 0 : 0.25 * (std::exp(row[c] - highest) / sum - (static_cast<std::int64_t>(c) == labels[i])));
    if (labels[i] < 0) continue;
    loss += std::log(sum) + highest - row[labels[i]];
    correct += std::max_element(row, row + classes) - row == labels[i], ++counted;
  }
  loss_totals const got = x.read(totals.data());
  EXPECT_NEAR(got.loss, loss, 1e-5 * loss);
  EXPECT_EQ(got.correct, correct);
  EXPECT_EQ(got.counted, counted);
  EXPECT_EQ(got.bad, ~std::uint64_t{0});
  expect_near(host_copy(x, gradient.data(), gradient.size()), wanted);
  EXPECT_LT(counted, count + 4);
}
TEST_P(pointwise, softmax_is_the_formula) {
  expect_softmax(where(), count, classes, false);
  expect_softmax(where(), 5000, 16, true);  // slices of slices, rows of whole pieces; the first of equal scores counts
  expect_softmax(where(), 40, 603, false);  // wide teams
}

TEST_P(pointwise, sigmoid_is_the_formula) {
  executor x(where());
  numbers scores = some(count * classes, 3, -8, 8), truths(count * classes);
  for (std::uint64_t i = 0; i < truths.size(); ++i) truths[i] = static_cast<float>(random_bits(4, 0, i) % 3) - 1;
  scores[0] = 200, truths[0] = 0, scores[1] = -200, truths[1] = 1, scores[2] = 200, truths[2] = 1;
  auto const near = near_copy(x, scores), near_truths = near_copy(x, truths);
  auto const totals = near_copy(x, std::vector<loss_totals>(1));
  buffer<float> gradient(x.near(), count * classes, x.device(), "a test");
  losses<float> l;
  l.sigmoid(x, {near.data(), classes}, near_truths.data(), count, classes, 0.5, {gradient.data(), classes}, totals.data());
  double loss = 0;
  std::uint64_t correct = 0, counted = 0;
  std::vector<double> wanted;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    double const z = scores[i], p = 1 / (1 + std::exp(-z));
    if (truths[i] < 0) {
      wanted.push_back(0);
      continue;
    }
    wanted.push_back(0.5 * (p - truths[i]));
    loss += truths[i] == 1 ? std::log1p(std::exp(-z)) : (z > 40 ? z : std::log1p(std::exp(z)));
    ++counted, correct += (z > 0) == (truths[i] == 1);
  }
  loss_totals const got = x.read(totals.data());
  EXPECT_NEAR(got.loss, loss, 1e-5 * loss);
  EXPECT_EQ(got.correct, correct);
  EXPECT_EQ(got.counted, counted);
  EXPECT_EQ(got.bad, ~std::uint64_t{0});
  expect_near(host_copy(x, gradient.data(), gradient.size()), wanted);
}

TEST_P(pointwise, losses_name_the_first_row_that_holds_no_number) {
  executor x(where());
  for (float const bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    numbers scores = some(count * classes, 1);
    scores[600 * classes] = bad, scores[300 * classes + 6] = bad;
    auto const near = near_copy(x, scores), truths = near_copy(x, numbers(count * classes, -1));
    auto const labels = near_copy(x, std::vector<std::int64_t>(count, -1));
    losses<float> l;
    auto const totals = near_copy(x, std::vector<loss_totals>(2));
    l.softmax(x, {near.data(), classes}, labels.data(), count, classes, 1, {}, totals.data());
    l.sigmoid(x, {near.data(), classes}, truths.data(), count, classes, 1, {}, totals.data() + 1);
    EXPECT_EQ(x.read(totals.data()).bad, 300u);
    EXPECT_EQ(x.read(totals.data() + 1).bad, 300u);
  }
}

TEST_P(pointwise, activation_adds_a_bias_and_cuts) {
  executor x(where());
  numbers const rows = some(50 * 9, 5), bias = some(9, 6), g = some(50 * 9, 7);
  for (bool const relu : {true, false}) {
    auto const near = near_copy(x, rows), near_bias = near_copy(x, bias), gradient = near_copy(x, g);
    activate<float>(x, {near.data(), 9}, 50, 9, near_bias.data(), relu, {});
    std::vector<double> wanted, of_in;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      float const v = rows[i] + bias[i % 9];
      wanted.push_back(relu && v < 0 ? 0 : v), of_in.push_back(relu && v <= 0 ? 0 : g[i]);
    }
    expect_near(host_copy(x, near.data(), rows.size()), wanted);
    activate_back<float>(x, {near.data(), 9}, {gradient.data(), 9}, 50, 9, relu, {});
    expect_near(host_copy(x, gradient.data(), rows.size()), of_in);
  }
}

TEST_P(pointwise, dropout_leaves_out_its_share) {
  executor x(where());
  constexpr std::uint64_t rows = 400, columns = 101;
  auto const ones = near_copy(x, numbers(rows * columns, 1));
  buffer<float> to(x.near(), rows * columns, x.device(), "a test");
  auto const dropped_by = [&](dropped const& d) {
    drop_rows<float>(x, {ones.data(), columns}, {to.data(), columns}, rows, columns, d);
    return host_copy(x, to.data(), rows * columns);
  };
  for (double const share : {0.1, 0.5, 0.8}) {
    dropped const d{share, 11, 3};
    numbers const got = dropped_by(d);
    EXPECT_EQ(got, dropped_by(d));
    EXPECT_NE(got, dropped_by({share, 12, 3}));
    EXPECT_NE(got, dropped_by({share, 11, 4}));
    // Chi-square of dropped elements per column: 101 of them, 3.3 deviations.
    double chi = 0, sum = 0;
    for (std::uint64_t c = 0; c < columns; ++c) {
      double out = 0;
      for (std::uint64_t r = 0; r < rows; ++r) {
        float const v = got[r * columns + c];
        if (v == 0) out += 1;
        else ASSERT_NEAR(double{v}, 1 / (1 - share), 1e-4);
        sum += double{v};
      }
      double const expected = static_cast<double>(rows) * share;
      chi += (out - expected) * (out - expected) / (expected * (1 - share));
    }
    EXPECT_LT(chi, 101 + 3.3 * std::sqrt(202.0)) << share;
    EXPECT_GT(chi, 101 - 3.3 * std::sqrt(202.0)) << share;
    EXPECT_NEAR(sum / (rows * columns), 1, 0.04);
  }
  EXPECT_EQ(dropped_by({}), numbers(rows * columns, 1));
  // Dropped elements pass no gradient: the same positions, the same factor.
  dropped const d{0.4, 5, 6};
  numbers const kept = dropped_by(d);
  auto const g = near_copy(x, numbers(rows * columns, 1));
  activate_back<float>(x, {ones.data(), columns}, {g.data(), columns}, rows, columns, false, d);
  EXPECT_EQ(host_copy(x, g.data(), rows * columns), kept);
}

TEST_P(pointwise, rows_are_scaled_by_their_sum_or_length) {
  executor x(where());
  numbers rows = some(20 * 33, 8);
  std::fill_n(rows.begin() + 33, 33, 0.0f);
  for (row_scaling const how : {row_scaling::none, row_scaling::sum, row_scaling::length}) {
    auto const near = near_copy(x, rows);
    scale_rows(x, row_block<float>{near.data(), 33}, 20, 33, how);
    std::vector<double> wanted;
    for (std::size_t r = 0; r < 20; ++r) {
      double size = 0;
      for (std::size_t c = 0; c < 33; ++c) {
        double const v = rows[r * 33 + c];
        size += how == row_scaling::length ? v * v : std::abs(v);
      }
      if (how == row_scaling::length) size = std::sqrt(size);
      if (how == row_scaling::none || size == 0) size = 1;
      for (std::size_t c = 0; c < 33; ++c) wanted.push_back(rows[r * 33 + c] / size);
    }
    expect_near(host_copy(x, near.data(), rows.size()), wanted);
  }
}

TEST_P(pointwise, rows_of_any_width_are_multiplied_by_their_factors) {
  executor x(where());
  constexpr std::uint64_t rows = 70, stride = 72;
  numbers const in = some(rows * stride, 20), factors = some(rows, 21);
  auto const near = near_copy(x, in), by = near_copy(x, factors);
  for (std::uint64_t const columns : {1, 4, 16, 17, 32, 64, 71}) {
    for (std::uint64_t const first : {0, 1}) {  // with 16-byte alignment, and without
      if (first + columns > stride) continue;
      auto const to = near_copy(x, numbers(rows * columns, 7));
      multiply_rows<float>(x, {near.data() + first, stride}, {to.data(), columns}, rows, columns, by.data());
      numbers wanted;
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) wanted.push_back(factors[r] * in[r * stride + first + c]);
      EXPECT_EQ(host_copy(x, to.data(), rows * columns), wanted) << columns << " " << first;
    }
  }
}

TEST_P(pointwise, layer_norm_is_the_formula) {
  executor x(where());
  constexpr std::uint64_t rows = 30, columns = 37;
  numbers const in = some(rows * columns, 9), gain = some(columns, 10), shift = some(columns, 11), g = some(rows * columns, 12);
  auto const near = near_copy(x, in), near_gain = near_copy(x, gain), near_shift = near_copy(x, shift), gradient = near_copy(x, g);
  buffer<float> to(x.near(), rows * columns, x.device(), "a test"), terms(x.near(), rows * columns, x.device(), "a test");
  normalise_rows<float>(x, {near.data(), columns}, {to.data(), columns}, rows, columns, near_gain.data(), near_shift.data());
  normalise_rows_back<float>(x, {near.data(), columns}, {gradient.data(), columns}, {terms.data(), columns}, rows, columns,
                             near_gain.data());
  std::vector<double> wanted, of_in, of_gain;
  for (std::uint64_t r = 0; r < rows; ++r) {
    std::vector<double> z(in.begin() + static_cast<long>(r * columns), in.begin() + static_cast<long>((r + 1) * columns));
    auto const normal = [&](std::vector<double> const& v) {
      double mean = 0, square = 0;
      for (double const e : v) mean += e / columns;
      for (double const e : v) square += (e - mean) * (e - mean) / columns;
      std::vector<double> out;
      for (double const e : v) out.push_back((e - mean) / std::sqrt(square + 1e-5));
      return out;
    };
    std::vector<double> const now = normal(z);
    for (std::uint64_t c = 0; c < columns; ++c) {
      wanted.push_back(now[c] * gain[c] + shift[c]), of_gain.push_back(g[r * columns + c] * now[c]);
      double slope = 0;  // finite differences
      for (double const step : {1e-5, -1e-5}) {
        std::vector<double> moved = z;
        moved[c] += step;
        std::vector<double> const there = normal(moved);
        for (std::uint64_t k = 0; k < columns; ++k) slope += g[r * columns + k] * gain[k] * there[k] / (2 * step);
      }
      of_in.push_back(slope);
    }
  }
  expect_near(host_copy(x, to.data(), to.size()), wanted);
  expect_near(host_copy(x, terms.data(), terms.size()), of_gain);
  expect_near(host_copy(x, gradient.data(), g.size()), of_in, 1e-4);
}

TEST_P(pointwise, columns_are_summed) {
  executor x(where());
  for (std::uint64_t const rows : {1u, 255u, 256u, 257u, 1000u}) {
    numbers const in = some(rows * 13, 13);
    auto const near = near_copy(x, in), sums = near_copy(x, numbers(10, 0.5f));
    std::vector<double> once(10), twice(10);
    for (std::uint64_t i = 0; i < rows; ++i)
      for (std::uint64_t c = 0; c < 10; ++c) once[c] += in[i * 13 + c], twice[c] += 2 * in[i * 13 + c];  // the stride is 13
    column_sums<float> s;
    s.run(x, {near.data(), 13}, rows, 10, sums.data());
    expect_near(host_copy(x, sums.data(), 10), once, 1e-4);
    s.run(x, {near.data(), 13}, rows, 10, sums.data(), true);
    expect_near(host_copy(x, sums.data(), 10), twice, 1e-4);
  }
}

TEST_P(pointwise, adam_is_the_formula) {
  executor x(where());
  constexpr std::uint64_t n = 100;
  numbers const begun = some(n, 14);
  auto const values = near_copy(x, begun), first = near_copy(x, numbers(n)), second = near_copy(x, numbers(n));
  std::vector<double> w(begun.begin(), begun.end()), m(n), v(n);
  auto const bad = near_copy(x, std::vector<std::uint64_t>{~std::uint64_t{0}});
  for (std::uint64_t t = 1; t <= 20; ++t) {
    numbers const g = some(n, 100 + t);
    auto const gradients = near_copy(x, g);
    adam_step how;
    how.rate = 0.03, how.decay = 0.1, how.step = t;
    adam(x, values.data(), gradients.data(), first.data(), second.data(), n, how, bad.data());
    x.wait();
    for (std::uint64_t i = 0; i < n; ++i) {
      double const d = g[i] + 0.1 * w[i];
      m[i] = 0.9 * m[i] + 0.1 * d, v[i] = 0.999 * v[i] + 0.001 * d * d;
      auto const at = static_cast<double>(t);
      w[i] -= 0.03 * (m[i] / (1 - std::pow(0.9, at))) / (std::sqrt(v[i] / (1 - std::pow(0.999, at))) + 1e-8);
    }
  }
  numbers const got = host_copy(x, values.data(), n);
  expect_near(got, w, 1e-4);
  std::uint64_t const found = 7;
  x.copy(bad.data(), &found, sizeof found);
  auto const gradients = near_copy(x, numbers(n, std::nanf("")));
  adam(x, values.data(), gradients.data(), first.data(), second.data(), n, {}, bad.data());
  EXPECT_EQ(host_copy(x, values.data(), n), got);
}

TEST_P(pointwise, what_is_no_number_is_found) {
  executor x(where());
  numbers v = some(5000, 15);
  auto near = near_copy(x, v);
  EXPECT_EQ(first_bad(x, near.data(), v.size()), ~std::uint64_t{0});
  auto const bad = near_copy(x, std::vector<std::uint64_t>{9});
  mark_bad(x, near.data(), v.size(), 4, bad.data());
  EXPECT_EQ(x.read(bad.data()), 9u);
  v[4711] = std::nanf(""), v[4000] = -std::numeric_limits<float>::infinity();
  near = near_copy(x, v);
  EXPECT_EQ(first_bad(x, near.data(), v.size()), 4000u);
  mark_bad(x, near.data(), v.size(), 4, bad.data());
  EXPECT_EQ(x.read(bad.data()), 4u);
  v[4711] = 1, v[4000] = 1e20f;  // a number whose square overflows
  near = near_copy(x, v);
  mark_bad(x, near.data(), v.size(), 2, bad.data());
  EXPECT_EQ(x.read(bad.data()), 2u);
}

// Adding a bias late gives the same bits as adding it before.
TEST_P(pointwise, losses_add_the_bias_that_scores_lack) {
  executor x(where());
  for (std::uint64_t const classes : {3u, 64u}) {
    constexpr std::uint64_t count = 130;
    std::vector<float> scores(count * classes), bias(classes), truths(count * classes);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      scores[i] = 4 * static_cast<float>(unit_float(random_bits(1, classes, i))) - 2;
      truths[i] = static_cast<float>(random_bits(2, classes, i) % 2);
    }
    for (std::size_t c = 0; c < classes; ++c) bias[c] = static_cast<float>(unit_float(random_bits(3, classes, c)));
    std::vector<float> with = scores;
    for (std::size_t i = 0; i < with.size(); ++i) with[i] += bias[i % classes];
    std::vector<std::int64_t> labels(count);
    for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<std::int64_t>(random_bits(4, classes, i) % classes);
    auto const near_bias = near_copy(x, bias), near_truths = near_copy(x, truths);
    auto const near_labels = near_copy(x, labels);
    for (bool const one_class : {true, false}) {
      std::vector<float> found[2];
      double loss[2];
      for (int k = 0; k < 2; ++k) {
        auto const rows = near_copy(x, k ? scores : with);
        auto const totals = near_copy(x, std::vector{loss_totals{}});
        float const* const lacks = k ? near_bias.data() : nullptr;
        row_block<float> const to{rows.data(), classes};  // in place, as callers may
        losses<float> l;
        if (one_class) l.softmax(x, {rows.data(), classes}, near_labels.data(), count, classes, 0.5, to, totals.data(), lacks);
        else l.sigmoid(x, {rows.data(), classes}, near_truths.data(), count, classes, 0.5, to, totals.data(), lacks);
        found[k] = host_copy(x, rows.data(), scores.size());
        loss[k] = host_copy(x, totals.data(), 1)[0].loss;
      }
      EXPECT_EQ(found[0], found[1]);
      EXPECT_EQ(loss[0], loss[1]);
      EXPECT_GT(loss[0], 0);
    }
  }
}

TEST_P(pointwise, rows_are_picked_by_position) {
  executor x(where());
  auto const from = near_copy(x, some(60, 16));
  auto const at = near_copy(x, std::vector<std::int64_t>{12, 10, 12});
  auto const numbers_at = near_copy(x, std::vector<std::int64_t>{1, 5, 2});
  auto const labels = near_copy(x, std::vector<std::int64_t>{7, 8, 9, 10, 11, -1});
  buffer<float> to(x.near(), 18, x.device(), "a test");
  buffer<std::int64_t> of(x.near(), 3, x.device(), "a test");
  pick(x, at.data(), 3, from.data(), 6, to.data(), 9);
  pick(x, numbers_at.data(), 3, labels.data(), of.data());
  numbers const all = some(60, 16), got = host_copy(x, to.data(), 18);
  for (std::size_t c = 0; c < 6; ++c) {
    EXPECT_EQ(got[c], all[18 + c]);
    EXPECT_EQ(got[6 + c], all[6 + c]);
    EXPECT_EQ(got[12 + c], all[18 + c]);
  }
  EXPECT_EQ(host_copy(x, of.data(), 3), (std::vector<std::int64_t>{8, -1, 9}));
}

}  // namespace
}  // namespace garner
