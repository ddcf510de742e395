// The simulated device's streams: that they run late, in the orders that they may, and that each kind of fault shows.
#include "core/simulated_device.hpp"

#include <set>

#include "core/event.hpp"
#include "core/exec.hpp"
#include "core/primitives.hpp"
#include "core/recording.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

constexpr execution_device simulated{device_kind::simulated, 0};

struct streams_as {
  explicit streams_as(char const* rule) { simulated_device::choose(rule); }
  ~streams_as() {
    char const* const before = std::getenv("GARNER_STREAMS");
    simulated_device::choose(before ? before : "");
  }
};

struct write_number {
  std::uint32_t* to;
  std::uint32_t number;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    to[i] = number;
  }
};
struct add_number {
  std::uint32_t const* from;
  std::uint32_t* to;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    to[i] = from[i] + 1;
  }
};
buffer<std::uint32_t> words(executor& x, std::size_t n) { return {x.near(), n, x.device(), "a test"}; }

TEST(simulated_device, has_no_streams_unless_it_is_told) {
  streams_as const none("");
  executor x(simulated);
  EXPECT_FALSE(x.asynchronous());
  EXPECT_EQ(x.device(), -1);
  auto const b = words(x, 4);
  for_each_item<1>(x, 4, write_number{b.data(), 7});
  EXPECT_EQ(b[3], 7u);
}
TEST(simulated_device, refuses_what_it_does_not_know) {
  for (char const* wrong : {"lat", "random", "random:", "random:1x", "random:-1", "LATE"}) {
    errc code{};
    EXPECT_EQ(error_of([&] { simulated_device::choose(wrong); }, &code),
              fmt::format("GARNER_STREAMS is '{}'; use late, random:SEED with a whole number as SEED, or unset it", wrong));
    EXPECT_EQ(code, errc::usage);
  }
}
TEST(simulated_device, runs_nothing_before_somebody_waits) {
  streams_as const late("late");
  executor x(simulated), other(x, executor::urgent{});
  ASSERT_TRUE(x.asynchronous());
  auto const b = words(x, 4), c = words(x, 4);
  std::uint32_t const poisoned = b[0];
  EXPECT_EQ(poisoned, 0xfbfbfbfbu);
  for_each_item<1>(x, 4, write_number{b.data(), 7});
  for_each_item<1>(other, 4, write_number{c.data(), 9});
  EXPECT_EQ(b[0], poisoned);
  x.wait();
  EXPECT_EQ(b[0], 7u);
  EXPECT_EQ(c[0], poisoned) << "of another stream";
  EXPECT_EQ(other.read(c.data()), 9u);
}
TEST(simulated_device, an_event_orders_streams_and_the_host) {
  streams_as const late("late");
  executor x(simulated), other(x, executor::urgent{});
  auto const b = words(x, 4), c = words(x, 4);
  event made;
  for_each_item<1>(x, 4, write_number{b.data(), 7});
  made.record(x);
  for_each_item<1>(x, 4, write_number{b.data(), 100});  // behind it
  made.before(other);
  for_each_item<1>(other, 4, add_number{b.data(), c.data()});
  other.wait();
  EXPECT_EQ(c[3], 8u);
  EXPECT_TRUE(made.happened());
  EXPECT_EQ(b[3], 7u) << "what nobody waited for";
  x.wait();
}
TEST(simulated_device, reads_memory_of_the_host_late) {
  streams_as const late("late");
  executor x(simulated);
  auto const b = words(x, 1);
  std::uint32_t value = 1;
  x.copy(b.data(), &value, 4);
  value = 2;
  x.wait();
  EXPECT_EQ(b[0], 2u);
}
TEST(simulated_device, primitives_are_given_too) {
  streams_as const late("late");
  executor x(simulated);
  auto const b = words(x, 100);
  buffer<std::uint64_t> const sums(x.near(), 101, x.device(), "a test");
  for_each_item<1>(x, 100, write_number{b.data(), 3});
  scan(x, b.data(), sums.data(), 100);
  EXPECT_EQ(sums[100], 0xfbfbfbfbfbfbfbfbu);
  EXPECT_EQ(x.read(sums.data() + 100), 300u);
}
TEST(simulated_device, orders_are_drawn_from_the_seed) {
  std::set<std::uint32_t> seen;
  auto const last_of_two = [&](std::string const& rule) {
    streams_as const random(rule.c_str());
    executor x(simulated), other(x, executor::urgent{});
    auto const b = words(x, 1);
    for (std::uint32_t k = 0; k < 4; ++k) {
      for_each_item<1>(x, 1, write_number{b.data(), 2 * k});
      for_each_item<1>(other, 1, write_number{b.data(), 2 * k + 1});
    }
    x.wait(), other.wait();
    return b[0];
  };
  for (int seed = 0; seed < 20; ++seed) {
    std::string const rule = fmt::format("random:{}", seed);
    std::uint32_t const found = last_of_two(rule);
    seen.insert(found % 2);
    EXPECT_EQ(last_of_two(rule), found) << rule;
  }
  EXPECT_EQ(seen.size(), 2u);
}
TEST(simulated_device, memory_that_goes_early_is_poisoned) {
  streams_as const late("late");
  executor x(simulated);
  auto b = words(x, 4);
  auto const c = words(x, 4);
  for_each_item<1>(x, 4, write_number{b.data(), 7});
  x.wait();
  for_each_item<1>(x, 4, add_number{b.data(), c.data()});
  b = {};  // its reader has not run
  x.wait();
  EXPECT_EQ(c[0], 0xfbfbfbfcu);
}
TEST(simulated_device, a_write_to_memory_that_went_early_is_told) {
  streams_as const late("late");
  executor x(simulated);
  auto b = words(x, 4);
  for_each_item<1>(x, 4, write_number{b.data(), 7});
  b = {};
  EXPECT_EQ(error_of([&] { x.wait(); }), "16 bytes of the simulated device were written after they were released");
  EXPECT_NE(error_of([&] { x.wait(); }), "") << "until it is mended";
}
TEST(simulated_device, memory_in_the_order_of_a_stream_goes_behind_its_readers) {
  streams_as const late("late");
  executor x(simulated);
  auto const c = words(x, 4);
  auto* const b = static_cast<std::uint32_t*>(device::allocate_ordered(x.device(), x.stream(), 16));
  EXPECT_TRUE(simulated_device::owns(b));
  EXPECT_TRUE(simulated_device::owns(b + 3));
  std::uint32_t const outside = 0;
  EXPECT_FALSE(simulated_device::owns(&outside));
  for_each_item<1>(x, 4, write_number{b, 7});
  for_each_item<1>(x, 4, add_number{b, c.data()});
  device::release_ordered(x.device(), x.stream(), b);
  x.wait();
  EXPECT_EQ(c[0], 8u);
  EXPECT_FALSE(simulated_device::owns(b));
}
TEST(simulated_device, work_outlives_its_executor) {
  streams_as const late("late");
  executor x(simulated);
  auto const b = words(x, 1);
  event made;
  {
    executor gone(x, executor::urgent{});
    for_each_item<1>(gone, 1, write_number{b.data(), 7});
    made.record(gone);
  }
  made.before(x);
  EXPECT_EQ(x.read(b.data()), 7u);
}
TEST(simulated_device, recordings_are_replayed) {
  streams_as const late("late");
  executor x(simulated);
  auto const b = words(x, 1), c = words(x, 1);
  x.fill(b.data(), 0, 4);
  recording r;
  auto const step = [&] {
    for_each_item<1>(x, 1, add_number{b.data(), c.data()});
    x.copy(b.data(), c.data(), 4);
  };
  for (int k = 0; k < 5; ++k) r.run(x, step);
  EXPECT_EQ(r.parts(), 2u) << r.refused();
  EXPECT_EQ(x.read(b.data()), 5u);
}
TEST(simulated_device, what_waits_is_not_recorded) {
  streams_as const late("late");
  executor x(simulated);
  auto const b = words(x, 1);
  x.fill(b.data(), 0, 4);
  recording r;
  auto const step = [&] {
    for_each_item<1>(x, 1, add_number{b.data(), b.data()});
    x.wait();
  };
  for (int k = 0; k < 3; ++k) r.run(x, step);
  EXPECT_EQ(r.refused(), "the host waits for work that is being captured; submit it once before the capture");
  EXPECT_EQ(x.read(b.data()), 3u);
}
TEST(simulated_device, a_stream_of_others_is_refused) {
  streams_as const late("late");
  executor x(simulated);
  int other = 0;
  EXPECT_NE(error_of([&] { device::wait(x.device(), &other); }).find("does not belong to the simulated device"), std::string::npos);
}

}  // namespace
}  // namespace garner
