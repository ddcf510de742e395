// Rows put into a table in memory: every tier and twin has them, an error writes nothing, and the array that the table was made of has them
// too.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

#include "core/progress.hpp"
#include "core/random.hpp"
#include "garner/features.hpp"
#include "refused.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

constexpr std::uint64_t rows = 500;
constexpr element kinds[] = {element::f32, element::f16, element::bf16, element::i8, element::i64, element::u8};

std::vector<std::byte> random_rows(std::uint64_t seed, std::uint64_t bytes) {
  std::vector<std::byte> made(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(random_bits(seed, 0, i));
  return made;
}
std::vector<std::uint64_t> some_ids(std::uint64_t seed, std::uint64_t n) {
  std::vector<std::uint64_t> ids(n);
  for (std::uint64_t i = 0; i < n; ++i) ids[i] = random_bits(seed, 1, i) % rows;
  return ids;
}
// All rows in the order of the array, as a gather brings them.
std::vector<std::byte> all_of(tiered_tensor& t, gather_strategy strategy = gather_strategy::automatic) {
  executor x(t.device());
  std::vector<std::uint64_t> ids(t.rows());
  for (std::uint64_t i = 0; i < ids.size(); ++i) ids[i] = i;
  auto const near = near_copy(x, ids);
  buffer<std::byte> const out(x.near(), t.rows() * t.row_bytes(), x.device(), "a test");
  gather_options how;
  how.strategy = strategy;
  t.gather({near.data(), ids.size(), 8, true}, out, how);
  return host_copy(x, out.data(), out.size());
}
template <class Id>
std::vector<Id> as(std::vector<std::uint64_t> const& ids) {
  return {ids.begin(), ids.end()};
}

struct put_at : at_place {
  std::vector<int> devices() const {
    int const n = GetParam() == device_kind::cuda ? device::count() : 3;
    std::vector<int> all;
    for (int k = 0; k < n && k < 3; ++k) all.push_back(k);
    return all;
  }
  // The rows of `array` in every tier; `kept`: so many on the device, and half as many on each peer.
  tiered_tensor table(row_array array, std::uint64_t kept, bool peers, std::span<float const> scores) const {
    tiered_options o;
    o.device = where(), o.scores = scores;
    o.feature_cache = kept * array.row_bytes();
    if (peers) o.peers = devices(), o.peer_cache = kept / 2 * array.row_bytes();
    return {std::move(array), o};
  }
};
GARNER_AT_EVERY_PLACE(put_at);

TEST_P(put_at, rows_are_the_new_ones_wherever_they_lie) {
  std::vector<float> scores(rows);
  for (std::uint64_t i = 0; i < rows; ++i) scores[i] = static_cast<float>(random_bits(2, 0, i) % 50);
  std::uint64_t seed = 10;
  for (element const kind : kinds)
    for (std::uint64_t const width : {1, 3, 32})
      for (std::uint64_t const kept : {std::uint64_t{0}, std::uint64_t{100}, rows})
        for (bool const split : {false, true}) {  // over peers and by scores
          std::uint64_t const row = width * bytes_of(kind), n = 200;
          std::vector<std::byte> array = random_rows(++seed, rows * row), twin = array;
          tiered_tensor t = table({array.data(), rows, width, kind, {}}, kept, split, split ? scores : std::vector<float>());
          for (int width_of_id : {4, 8, -8}) {
            std::vector<std::uint64_t> const ids = some_ids(++seed, n);  // some are there twice
            std::vector<std::byte> const put = random_rows(++seed, n * row);
            auto const i32 = as<std::int32_t>(ids);
            auto const i64 = as<std::int64_t>(ids);
            if (width_of_id == 4) t.put(std::span(i32), put);
            else if (width_of_id == 8) t.put(std::span(i64), put);
            else t.put(std::span(ids), put);
            for (std::uint64_t k = 0; k < n; ++k) std::memcpy(twin.data() + ids[k] * row, put.data() + k * row, row);
            ASSERT_EQ(array, twin) << to_string(kind);
            ASSERT_EQ(all_of(t), twin) << to_string(kind) << " " << width << " " << t.about();
          }
          ASSERT_EQ(all_of(t, gather_strategy::staged), twin);
        }
}

TEST_P(put_at, ids_and_rows_may_lie_on_the_device) {
  std::vector<std::byte> array = random_rows(1, rows * 12), twin = array;
  tiered_tensor t = table({array.data(), rows, 3, element::f32, {}}, 100, false, {});
  executor x(where());
  auto const ids = some_ids(2, 50);
  auto const put = random_rows(3, 50 * 12);
  auto const near_ids = near_copy(x, ids);
  auto const near_rows = near_copy(x, put);
  t.put({near_ids.data(), 50, 8}, {near_rows.data(), put.size()});
  for (std::uint64_t k = 0; k < 50; ++k) std::memcpy(twin.data() + ids[k] * 12, put.data() + k * 12, 12);
  EXPECT_EQ(array, twin);
  EXPECT_EQ(all_of(t), twin);
}

TEST_P(put_at, more_rows_than_a_chunk_has) {
  constexpr std::uint64_t row = 1u << 20, n = 150, some = 40;  // 150 MiB
  std::vector<std::byte> array(some * row);
  tiered_tensor t = table({array.data(), some, row, element::u8, {}}, 10, false, {});
  std::vector<std::byte> put(n * row);
  std::vector<std::uint64_t> ids(n);
  for (std::uint64_t k = 0; k < n; ++k)
    ids[k] = random_bits(4, 0, k) % some, std::memset(put.data() + k * row, static_cast<int>(k + 1), row);
  t.put({ids.data(), n, 8}, put);
  std::vector<std::byte> twin(some * row);
  for (std::uint64_t k = 0; k < n; ++k) std::memcpy(twin.data() + ids[k] * row, put.data() + k * row, row);
  EXPECT_TRUE(array == twin);
  EXPECT_TRUE(all_of(t) == twin);
}

TEST_P(put_at, rows_of_the_table_s_own_array_are_read_before_it_is_written) {
  std::vector<std::byte> array = random_rows(5, rows * 4096), twin = array;
  tiered_tensor t = table({array.data(), rows, 1024, element::f32, {}}, 100, false, {});
  std::vector<std::uint64_t> ids(rows - 1);
  std::iota(ids.begin(), ids.end(), 1u);
  t.put({ids.data(), ids.size(), 8}, std::span(array).first(ids.size() * 4096));  // each row moves to the next
  std::memmove(twin.data() + 4096, twin.data(), ids.size() * 4096);
  EXPECT_TRUE(array == twin);
  EXPECT_TRUE(all_of(t) == twin);
}

TEST_P(put_at, an_interrupt_comes_before_the_first_row_or_after_the_last) {
  if (runs_later(where()) && GetParam() == device_kind::simulated) GTEST_SKIP() << "the simulated device's own thread may be interrupted";
  constexpr std::uint64_t row = 1u << 20, n = 150, some = 40;  // three chunks
  std::vector<std::byte> array(some * row), put(n * row, std::byte{7});
  tiered_tensor t = table({array.data(), some, row, element::u8, {}}, 10, false, {});
  std::vector<std::uint64_t> ids(n);
  for (std::uint64_t k = 0; k < n; ++k) ids[k] = k % some;
  bool stopped = false, done = false;
  for (std::uint64_t checks = 1; checks < 1000; checks *= 3) {
    std::fill(array.begin(), array.end(), std::byte{0});
    request_interrupt_after(checks);
    try {
      t.put({ids.data(), n, 8}, put);
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::interrupted);
      EXPECT_EQ(array[0], std::byte{0});
      stopped = true;
      clear_interrupt();
      continue;
    }
    clear_interrupt();
    done = true;
    EXPECT_TRUE(std::all_of(array.begin(), array.end(), [](std::byte b) { return b == std::byte{7}; }));
  }
  EXPECT_TRUE(done);
  EXPECT_TRUE(all_of(t) == array || stopped);
}

TEST_P(put_at, twins_have_them_too) {
  std::vector<std::byte> array = random_rows(1, rows * 12), twin = array;
  std::vector<int> const on = devices();
  auto const other = [&](int k) {
    return execution_device{GetParam(), GetParam() == device_kind::cpu ? 0 : k % static_cast<int>(on.size())};
  };
  std::optional<tiered_tensor> first(table({array.data(), rows, 3, element::f32, {}}, 100, true, {}));
  tiered_tensor second = first->for_device(other(1)), third = second.for_device(other(0));
  for (std::uint64_t seed : {20, 30}) {
    auto const ids = some_ids(seed, 300);
    auto const put = random_rows(seed + 1, 300 * 12);
    (seed == 20 ? *first : third).put(std::span(ids), put);
    for (std::uint64_t k = 0; k < 300; ++k) std::memcpy(twin.data() + ids[k] * 12, put.data() + k * 12, 12);
    if (first) {
      EXPECT_EQ(all_of(*first), twin);
    }
    EXPECT_EQ(all_of(second), twin);
    EXPECT_EQ(all_of(third), twin);
    tiered_tensor fourth = third.for_device(other(1));
    EXPECT_EQ(all_of(fourth), twin);
    first.reset();
  }
}

TEST_P(put_at, a_gather_has_the_rows_of_one_put) {
  std::vector<std::int64_t> array(rows * 4);
  tiered_tensor t = table({array.data(), rows, 4, element::i64, {}}, 100, true, {}), twin = t.for_device(where());
  std::atomic<bool> stop{false};
  std::jthread const writer([&] {
    std::vector<std::uint64_t> ids(rows);
    std::iota(ids.rbegin(), ids.rend(), 0u);
    for (std::int64_t k = 1; !stop; ++k) {
      std::vector<std::int64_t> const put(rows * 4, k);
      (k % 2 ? t : twin).put({ids.data(), rows, 8}, std::as_bytes(std::span(put)));
    }
  });
  for (int round = 0; round < 50; ++round) {
    std::vector<std::byte> const got = all_of(round % 2 ? t : twin);
    for (std::size_t at = 8; at < got.size(); at += 8) ASSERT_EQ(std::memcmp(got.data(), got.data() + at, 8), 0) << (stop = true);
  }
  stop = true;
}

TEST_P(put_at, what_is_wrong_writes_nothing) {
  std::vector<std::byte> array = random_rows(1, rows * 12);
  std::vector<std::byte> const before = array;
  tiered_tensor t = table({array.data(), rows, 3, element::f32, {}}, 100, false, {});
  auto const put = random_rows(3, 3 * 12);
  for (std::int64_t const bad : {std::int64_t{-1}, static_cast<std::int64_t>(rows)}) {
    std::vector<std::int64_t> const ids = {1, 499, bad};
    EXPECT_TRUE(refused(errc::input, "id " + std::to_string(bad) + " at position 2: this table has rows 0 to 499",
                        [&] { t.put(std::span(ids), put); }));
  }
  std::vector<std::uint64_t> const far = {0, ~std::uint64_t{0}, 1};
  EXPECT_TRUE(refused(errc::input, "id 18446744073709551615 at position 1", [&] { t.put(std::span(far), put); }));
  std::vector<std::int32_t> const ids = {1, 2};
  EXPECT_TRUE(refused(errc::usage, "36 bytes of rows for 2 ids; pass 12 bytes per id", [&] { t.put(std::span(ids), put); }));
  EXPECT_TRUE(refused(errc::usage, "ids of 2 bytes", [&] { t.put({ids.data(), 2, 2}, put); }));
  t.put(id_span(), {});
  EXPECT_EQ(array, before);
  EXPECT_EQ(all_of(t), before);

  row_array read_only{array.data(), rows, 3, element::f32, {}};
  read_only.writable = false;
  std::vector<std::int64_t> const three = {1, 2, 3};
  tiered_tensor locked = table(read_only, 100, false, {});
  EXPECT_TRUE(refused(errc::usage, "memory that is only read", [&] { locked.put(std::span(three), put); }));
  EXPECT_EQ(array, before);
  std::vector<std::byte> none;
  tiered_tensor widthless = table({none.data(), rows, 0, element::f32, {}}, 100, false, {});
  widthless.put(std::span(three), {});
  std::vector<std::int64_t> const outside = {1, 500};
  EXPECT_TRUE(refused(errc::input, "id 500 at position 1", [&] { widthless.put(std::span(outside), {}); }));
}

}  // namespace
}  // namespace garner
