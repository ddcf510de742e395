// Floats to 16 bits and back: every number that 16 bits have comes back, and what lies between two goes to the nearer, of two the even.
#include "core/convert.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace garner {
namespace {

template <class To, class From>
void comes_back_and_rounds(To to, From from, std::uint16_t infinite) {
  for (std::uint32_t b = 0; b < infinite; ++b) {
    auto const here = static_cast<std::uint16_t>(b), next = static_cast<std::uint16_t>(b + 1);
    for (std::uint16_t const sign : {0, 0x8000}) {
      float const value = from(static_cast<std::uint16_t>(here | sign));
      ASSERT_EQ(to(value), here | sign) << b;
      if (next == infinite) continue;
      double const above = static_cast<double>(from(static_cast<std::uint16_t>(next | sign))),
                   middle = (static_cast<double>(value) + above) / 2;
      auto const half = static_cast<float>(middle);
      ASSERT_EQ(static_cast<double>(half), middle);
      ASSERT_EQ(to(half), (b % 2 ? next : here) | sign) << b;
      ASSERT_EQ(to(std::nextafter(half, value)), here | sign) << b;
      ASSERT_EQ(to(std::nextafter(half, static_cast<float>(above))), next | sign) << b;
    }
  }
  constexpr float none = std::numeric_limits<float>::infinity();
  EXPECT_EQ(to(none), infinite);
  EXPECT_EQ(to(-none), infinite | 0x8000);
  EXPECT_EQ(to(std::numeric_limits<float>::max()), infinite);
  EXPECT_TRUE(std::isnan(from(to(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(convert, half) { comes_back_and_rounds(float_to_half, half_to_float, 0x7c00); }
TEST(convert, brain) { comes_back_and_rounds(float_to_brain, brain_to_float, 0x7f80); }
TEST(convert, half_at_the_edges) {
  EXPECT_EQ(float_to_half(65519.9f), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_half(0x1p-25f), 0);  // halfway to the smallest: the even one
  EXPECT_EQ(float_to_half(0x1.8p-25f), 1);
  EXPECT_EQ(float_to_half(1.0f), 0x3c00);
}

}  // namespace
}  // namespace garner
