// Tables of numbered rows in memory, and the comparison of all rows of a tensor.
#pragma once
#include <gmock/gmock.h>

#include <numeric>

#include "core/random.hpp"
#include "garner/features.hpp"
#include "memory/budget.hpp"
#include "support.hpp"

namespace garner::testing {
using ::testing::HasSubstr;

struct numbered_rows {  // row i holds i, width times
  std::vector<std::int64_t> values;
  row_array rows;
  numbered_rows(std::uint64_t n, std::uint64_t width) : values(n * width) {
    for (std::uint64_t i = 0; i < n * width; ++i) values[i] = static_cast<std::int64_t>(i / width);
    rows = {values.data(), n, width, element::i64, {}};
  }
};
inline std::vector<std::int64_t> all_ids(std::uint64_t n) {
  std::vector<std::int64_t> ids(n);
  std::iota(ids.begin(), ids.end(), 0);
  std::reverse(ids.begin(), ids.end());
  return ids;
}
// Every row of the tensor is the one of its id.
inline void expect_all_rows(tiered_tensor& t) {
  executor x(t.device());
  auto const ids = all_ids(t.rows());
  auto const near = near_copy(x, ids);
  buffer<std::int64_t> const out(x.near(), t.rows() * t.width() + 1, x.device(), "a test");
  t.gather({near.data(), ids.size(), 8}, out);
  auto const got = host_copy(x, out.data(), t.rows() * t.width());
  for (std::uint64_t k = 0; k < got.size(); ++k) ASSERT_EQ(got[k], ids[k / t.width()]) << t.about();
}
inline std::vector<float> some_scores(std::uint64_t n) {
  std::vector<float> scores(n);
  for (std::size_t i = 0; i < n; ++i) scores[i] = static_cast<float>(random_bits(2, 0, i) % 20);
  return scores;
}

}  // namespace garner::testing
