// Rows of a part's blocks on every device: each pass returns the table's, while the next ones overwrite the previous ones.
#include "nn/part_rows.hpp"

#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

class part_rows_at : public at_place {};
GARNER_AT_EVERY_PLACE(part_rows_at);

TEST_P(part_rows_at, are_those_of_the_table_scaled_whatever_comes_meanwhile) {
  constexpr std::uint64_t width = 8, size = 200;
  for (std::uint64_t const blocks : {1u, 2u, 3u, 5u}) {
    SCOPED_TRACE(blocks);
    std::vector<float> values(blocks * size * width, 0);
    for (std::uint64_t i = 0; i < blocks * size; ++i)
      values[i * width] = values[i * width + 1 + i % (width - 1)] = static_cast<float>(1u << i % 9);
    tiered_options o;
    o.device = where();
    if (where().kind != device_kind::cpu) o.feature_cache = 0;
    tiered_tensor table(row_array{values.data(), blocks * size, width, element::f32, {}}, o);
    executor x(where());
    std::vector<std::uint64_t> begins;
    for (std::uint64_t b = 0; b <= blocks; ++b) begins.push_back(b * size);
    part_rows rows(x, table, row_scaling::sum, begins, 0, nullptr);
    std::vector<float> expected = values;  // two equal numbers per row
    for (float& v : expected) v = v > 0 ? 0.5f : 0;
    for (int pass = 0; pass < 3; ++pass) {
      buffer<float> const out(x.near(), values.size(), x.device(), "a test");
      for (std::uint64_t b = 0; b < blocks; ++b) {
        row_block<float const> const block = rows.block(b * size, size);
        ASSERT_EQ(block.stride, width);
        x.copy(out.data() + b * size * width, block.data, size * width * sizeof(float));
      }
      EXPECT_EQ(host_copy(x, out.data(), out.size()), expected) << pass;
    }
  }
}

}  // namespace
}  // namespace garner
