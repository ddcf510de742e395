// Tables of numbered rows in files, and their comparison.
#pragma once
#include <gmock/gmock.h>

#include <fstream>
#include <numeric>

#include "core/random.hpp"
#include "features/row_file.hpp"
#include "features/stored_rows.hpp"
#include "files/npy_head.hpp"
#include "folder.hpp"
#include "garner/features.hpp"
#include "lab/drives/simulated.hpp"
#include "memory/budget.hpp"
#include "support.hpp"

namespace garner::testing {
using namespace lab;
using ::testing::HasSubstr;

inline constexpr std::uint64_t rows = 2000;

struct a_folder : own_folder {
  template <class T>
  std::string table(char const* type, std::vector<T> const& values, std::uint64_t width, std::size_t head = 0) const {
    std::string const name = at(fmt::format("{}x{}.{}.npy", type + 1, width, head)).string();
    std::ofstream out(name, std::ios::binary);
    std::string const begin = npy_head(type, values.size() / width, width, head);
    out.write(begin.data(), static_cast<std::streamsize>(begin.size()));
    out.write(reinterpret_cast<char const*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
    return name;
  }
  // Row r holds r * width, r * width + 1 ...
  std::string numbered(std::uint64_t width, std::uint64_t n = rows, std::size_t head = 0) const {
    std::vector<float> values(n * width);
    std::iota(values.begin(), values.end(), 0.0f);
    return table("<f4", values, width, head);
  }
};

inline std::vector<std::int64_t> some_ids(std::uint64_t seed, std::uint64_t n, std::uint64_t of = rows) {
  std::vector<std::int64_t> ids(n);
  for (std::uint64_t i = 0; i < n; ++i) ids[i] = static_cast<std::int64_t>(random_bits(seed, 0, i) % of);
  return ids;
}
inline void expect_rows(tiered_tensor& t, std::vector<std::int64_t> const& ids) {
  executor x(t.device());
  auto const near = near_copy(x, ids);
  buffer<float> const out(x.near(), ids.size() * t.width() + 1, x.device(), "a test");
  t.gather({near.data(), ids.size(), 8}, out);
  auto const got = host_copy(x, out.data(), ids.size() * t.width());
  for (std::uint64_t k = 0; k < got.size(); ++k)
    ASSERT_EQ(got[k], static_cast<float>(static_cast<std::uint64_t>(ids[k / t.width()]) * t.width() + k % t.width()))
        << k / t.width() << " of id " << ids[k / t.width()] << " " << t.about();
}

}  // namespace garner::testing
