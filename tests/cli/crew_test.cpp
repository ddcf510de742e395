// Background threads: the crew reports whether all have ended in time, and a query does not wait for the others.
#include "../../cli/crew.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace garner::cli {
namespace {

TEST(crew, tells_in_time_who_does_not_end) {
  std::atomic<bool> go = false;
  std::atomic<int> ended = 0;
  crew all;
  EXPECT_TRUE(all.end_within(0));
  for (int k = 0; k < 3; ++k)
    all.start([&, k] {
      while (k == 1 && !go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++ended;
    });
  EXPECT_FALSE(all.end_within(0.05));
  EXPECT_LT(ended, 3);
  go = true;
  EXPECT_TRUE(all.end_within(20));
  EXPECT_EQ(ended, 3);
}

}  // namespace
}  // namespace garner::cli
