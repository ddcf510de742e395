// Rows in host memory come back as they were kept, block by block, also where blocks are empty and two kinds come side by side.
#include "nn/kept_rows.hpp"

#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

class kept_rows_at : public at_place {};
GARNER_AT_EVERY_PLACE(kept_rows_at);

TEST_P(kept_rows_at, come_back_as_they_were_in_every_step) {
  using kept = kept_rows<float>;
  executor x(where());
  std::vector<std::uint64_t> const blocks{0, 0, 5, 5, 5, 12, 13, 13};
  kept rows(x, blocks);
  std::uint64_t const wide = 6, narrow = 3;
  auto const value = [](int step, std::uint32_t layer, std::uint64_t row, std::uint64_t column) {
    return static_cast<float>(step * 1000 + static_cast<int>(layer * 500 + row * 10 + column));
  };
  buffer<float> from(x.near(), 13 * wide, x.device(), "rows"), to(x.near(), 13 * wide, x.device(), "rows");
  for (int step = 0; step < 3; ++step) {
    for (std::uint32_t layer = 0; layer < 2; ++layer) {
      std::vector<float> made(13 * wide);
      for (std::uint64_t i = 0; i < made.size(); ++i) made[i] = value(step, layer, i / wide, i % wide);
      x.copy(from.data(), made.data(), from.bytes());
      for (std::size_t b = 0; b + 1 < blocks.size(); ++b) {
        row_block<float const> const at{from.data() + blocks[b] * wide, wide};
        rows.keep({layer, kept::taken}, b, at, wide);
        rows.keep({layer, kept::in}, b, at, narrow);  // the first columns alone
      }
      x.fill(from.data(), 0, from.bytes());  // they were copied
      x.wait();
    }
    for (std::uint32_t layer = 2; layer-- > 0;) {
      rows.expect({layer, kept::taken});
      for (std::size_t b = 0; b + 1 < blocks.size(); ++b) {
        std::uint64_t const count = blocks[b + 1] - blocks[b];
        row_block<float const> const all = rows.bring({layer, kept::taken}, b, wide), some = rows.bring({layer, kept::in}, b, narrow);
        EXPECT_EQ(some.stride, narrow);
        if (count == 0) continue;
        x.copy(to.data(), all.data, count * wide * sizeof(float));
        x.copy(from.data(), some.data, count * narrow * sizeof(float));
        std::vector<float> const found = host_copy(x, to.data(), count * wide), first = host_copy(x, from.data(), count * narrow);
        for (std::uint64_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], value(step, layer, blocks[b] + i / wide, i % wide)) << b;
        for (std::uint64_t i = 0; i < first.size(); ++i) ASSERT_EQ(first[i], value(step, layer, blocks[b] + i / narrow, i % narrow)) << b;
      }
    }
  }
  EXPECT_EQ(rows.host_bytes(), 2 * 13 * (wide + narrow) * sizeof(float));
}

TEST(kept_rows, were_kept_before_they_come) {
  executor x({device_kind::cpu});
  kept_rows<float> rows(x, {0, 4});
  EXPECT_THROW(rows.bring({0, kept_rows<float>::taken}, 0, 6), error);
}

}  // namespace
}  // namespace garner
