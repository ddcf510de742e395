// CUDA graphs of several shards: a replay repeats the captured work on current local and remote data; it captures again once memory of
// any shard has moved, and launches directly if one shard cannot be captured. Token passing: one thread at a time, without waiting for one
// that has failed.
#include "shard/recording.hpp"

#include <gmock/gmock.h>

#include <atomic>

#include "core/lease.hpp"
#include "core/recording.hpp"
#include "shard/exchange.hpp"
#include "shard_support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::HasSubstr;

class shared_recording_at : public at_place {
 protected:
  static constexpr std::uint32_t shards = 3;
  static constexpr std::uint64_t n = 1000;
  bool far() const { return runs_later({GetParam(), 0}); }
  // f(shard, x) on one thread each.
  void on_each(std::function<void(std::uint32_t, executor&)> const& f) {
    shard_options o;
    o.shards = shards;
    group.emplace(o);
    auto const threw = on_shards(*group, where(), [&](std::uint32_t s, executor& x) {
      ASSERT_TRUE(shard_recording::can(*group, s));
      auto const made = group->from_first(s, [&] { return std::make_shared<shard_recording>(*group); });
      if (s == 0) recorded = made;
      group->threads()->barrier(s);
      f(s, x);
      x.wait();
      recorded->leave(s);
      group->threads()->barrier(s);
    });
    EXPECT_EQ(threw, none_of(shards));
  }
  // A shard's local value, and the sum over all shards.
  struct near_numbers {
    buffer<float> mine, sum;
    near_numbers(executor& x) : mine(near_copy(x, std::vector<float>(n))), sum(near_copy(x, std::vector<float>(n))) {}
    void set(executor& x, std::uint32_t shard, std::uint32_t turn) {
      std::vector<float> values(n);
      for (std::uint64_t i = 0; i < n; ++i) values[i] = static_cast<float>((shard + 1) * i + turn);
      x.copy(mine.data(), values.data(), mine.bytes());
      x.wait();
    }
    void give(shard_group& g, std::uint32_t shard, executor& x) {
      x.fill(sum.data(), 0xff, sum.bytes());
      shared_rows rows(g, shard, x, {mine.data(), 1, mine.bytes(), mine.bytes()});
      for (std::uint32_t k = 0; k < shards; ++k) rows.before(k, x);
      sum_of_rows(x, rows.table(), n, sum.data());
      rows.close();
    }
    void expect(executor& x, std::uint32_t turn) {
      std::vector<float> expected(n);
      for (std::uint64_t i = 0; i < n; ++i) expected[i] = static_cast<float>(6 * i + 3 * turn);
      EXPECT_EQ(host_copy(x, sum.data(), n), expected);
    }
  };
  std::optional<shard_group> group;
  std::shared_ptr<shard_recording> recorded;
};
GARNER_AT_EVERY_PLACE(shared_recording_at);

TEST_P(shared_recording_at, is_given_again_over_what_all_have_near_now) {
  std::array<int, shards> called{};
  on_each([&](std::uint32_t s, executor& x) {
    near_numbers near(x);
    for (std::uint32_t turn = 1; turn <= 6; ++turn) {
      near.set(x, s, turn);
      recorded->run(s, x, [&, s] {
        ++called[s];
        near.give(*group, s, x);
      });
      near.expect(x, turn);
      EXPECT_EQ(recorded->parts() > 0, far() && turn > 1);
      group->threads()->barrier(s);
    }
  });
  for (int const times : called) EXPECT_EQ(times, far() ? 2 : 6);
  EXPECT_EQ(recorded->refused(), "");
}

TEST_P(shared_recording_at, is_what_was_recorded_until_memory_of_any_shard_moves) {
  on_each([&](std::uint32_t s, executor& x) {
    buffer<std::uint64_t> const out = near_copy(x, std::vector<std::uint64_t>(1));
    auto const byte_after = [&](int byte) {
      recorded->run(s, x, [&, byte] { x.fill(out.data(), byte, 8); });
      return host_copy(x, out.data(), 1)[0] & 0xff;
    };
    EXPECT_EQ(byte_after(1), 1u);
    EXPECT_EQ(byte_after(2), 2u);  // captured
    EXPECT_EQ(byte_after(3), 2u);
    if (s == 1) x.tell_move();
    EXPECT_EQ(byte_after(4), 4u);  // by all
    group->threads()->barrier(s);
    EXPECT_EQ(recorded->parts(), 0u);
    EXPECT_EQ(byte_after(5), 5u);
    EXPECT_EQ(byte_after(6), 5u);
  });
}

// One shard alone, while the others wait for its rows.
TEST_P(shared_recording_at, what_one_shard_cannot_have_recorded_none_has) {
  on_each([&](std::uint32_t s, executor& x) {
    near_numbers near(x);
    for (std::uint32_t turn = 1; turn <= 4; ++turn) {
      near.set(x, s, turn);
      recorded->run(s, x, [&, s] {
        if (s == 2) x.wait();
        near.give(*group, s, x);
      });
      near.expect(x, turn);
      EXPECT_EQ(recorded->refused().empty(), !far() || turn == 1) << recorded->refused();
      EXPECT_EQ(recorded->parts(), 0u);
      group->threads()->barrier(s);
    }
  });
}

TEST_P(shared_recording_at, an_error_is_its_shards_own_and_ends_the_others) {
  shard_options o;
  o.shards = shards;
  group.emplace(o);
  std::shared_ptr<shard_recording> all;
  auto const said = on_shards(*group, where(), [&](std::uint32_t s, executor& x) {
    auto const mine = group->from_first(s, [&] { return std::make_shared<shard_recording>(*group); });
    near_numbers near(x);
    mine->run(s, x, [&, s] {
      if (s == 1) fail(errc::memory, "none left");
      near.give(*group, s, x);
    });
  });
  EXPECT_EQ(said[1], "none left");
  for (std::uint32_t const k : {0u, 2u}) EXPECT_THAT(said[k], HasSubstr("rank 1 of 3 has stopped: none left"));
}

// An event from before a capture is unaware of later replays.
TEST_P(shared_recording_at, who_writes_next_waits_for_what_was_given_again) {
  executor x(where()), next(where());
  leased<buffer<std::uint32_t>> of;
  buffer<std::uint32_t>& rows = of.fill(next) = near_copy(x, std::vector<std::uint32_t>(1u << 22, 1));
  buffer<std::uint32_t> const out = near_copy(x, std::vector<std::uint32_t>(1));
  buffer<std::uint32_t> copied = near_copy(x, std::vector<std::uint32_t>(1u << 22));
  recording r;
  for (int turn = 0; turn < 8; ++turn) {
    r.run(x, [&] {
      for (int k = 0; k < 50; ++k) x.copy(copied.data(), rows.data(), rows.bytes());
      x.copy(out.data(), copied.data() + copied.size() - 1, sizeof(std::uint32_t));
    });
    if (turn == 0) of.filled(next).use(x);  // its last use, but for replays
    of.fill(next, x);
    next.fill(rows.data(), 0, rows.bytes());
    next.wait();
    EXPECT_EQ(x.read(out.data()), 1u) << turn;
    std::vector<std::uint32_t> const ones(rows.size(), 1);
    x.copy(rows.data(), ones.data(), rows.bytes());
    x.wait();
  }
}

TEST(pass_token, is_one_threads_at_a_time_and_barriers_bring_all_together) {
  constexpr std::uint32_t n = 4;
  pass_token t(n, std::chrono::seconds(60));
  std::atomic<int> inside = 0, most = 0;
  std::atomic<std::uint64_t> steps = 0;
  EXPECT_EQ(on_shards(n,
                      [&](std::uint32_t) {
                        t.lock();
                        for (std::uint64_t turn = 1; turn <= 200; ++turn) {
                          int const now = ++inside;
                          if (now > most) most = now;
                          ++steps;
                          --inside;
                          t.barrier();
                          EXPECT_GE(steps, turn * n);
                          EXPECT_LE(steps, turn * n + n);
                        }
                        t.unlock();
                      }),
            none_of(n));
  EXPECT_EQ(most, 1);
}

TEST(pass_token, nobody_waits_for_one_that_breaks_off_or_does_not_come) {
  for (bool const breaks : {true, false}) {
    pass_token t(3, std::chrono::milliseconds(breaks ? 60000 : 50));
    std::atomic<int> freed = 0;
    EXPECT_EQ(on_shards(3,
                        [&](std::uint32_t k) {
                          t.lock();
                          if (k == 1) {
                            if (breaks) t.break_off();
                          } else {
                            EXPECT_THROW(t.barrier(), abandoned);
                            ++freed;
                          }
                          t.unlock();
                        }),
              none_of(3));
    EXPECT_EQ(freed, 2);
  }
}

}  // namespace
}  // namespace garner
