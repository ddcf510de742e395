// Rates measured on a device: memory, link, launches and barriers; those of an H200 if nothing is measured.
#include "shard/rates.hpp"

#include <gtest/gtest.h>

#include "core/device.hpp"
#include "memory/budget.hpp"

namespace garner {
namespace {

void expect_plausible(shard_rates const& r) {
  EXPECT_TRUE(r.measured);
  for (double const gbs : {r.memory_gbs, r.cache_gbs, r.link_gbs}) EXPECT_TRUE(gbs > 0.01 && gbs < 1e5) << gbs;
  for (double const us : {r.launch_us, r.meeting_us}) EXPECT_TRUE(us > 0 && us < 1e6) << us;
  EXPECT_GT(r.cache_bytes, 0u);
}

TEST(rates, are_measured_at_the_host) {
  shard_rates const r = measured_rates(std::vector<execution_device>(3));
  expect_plausible(r);
  EXPECT_GE(r.cache_gbs, r.memory_gbs);
  EXPECT_DOUBLE_EQ(r.link_gbs, r.memory_gbs / 2);  // a copy here reads and writes
}

TEST(rates, are_an_h200s_where_it_is_simulated_and_common_ones_where_there_is_no_room) {
  shard_rates const r = measured_rates({{device_kind::simulated, 0}});
  EXPECT_FALSE(r.measured);
  EXPECT_EQ(r.memory_gbs, h200_rates.memory_gbs);
  EXPECT_EQ(r.link_gbs, h200_rates.link_gbs);
  std::uint64_t const before = host_budget().limit();
  host_budget().set_limit(host_budget().used() + 1000);
  shard_rates const none = measured_rates(std::vector<execution_device>(2));
  host_budget().set_limit(before);
  EXPECT_FALSE(none.measured);
  EXPECT_EQ(none.memory_gbs, common_host_rates.memory_gbs);
}

TEST(rates, are_measured_on_a_device) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  shard_rates const r = measured_rates(std::vector<execution_device>(2, {device_kind::cuda, 0}));
  expect_plausible(r);
  EXPECT_EQ(r.cache_bytes, device::describe(0).l2_bytes);
  EXPECT_GT(r.memory_gbs, 100);
}

}  // namespace
}  // namespace garner
