// Compressed adjacency of a chunk: each piece decodes to the original, on every device, in device or host memory, across blocks and groups
// of the codec; and its size stays within the prediction.
#include "shard/packed_chunk.hpp"

#include <gmock/gmock.h>

#include "core/random.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

class packed_chunk_at : public at_place {};
GARNER_AT_EVERY_PLACE(packed_chunk_at);

// Items of up to `longest` ends below `vertices`, some empty, ascending unless `shuffled`; every ninth row is a slice.
shard_lists::chunk some_chunk(std::uint64_t items, std::uint64_t longest, std::uint64_t vertices, bool shuffled) {
  shard_lists::chunk c;
  for (std::uint64_t i = 0; i < items; ++i) {
    auto const row = static_cast<std::uint32_t>(i % 9 == 8 ? items + i : 2 * i + random_bits(1, 0, i) % 2);
    c.items.push_back({row, static_cast<std::uint32_t>(random_bits(1, 1, i) % 2), static_cast<std::uint32_t>(random_bits(1, 2, i) % 2), 0});
    c.offsets.push_back(c.ends.size());
    std::uint64_t const n = longest ? random_bits(1, 3, i) % (longest + 1) : 0, begin = c.ends.size();
    for (std::uint64_t k = 0; k < n; ++k) c.ends.push_back(static_cast<std::uint32_t>(random_bits(1, 4 + i, k) % vertices));
    if (!shuffled) std::sort(c.ends.begin() + static_cast<std::ptrdiff_t>(begin), c.ends.end());
  }
  c.offsets.push_back(c.ends.size());
  return c;
}

TEST_P(packed_chunk_at, windows_are_unpacked_to_what_was_packed) {
  struct {
    std::uint64_t items, longest, vertices, window;
    bool shuffled = false;
  } const cases[] = {{0, 0, 10, 512},
                     {1, 0, 10, 512},
                     {700, 0, 10, 512},
                     {300, 60, 5000, 512},
                     {3000, 33, 1u << 20, 1024},
                     {60, 512, std::uint64_t{1} << 32, 512, true},
                     {9000, 64, 1u << 20, 1u << 22},
                     {200'000, 3, 1u << 24, 100'000}};  // beyond a group of the codec
  for (auto const& a : cases)
    for (bool const far : {false, true}) {
      SCOPED_TRACE(
          fmt::format("{} items of up to {} of {}, windows of {}{}", a.items, a.longest, a.vertices, a.window, far ? ", far" : ""));
      shard_lists::chunk const c = some_chunk(a.items, a.longest, a.vertices, a.shuffled);
      std::vector<chunk_window> const windows = windows_of(c, a.window);
      executor x(where());
      packed_chunk const packed(x, c, windows, far);
      packed_chunk::room room;
      room.grow(x, packed, windows);
      EXPECT_EQ(room.bytes() > 0, far && !windows.empty());
      std::uint64_t const rows = 3 * a.items + 1;
      EXPECT_LE(packed.bytes(), packed_chunk::most_bytes(a.items, c.ends.size(), 1, rows, a.vertices, a.window));
      EXPECT_FALSE(packed.empty());
      std::uint64_t item = 0, end = 0, most_items = 0, most_ends = 0;
      for (chunk_window const& w : windows) {
        EXPECT_EQ(w.item, item);
        EXPECT_EQ(w.end, end);
        ASSERT_LE(w.ends, a.window);
        ASSERT_LE(w.items, a.window / 4);
        item += w.items, end += w.ends, most_items = std::max(most_items, w.items), most_ends = std::max(most_ends, w.ends);
        auto const items = near_copy(x, std::vector<shard_item>(w.items, {7, 0, 0, 0}));
        auto const offsets = near_copy(x, std::vector<std::uint64_t>(w.items + 1, 7));
        auto const ends = near_copy(x, std::vector<std::uint32_t>(w.ends + 1, 7));
        packed.unpack(x, w, room, {items.data(), offsets.data(), ends.data()});
        auto const got = host_copy(x, items.data(), w.items);
        auto const begins = host_copy(x, offsets.data(), w.items + 1);
        auto const found = host_copy(x, ends.data(), w.ends + 1);
        for (std::uint64_t i = 0; i < w.items; ++i) {
          shard_item const is = c.items[w.item + i];
          ASSERT_EQ(got[i].row, is.row) << i;
          ASSERT_EQ(got[i].begins, is.begins) << i;
          ASSERT_EQ(got[i].ends, is.ends) << i;
          ASSERT_EQ(begins[i], c.offsets[w.item + i]) << i;
        }
        EXPECT_EQ(begins.back(), w.end + w.ends);
        ASSERT_TRUE(std::equal(found.begin(), found.end() - 1, c.ends.begin() + static_cast<std::ptrdiff_t>(w.end)));
        EXPECT_EQ(found.back(), 7u);  // and not beyond
      }
      EXPECT_EQ(item, c.items.size());
      EXPECT_EQ(end, c.ends.size());
      EXPECT_LE(room.bytes(), packed_chunk::most_bytes(most_items, most_ends, 2, rows, a.vertices, a.window) + 3 * 128);
    }
}

TEST(packed_chunk, lists_that_ascend_take_less_than_plain_ones) {
  executor x({});
  shard_lists::chunk const c = some_chunk(20'000, 60, 1u << 18, false);
  packed_chunk const packed(x, c, windows_of(c, 1u << 22), false);
  EXPECT_LT(packed.bytes(), (c.items.size() * 16 + c.ends.size() * 4) * 3 / 5);
}

}  // namespace
}  // namespace garner
