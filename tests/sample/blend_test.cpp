// Blending predictions and counts into a score, against a serial reference of the formula and against known probabilities.
#include "sample/blend.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/random.hpp"

namespace garner {
namespace {

double uniform(std::uint64_t stream, std::uint64_t i) { return static_cast<double>(random_bits(5, stream, i) >> 11) * 0x1p-53; }

struct rows {
  std::vector<double> chance;
  std::vector<float> expected, weighted;
  std::vector<std::uint32_t> counts;
};
// Rows of known probabilities, predicted `wrong` octaves too high or low, and counted.
rows drawn(std::uint64_t n, std::uint64_t batches, std::uint64_t epochs, double wrong, double bias = 1) {
  rows r;
  for (std::uint64_t v = 0; v < n; ++v) {
    double const p = std::exp2(-1 - 6 * uniform(0, v));
    r.chance.push_back(p);
    r.expected.push_back(static_cast<float>(bias * p * std::exp2(wrong * (2 * uniform(1, v) - 1)) * static_cast<double>(batches)));
    r.weighted.push_back(r.expected.back() / 1e5f);
    std::uint32_t count = 0;
    for (std::uint64_t k = 0; k < batches * epochs; ++k) count += uniform(2 + k, v) < p;
    r.counts.push_back(count);
  }
  return r;
}
// Root of the mean squared relative error.
double error_of(std::vector<float> const& score, rows const& r, double batches) {
  double sum = 0;
  for (std::size_t v = 0; v < score.size(); ++v) {
    double const off = static_cast<double>(score[v]) / batches / r.chance[v] - 1;
    sum += off * off;
  }
  return std::sqrt(sum / static_cast<double>(score.size()));
}

TEST(blend, equals_its_serial_twin) {
  rows r = drawn(9001, 7, 3, 1.5);
  for (std::size_t v = 0; v < 9001; v += 50) r.expected[v] = 0;
  std::vector<float> score = r.expected;
  blend(score, r.weighted, r.counts, 7, 3);
  struct sums {
    double read = 0, expected = 0, off = 0, coins = 0, noise = 0;
  };
  std::map<std::pair<double, double>, sums> levels;
  double all_e = 0, all_w = 0;
  for (std::size_t v = 0; v < 9001; ++v) all_e += static_cast<double>(r.expected[v]), all_w += static_cast<double>(r.weighted[v]);
  auto const p_of = [&](std::size_t v) { return std::min(1.0, static_cast<double>(r.expected[v]) / 7); };
  auto const level_of = [&](std::size_t v) -> sums& {
    if (r.expected[v] == 0) return levels[{-1e9, -1e9}];
    double const ratio = static_cast<double>(r.weighted[v]) * all_e / all_w / static_cast<double>(r.expected[v]);
    return levels[{std::floor(4 * std::log2(p_of(v))), std::floor(8 * std::log2(ratio))}];
  };
  for (std::size_t v = 0; v < 9001; ++v) level_of(v).read += r.counts[v], level_of(v).expected += 21 * p_of(v);
  auto const chance = [&](std::size_t v) { return std::min(1.0, p_of(v) * (level_of(v).read + 8) / (level_of(v).expected + 8)); };
  for (std::size_t v = 0; v < 9001; ++v) {
    double const p = chance(v);
    level_of(v).off += (r.counts[v] - 21 * p) * (r.counts[v] - 21 * p);
    level_of(v).coins += 21 * p * (1 - p);
    level_of(v).noise += 21 * p * (1 - p) + 2 * std::pow(21 * p * (1 - p), 2);
  }
  for (std::size_t v = 0; v < 9001; ++v) {
    sums const& s = level_of(v);
    double const excess = s.coins > 0 ? ((s.off - 2 * std::sqrt(s.noise)) / s.coins - 1) / 20 : 0.99,
                 a = 1 / std::clamp(excess, 1e-5, 0.99) - 1;
    double const wanted = 7 * (a * chance(v) + r.counts[v]) / (a + 21);
    ASSERT_NEAR(static_cast<double>(score[v]), wanted, 1e-6 * wanted + 1e-7) << v;
  }
}

TEST(blend, is_better_than_counts_and_than_a_wrong_prediction) {
  for (double const wrong : {0.5, 2.0}) {
    rows const r = drawn(20000, 10, 4, wrong);
    std::vector<float> score = r.expected, counted;
    for (std::uint32_t const c : r.counts) counted.push_back(static_cast<float>(c) / 4);
    blend(score, r.weighted, r.counts, 10, 4);
    EXPECT_LT(error_of(score, r, 10), 0.8 * error_of(counted, r, 10)) << wrong;
    EXPECT_LT(error_of(score, r, 10), (wrong > 1 ? 0.6 : 1) * error_of(r.expected, r, 10)) << wrong;  // 40 mini-batches add little
  }
}

TEST(blend, leaves_a_right_prediction_and_mends_a_biased_one) {
  for (double const bias : {1.0, 1.3}) {
    rows const r = drawn(20000, 10, 1, 0, bias);
    std::vector<float> score = r.expected;
    blend(score, r.weighted, r.counts, 10, 1);
    EXPECT_LT(error_of(score, r, 10), 0.15) << bias;  // the counts alone give 1.3
  }
}

// One mini-batch has no information on the scatter.
TEST(blend, of_one_mini_batch_is_nearly_the_prediction) {
  rows const r = drawn(20000, 1, 1, 0.5);
  std::vector<float> score = r.expected;
  blend(score, r.weighted, r.counts, 1, 1);
  EXPECT_LT(error_of(score, r, 1), 1.5 * error_of(r.expected, r, 1));
}

TEST(blend, of_many_epochs_is_what_was_counted) {
  rows const r = drawn(3000, 10, 64, 3);
  std::vector<float> score = r.expected;
  blend(score, r.weighted, r.counts, 10, 64);
  for (std::size_t v = 0; v < 3000; ++v)
    if (r.counts[v] > 50) {
      ASSERT_NEAR(score[v], static_cast<float>(r.counts[v]) / 64, 0.1f * score[v]) << v;
    }
}

TEST(blend, of_rows_that_all_or_none_are_read) {
  std::vector<float> score{0, 1, 0, 1};
  blend(score, {}, {0, 8, 0, 8}, 1, 8);
  EXPECT_EQ(score, (std::vector<float>{0, 1, 0, 1}));
  score = {0, 3};
  blend(score, {}, {3, 3}, 3, 1);  // the prediction for the first was 0
  EXPECT_GT(score[0], 2.9f);
  std::vector<float> none;
  blend(none, {}, {}, 1, 1);
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace garner
