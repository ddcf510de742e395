// The order of an epoch: every seed once, by its own random number, and ranks that share them.
#include "sample/order.hpp"

#include <numeric>
#include <set>

#include "core/random.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

class order_at : public at_place {};
GARNER_AT_EVERY_PLACE(order_at);

std::vector<std::int64_t> ids_of(execution_device where, std::vector<std::int64_t> const& seeds, bool shuffle, std::uint64_t epoch,
                                 std::uint32_t rank = 0, std::uint32_t ranks = 1) {
  executor x(where);
  auto const near = near_copy(x, seeds);
  epoch_order const o = order_of_epoch(x, {near.data(), seeds.size()}, shuffle, 5, epoch, rank, ranks);
  EXPECT_EQ(o.epoch, epoch);
  std::vector<std::int64_t> const ids = host_copy(x, o.ids.data(), o.ids.size()), at = host_copy(x, o.positions.data(), o.positions.size());
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i], seeds[static_cast<std::size_t>(at[i])]);
  return ids;
}

TEST_P(order_at, has_every_seed_once_and_another_order_each_epoch) {
  std::vector<std::int64_t> seeds(5000);
  for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = static_cast<std::int64_t>(i * 3);
  auto const first = ids_of(where(), seeds, true, 0), second = ids_of(where(), seeds, true, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(std::set<std::int64_t>(first.begin(), first.end()).size(), seeds.size());
  EXPECT_EQ(first, ids_of({}, seeds, true, 0));
  EXPECT_EQ(ids_of(where(), seeds, false, 7), seeds);
  // Whose order it is does not depend on how they were given.
  std::vector<std::int64_t> const backwards(seeds.rbegin(), seeds.rend());
  EXPECT_EQ(ids_of(where(), backwards, true, 0), first);
  std::vector<std::uint64_t> keys;
  for (std::int64_t const id : first) keys.push_back(random_bits(5, std::uint64_t{1} << 62, static_cast<std::uint64_t>(id)));
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
}

TEST_P(order_at, is_shared_by_ranks) {
  std::vector<std::int64_t> seeds(100);
  std::iota(seeds.begin(), seeds.end(), 0);
  std::multiset<std::int64_t> all;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    auto const mine = ids_of(where(), seeds, true, 2, rank, 3);
    EXPECT_EQ(mine.size(), 34u);
    all.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(std::set<std::int64_t>(all.begin(), all.end()).size(), 100u);
  EXPECT_TRUE(ids_of(where(), {}, true, 0).empty());
}

}  // namespace
}  // namespace garner
