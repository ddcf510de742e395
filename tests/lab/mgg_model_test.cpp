// MGG's model by its equations, and its search: on surfaces with a known minimum, within the limits, each shape measured once.
#include "lab/mgg/model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <tuple>

#include "core/random.hpp"

namespace garner::lab {
namespace {

TEST(mgg_model, says_what_the_equation_says) { EXPECT_EQ(mgg_shared_bytes({16, 2, 4}, 64), 16u * 4 * 4 + 2 * 4 * 64 * 4); }

double apart(std::uint32_t value, double best) { return std::abs(std::log2(value) - std::log2(best)); }

TEST(mgg_search, finds_the_lowest_point_of_a_bowl_in_some_ten_steps) {
  for (double const ps : {1., 4., 32.})
    for (double const dist : {1., 2., 16.})
      for (double const wpb : {1., 8., 16.}) {
        std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> asked;
        mgg_search const s = search_mgg(16, a100_shared_bytes, [&](mgg_tuning const& at) {
          EXPECT_TRUE(asked.insert({at.ps, at.dist, at.wpb}).second);
          EXPECT_TRUE(at.ps <= 32 && at.dist <= 16 && at.wpb <= 16);
          return 1 + apart(at.ps, ps) + apart(at.dist, dist) + apart(at.wpb, wpb);
        });
        EXPECT_EQ(s.steps.front().shape, (mgg_tuning{1, 1, 1}));
        EXPECT_EQ(s.best.shape,
                  (mgg_tuning{static_cast<std::uint32_t>(ps), static_cast<std::uint32_t>(dist), static_cast<std::uint32_t>(wpb)}));
        EXPECT_EQ(s.best.ms, 1);
        EXPECT_LE(s.steps.size(), 40u);
      }
}

// The paper: partitions that are too large for many warps per block are replaced by smaller ones.
TEST(mgg_search, halves_the_partition_where_more_warps_want_it) {
  mgg_search const s = search_mgg(16, a100_shared_bytes, [](mgg_tuning const& at) {
    double const crowded = at.ps * at.wpb > 64 ? 4 : 0;
    return 10 - std::log2(at.ps) - 1.5 * std::log2(at.wpb) + crowded + 0.1 * at.dist;
  });
  EXPECT_EQ(s.best.shape, (mgg_tuning{4, 1, 16}));
}

TEST(mgg_search, never_ends_above_what_it_measured_and_heeds_shared_memory) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    double least = 1e9;
    mgg_search const s = search_mgg(64, 4096, [&](mgg_tuning const& at) {
      EXPECT_LE(4 * at.ps * at.wpb + 8 * at.wpb * 64, 4096u);
      double const ms = static_cast<double>(random_bits(seed, at.ps * 100 + at.dist, at.wpb) % 1000);
      least = std::min(least, ms);
      return ms;
    });
    EXPECT_EQ(s.best.ms, least);
  }
}

}  // namespace
}  // namespace garner::lab
