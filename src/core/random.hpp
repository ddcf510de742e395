// Counter-based random numbers: the i-th number of a stream is a pure function of (seed, stream, i), so host and device, any number of
// threads and any order give the same bits. The mixer is the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), twice.
// Cost: two multiplications and shifts a round, no state.
#pragma once
#include <cstdint>

#include "core/mark.hpp"

namespace garner {

GARNER_HD inline std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// 64 random bits at position i of stream `stream` of `seed`.
GARNER_HD inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t i) {
  std::uint64_t const key = mix(seed + 0x9e3779b97f4a7c15ull * (stream + 1));
  return mix(mix(key ^ i) + 0x9e3779b97f4a7c15ull * (i + 1));
}

// Uniform in [0, bound) from 32 of the bits (multiply-shift; the bias is below bound / 2^32) ...
GARNER_HD inline std::uint32_t scale_bits(std::uint32_t bits, std::uint32_t bound) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(bits) * bound) >> 32);
}
// ... and in [0, 1) with 24 bits, the same float on both sides.
GARNER_HD inline float unit_float(std::uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24f; }

// The upper half of a product: uniform in [0, bound) from 64 random bits, so that lists of any length are sampled uniformly.
GARNER_HD inline std::uint64_t upper_product(std::uint64_t bits, std::uint64_t bound) {
  __extension__ using wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<wide>(bits) * bound >> 64);
}
// -log2(u) of u = bits / 2^64 (0 counts as the least above it), in units of 2^-40; at least one unit. By squaring, a bit at a time (Knuth,
// TAOCP 1, 1.2.2), so that every processor gives the same.
GARNER_HD inline std::uint64_t minus_log2(std::uint64_t bits) {
  constexpr int fraction = 40;
  std::uint64_t m = bits | 1;
  int whole = 64;
  for (; !(m >> 63); m <<= 1) --whole;  // u = m / 2^64 * 2^(whole - 64), m in [2^63, 2^64)
  std::uint64_t log = 0;                // of m / 2^63
  for (int k = 0; k < fraction; ++k) {
    m = upper_product(m, m);
    bool const two = m >> 63;
    if (!two) m <<= 1;
    log = log << 1 | (two ? 1 : 0);
  }
  return (static_cast<std::uint64_t>(64 - (whole - 1)) << fraction) - log;
}

// A keyed bijection on [0, 2^bits): labels of generated graphs are permuted with it. Each round is invertible modulo 2^bits: an odd
// multiplication, an addition and a xor of the upper half into the lower.
GARNER_HD inline std::uint64_t permute_label(std::uint64_t x, int bits, std::uint64_t seed) {
  if (bits == 0) return x;
  std::uint64_t const mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  int const half = (bits + 1) / 2;
  for (int round = 0; round < 4; ++round) {
    std::uint64_t const k = mix(seed ^ (0x632be59bd9b4e019ull * static_cast<std::uint64_t>(round + 1)));
    x = (x * (k | 1) + (k >> 17)) & mask;
    x ^= x >> half;
  }
  return x;
}

// A number that belongs to the edge {u, v} whichever way it is walked.
GARNER_HD inline std::uint64_t edge_bits(std::uint64_t u, std::uint64_t v, std::uint64_t seed) {
  std::uint64_t const lo = u < v ? u : v, hi = u < v ? v : u;
  return mix(mix(seed + 0x9e3779b97f4a7c15ull * (lo + 1)) ^ mix(hi + 0x632be59bd9b4e019ull));
}

}  // namespace garner
