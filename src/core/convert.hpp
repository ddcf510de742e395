// Elements as they are written: the same bits on both sides, so all is done on the bits or with one exact product.
// f16 and bf16 to f32 are exact; to either the nearest is taken, of two the even; a NaN stays one. i8 is multiplied by its row's factor.
#pragma once
#include <bit>
#include <cstdint>

#include "core/mark.hpp"

namespace garner {

GARNER_HD inline float half_to_float(std::uint16_t h) {
  std::uint32_t const sign = static_cast<std::uint32_t>(h & 0x8000u) << 16, rest = static_cast<std::uint32_t>(h & 0x7fffu) << 13;
  if (rest >= 0x7c00u << 13) return std::bit_cast<float>(sign | (rest + (112u << 23 << 1)));  // infinity, NaN: exponent 31 becomes 255
  // The exponent is 112 too small, of subnormal numbers as well; the product is exact.
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) * 0x1p112f));
}
GARNER_HD inline float brain_to_float(std::uint16_t b) { return std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16); }
GARNER_HD inline std::uint16_t float_to_brain(float f) {
  auto const u = std::bit_cast<std::uint32_t>(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(u >> 16 | 0x40);
  return static_cast<std::uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

GARNER_HD inline std::uint16_t float_to_half(float f) {
  auto const u = std::bit_cast<std::uint32_t>(f);
  std::uint32_t const sign = u >> 16 & 0x8000u, size = u & 0x7fffffffu;
  if (size > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (size >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to 65,536 and more: infinite
  // Below 2^-14 the last bit counts 2^-24, as that of a float of a half does; the addition rounds.
  if (size < 0x38800000u)
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000u));
  return static_cast<std::uint16_t>(sign | ((size - (112u << 23) + 0xfffu + (size >> 13 & 1)) >> 13));
}

// What rows hold, as a lane reads it; value(bits, factor) is the number.
struct from_float {
  using bits = float;
  GARNER_HD static float value(bits b, float) { return b; }
};
struct from_half {
  using bits = std::uint16_t;
  GARNER_HD static float value(bits b, float) { return half_to_float(b); }
};
struct from_brain {
  using bits = std::uint16_t;
  GARNER_HD static float value(bits b, float) { return brain_to_float(b); }
};
struct from_byte {
  using bits = std::int8_t;
  GARNER_HD static float value(bits b, float factor) { return static_cast<float>(b) * factor; }
};
struct to_float {
  using bits = float;
  GARNER_HD static bits of(float f) { return f; }
};
struct to_half {
  using bits = std::uint16_t;
  GARNER_HD static bits of(float f) { return float_to_half(f); }
};
struct to_brain {
  using bits = std::uint16_t;
  GARNER_HD static bits of(float f) { return float_to_brain(f); }
};

}  // namespace garner
