// The contract of the primitives, on every device, against the simplest serial code.
#include "core/primitives.hpp"

#include <numeric>

#include "core/random.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

std::vector<std::uint64_t> const sizes{0, 1, 31, 1000, 65536, 200003};

std::vector<std::uint64_t> draw(std::uint64_t n, std::uint64_t bound, std::uint64_t seed) {
  std::vector<std::uint64_t> v(n);
  for (std::uint64_t i = 0; i < n; ++i) v[i] = random_bits(seed, 0, i) % bound;
  return v;
}
template <class T>
std::vector<T> as(std::vector<std::uint64_t> const& v) {
  return {v.begin(), v.end()};
}

class primitives : public at_place {};

TEST_P(primitives, scan_is_exclusive_and_ends_with_the_total) {
  executor x(where());
  for (std::uint64_t n : sizes) {
    auto const values = draw(n, 1u << 31, n);
    std::vector<std::uint64_t> want(n + 1, 0);
    std::partial_sum(values.begin(), values.end(), want.begin() + 1);
    auto const in = near_copy(x, values);
    auto const in32 = near_copy(x, as<std::uint32_t>(values));
    auto const out = near_copy(x, std::vector<std::uint64_t>(n + 1, 99));
    scan(x, in.data(), out.data(), n);
    EXPECT_EQ(host_copy(x, out.data(), n + 1), want) << n;
    x.fill(out.data(), 1, out.bytes());
    scan(x, in32.data(), out.data(), n);
    EXPECT_EQ(host_copy(x, out.data(), n + 1), want) << n;
  }
}

TEST_P(primitives, sort_by_some_bits_is_stable) {
  executor x(where());
  for (std::uint64_t n : sizes)
    for (int bits : {64, 9}) {
      auto const values = draw(n, bits == 64 ? ~std::uint64_t{0} : 1u << 20, n + 2);
      std::uint64_t const mask = bits == 64 ? ~std::uint64_t{0} : (1u << bits) - 1;
      auto want = values;
      std::stable_sort(want.begin(), want.end(), [&](auto a, auto b) { return (a & mask) < (b & mask); });
      auto const keys = near_copy(x, values), spare = near_copy(x, values);
      auto const got = sort(x, keys.span().first(n), spare.span().first(n), bits);
      EXPECT_EQ(host_copy(x, got.data(), n), want) << n << " " << bits;

      std::vector<std::uint32_t> order(n);
      std::iota(order.begin(), order.end(), 0u);
      std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return (values[a] & mask) < (values[b] & mask); });
      std::vector<std::uint32_t> positions(n);
      std::iota(positions.begin(), positions.end(), 0u);
      auto const keys2 = near_copy(x, values), spare2 = near_copy(x, values);
      auto const vals = near_copy(x, positions), spare_vals = near_copy(x, positions);
      std::span<std::uint32_t> moved = vals.span().first(n);
      auto const got2 = sort_by_key(x, keys2.span().first(n), spare2.span().first(n), moved, spare_vals.span().first(n), bits);
      EXPECT_EQ(host_copy(x, got2.data(), n), want);
      EXPECT_EQ(host_copy(x, moved.data(), n), order);
    }
}

TEST_P(primitives, select_keeps_the_order) {
  executor x(where());
  for (std::uint64_t n : sizes) {
    auto const values = draw(n, 1u << 30, n + 3);
    std::vector<std::uint8_t> flags(n);
    std::vector<std::uint64_t> want;
    for (std::uint64_t i = 0; i < n; ++i)
      if ((flags[i] = values[i] % 3 == 0 ? 2 : 0)) want.push_back(values[i]);
    auto const f = near_copy(x, flags);
    auto const in = near_copy(x, values), out = near_copy(x, values);
    EXPECT_EQ(select(x, in.data(), f.data(), out.data(), n), want.size());
    EXPECT_EQ(host_copy(x, out.data(), want.size()), want);
    auto const in32 = near_copy(x, as<std::uint32_t>(values)), out32 = near_copy(x, as<std::uint32_t>(values));
    EXPECT_EQ(select(x, in32.data(), f.data(), out32.data(), n), want.size());
    EXPECT_EQ(host_copy(x, out32.data(), want.size()), as<std::uint32_t>(want));
  }
}

TEST_P(primitives, unique_keeps_the_first_of_each_group) {
  executor x(where());
  for (std::uint64_t n : sizes) {
    auto values = draw(n, n / 3 + 1, n + 4);
    std::sort(values.begin(), values.end());
    std::vector<std::uint32_t> tags(n);
    std::iota(tags.begin(), tags.end(), 0u);
    std::vector<std::uint64_t> want;
    std::vector<std::uint32_t> want_tags;
    for (std::uint64_t i = 0; i < n; ++i)
      if (i == 0 || values[i] != values[i - 1]) want.push_back(values[i]), want_tags.push_back(tags[i]);
    auto const in = near_copy(x, values), out = near_copy(x, values);
    auto const t = near_copy(x, tags), out_t = near_copy(x, tags);
    EXPECT_EQ(unique(x, in.data(), out.data(), n), want.size());
    EXPECT_EQ(host_copy(x, out.data(), want.size()), want);
    EXPECT_EQ(unique_by_key(x, in.data(), t.data(), out.data(), out_t.data(), n), want.size());
    EXPECT_EQ(host_copy(x, out.data(), want.size()), want);
    EXPECT_EQ(host_copy(x, out_t.data(), want.size()), want_tags);
  }
}
GARNER_AT_EVERY_PLACE(primitives);

}  // namespace
}  // namespace garner
