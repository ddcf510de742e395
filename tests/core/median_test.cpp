#include "core/median.hpp"

#include <gtest/gtest.h>

namespace garner {
namespace {

TEST(median, is_the_mean_of_the_two_in_the_middle) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1}), 5);
  EXPECT_EQ(median({9, 1, 2}), 2);
  EXPECT_EQ(median({8, 1, 100, 4}), 6);
  EXPECT_EQ(mean({8, 1, 3}), 4);
  EXPECT_EQ(mean({}), 0);
}

}  // namespace
}  // namespace garner
