// Rows over windows: what each shard shares is what all others read, whatever its size and gaps; windows grow; a shard that fails is named.
#include <gmock/gmock.h>

#include "shard/exchange.hpp"
#include "shard/group.hpp"
#include "shard_support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::HasSubstr;

class windows_at : public at_place {};
GARNER_AT_EVERY_PLACE(windows_at);

shard_options over_host(std::uint32_t n) {
  shard_options o;
  o.shards = n, o.provider = shard_provider::host;
  return o;
}
float number_of(std::uint32_t shard, std::uint64_t row, std::uint64_t column, std::uint64_t turn) {
  return static_cast<float>(shard * 1000 + row * 10 + column) + static_cast<float>(turn) * 0.25f;
}

TEST_P(windows_at, all_read_what_each_shares_as_windows_grow_and_shrink) {
  constexpr std::uint32_t n = 3;
  shard_group group(over_host(n));
  auto const threw = on_shards(group, where(), [&](std::uint32_t s, executor& x) {
    EXPECT_EQ(group.link(s).provider, shard_provider::host);
    // Rows of each shard; shard 1 has none at first. A gap stands behind each row but the last, of which nothing is behind.
    std::uint64_t turn = 0;
    for (std::uint64_t const rows : {4u, 0u, 9u, 700u, 3u, 2000u, 1u}) {
      std::uint64_t const mine = rows + (s == 1 ? 0 : s), columns = 5, stride = 7;
      std::vector<float> here(mine ? (mine - 1) * stride + columns : 0, -1);
      for (std::uint64_t r = 0; r < mine; ++r)
        for (std::uint64_t c = 0; c < columns; ++c) here[r * stride + c] = number_of(s, r, c, turn);
      buffer<float> const near = near_copy(x, here);
      shared_rows shared(group, s, x, {near.data(), mine, stride * sizeof(float), columns * sizeof(float)});
      for (std::uint32_t k = 0; k < n; ++k) {
        std::uint64_t const theirs = rows + (k == 1 ? 0 : k);
        ASSERT_EQ(shared.table().of[k].rows, theirs);
        buffer<float> to(x.near(), std::max<std::uint64_t>(theirs, 1) * columns, x.device(), "a test");
        shared.before(k, x);
        bring_rows(x, shared.table(), k, nullptr, theirs, columns, element::f32, to.data());
        std::vector<float> const found = host_copy(x, to.data(), theirs * columns);
        for (std::uint64_t r = 0; r < theirs; ++r)
          for (std::uint64_t c = 0; c < columns; ++c) ASSERT_EQ(found[r * columns + c], number_of(k, r, c, turn));
      }
      shared.close();
      ++turn;
    }
    EXPECT_TRUE(group.access(s).waits());
    EXPECT_GE(group.access(s).bytes(), x.on_device() ? 0 : 2000 * 7 * sizeof(float));
  });
  EXPECT_EQ(threw, none_of(n));
}

TEST(windows, a_shard_that_fails_is_named_and_its_rows_may_be_read_to_the_end) {
  constexpr std::uint32_t n = 3;
  shard_group group(over_host(n));
  auto const threw = on_shards(group, {}, [&](std::uint32_t s, executor& x) {
    std::vector<float> own(64, static_cast<float>(s));
    shared_rows first(group, s, x, {own.data(), 4, 64, 64});
    if (s == 1) fail(errc::memory, "no memory is left here");
    EXPECT_EQ(first.table().row<float>(1, 3)[15], 1);
    first.close();
    shared_rows second(group, s, x, {own.data(), 4, 64, 64});
  });
  EXPECT_EQ(threw[1], "no memory is left here");
  for (std::uint32_t const s : {0u, 2u}) EXPECT_THAT(threw[s], HasSubstr("rank 1 of 3 has stopped: no memory is left here"));
}

TEST(windows, what_one_cannot_have_none_has) {
  auto const group = rank_group::of_threads(3);
  std::vector<std::string> whys(3);
  EXPECT_EQ(on_shards(3,
                      [&](std::uint32_t s) {
                        executor x({});
                        group->join(s, x, 1);
                        EXPECT_EQ(agree(*group, s, [] {}), "");
                        whys[s] = agree(*group, s, [&] {
                          if (s == 2) throw std::bad_alloc();
                          if (s > 0) fail(errc::device, "not by {}", s);
                        });
                        EXPECT_EQ(agree(*group, s, [] {}), "");  // all are where they were
                      }),
            none_of(3));
  EXPECT_THAT(whys, ::testing::Each("shard 1: not by 1"));
}

// Whatever a shard throws is thrown by the call, and does not end the process on the shard's thread.
TEST(on_shards, throws_what_a_shard_threw) {
  for (std::uint32_t const who : {0u, 1u}) {
    shard_options o;
    o.shards = 3;
    auto const with = [&](std::function<void()> const& what) {
      shard_group g(o);
      garner::on_shards(g, [&](std::uint32_t s) {
        executor x({});
        g.threads()->join(s, x, 1);
        if (s == who) what();
        g.threads()->barrier(s);
      });
    };
    EXPECT_THROW(with([] { throw std::runtime_error("no"); }), std::runtime_error);
    EXPECT_THROW(with([] { throw std::bad_alloc(); }), std::bad_alloc);
    EXPECT_THROW(with([] { throw 42; }), int);
  }
}

TEST(windows, places_of_two_kinds_are_named) {
  shard_options o;
  o.shards = 2;
  shard_group group(o);
  auto const threw = on_shards(
      2,
      [&](std::uint32_t s) {
        executor x({s ? device_kind::simulated : device_kind::cpu});
        group.threads()->join(s, x, 1);
        group.join(s, x);
      },
      [&](std::uint32_t s, std::string const& why) { group.threads()->leave(s, why); });
  EXPECT_EQ(threw[0], "shard 0 at cpu and shard 1 at simulated: give all shards devices of one kind");
  EXPECT_EQ(threw[1], "shard 1 at simulated and shard 0 at cpu: give all shards devices of one kind");
}

}  // namespace
}  // namespace garner
