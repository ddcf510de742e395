// What ranks exchange besides texts: numbers at a barrier, which rank is ahead, dead or timed out. (Means:
// tests/nn/training_ranks_test.)
#include "comm/rank_group.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include "shard_support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::HasSubstr;

TEST(rank_group, numbers_of_all_come_at_one_meeting) {
  auto const ranks = rank_group::of_threads(4);
  EXPECT_EQ(on_shards(4,
                      [&](std::uint32_t k) {
                        executor x({});
                        ranks->join(k, x, 1);
                        for (std::uint64_t turn = 0; turn < 2000; ++turn) {
                          auto const all = ranks->all_gather_numbers(k, {turn * 10 + k, ~turn});
                          for (std::uint64_t r = 0; r < 4; ++r) ASSERT_EQ(all[r], (rank_group::pair{turn * 10 + r, ~turn}));
                          if (turn % 3 == k % 3) ranks->all_gather_numbers(k, {7, 7});
                          else ranks->barrier(k);
                        }
                      }),
            none_of(4));
}

// An object shared by ranks watches the others for its whole life, even after the caller has released the group.
TEST(rank_group, lives_as_long_as_what_its_ranks_have_in_common) {
  auto ranks = rank_group::of_processes("garner-test-common-" + std::to_string(::getpid()), 0, 2);
  auto terms = ranks->common(-1);
  ASSERT_TRUE(terms);
  std::weak_ptr<rank_group> const group = ranks;
  ranks.reset();
  EXPECT_FALSE(group.expired());
  terms->look();
  terms.reset();
  EXPECT_TRUE(group.expired());
}

TEST(rank_group, who_waits_for_something_else_sees_who_is_ahead_and_who_is_gone) {
  auto const ranks = rank_group::of_threads(2);
  auto const threw = on_shards(2, [&](std::uint32_t k) {
    executor x({});
    ranks->join(k, x, 1);
    ranks->look(k);
    if (k == 1) {
      ranks->all_gather(k, "it cannot");
      ranks->leave(k, "it went");
      return;
    }
    while (!ranks->ahead(k)) std::this_thread::yield();
    ranks->all_gather(k, "");
    while (true) ranks->look(k);
  });
  EXPECT_EQ(threw[1], "");
  EXPECT_THAT(threw[0], HasSubstr("rank 1 of 2 has stopped: it went"));
}

}  // namespace
}  // namespace garner
