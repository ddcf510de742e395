// Distances over weights of either type, as unsigned words with the same order, so that atomic_min finds
// the smaller one. u32 weights: 64-bit sums, which 2^32 edges on a path cannot overflow; or 32-bit sums,
// which halve the lookups' memory and report overflow. f32 weights: the bits of an f32 sum, accumulated
// along the path; non-negative floats order like their bits. Weights are stored as 32 bits.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/exec.hpp"
#include "core/mark.hpp"

namespace garner {

struct whole_distance {
  using word = std::uint64_t;
  static constexpr bool may_overflow = false;
  static constexpr word infinity = ~word{0};
  GARNER_HD static word add(word d, std::uint32_t weight) { return d + weight; }
  GARNER_HD static double value(word d) { return static_cast<double>(d); }
  GARNER_HD static double weight(std::uint32_t bits) { return static_cast<double>(bits); }
  // The smallest threshold that exceeds d by `step`.
  static word beyond(word d, double step) {
    double const up = std::ceil(step);
    return up >= 9e18 || d >= infinity - static_cast<word>(up) ? infinity : d + larger<word>(1, static_cast<word>(up));
  }
};

// The same in 32 bits: a sum that does not fit becomes infinity, which signals that 32 bits are too few.
struct short_distance {
  using word = std::uint32_t;
  static constexpr word infinity = ~word{0};
  static constexpr bool may_overflow = true;
  GARNER_HD static word add(word d, std::uint32_t weight) {
    word const sum = d + weight;
    return sum < d ? infinity : sum;
  }
  static word beyond(word d, double step) {
    double const up = std::ceil(step);
    return up >= static_cast<double>(infinity - d) ? infinity : d + larger<word>(1, static_cast<word>(up));
  }
};

struct real_distance {
  using word = std::uint32_t;
  static constexpr bool may_overflow = false;
  static constexpr word infinity = 0x7f800000;
  GARNER_HD static float real(word d) {
    float f;
    memcpy(&f, &d, sizeof f);
    return f;
  }
  GARNER_HD static word bits(float f) {
    word d;
    memcpy(&d, &f, sizeof d);
    return d;
  }
  GARNER_HD static word add(word d, std::uint32_t weight) { return bits(real(d) + real(weight)); }
  GARNER_HD static double value(word d) { return static_cast<double>(real(d)); }
  GARNER_HD static double weight(std::uint32_t bits) { return static_cast<double>(real(bits)); }
  static word beyond(word d, double step) {
    double const sum = value(d) + step;  // if rounded to d itself, the near pile would stay empty
    return sum >= 3.4e38 ? infinity : larger(d + 1, bits(static_cast<float>(sum)));
  }
};

// Reduces a run block by block, so that the sum of f32 distances does not depend on timing.
struct tally {
  std::uint64_t reached = 0, largest = 0, sum = 0;  // largest: as its word
  double real_sum = 0;
  GARNER_HD friend tally operator+(tally const& a, tally const& b) {
    return {a.reached + b.reached, larger(a.largest, b.largest), a.sum + b.sum, a.real_sum + b.real_sum};
  }
};

template <class Measure>
struct tally_distances {
  typename Measure::word const* distance;
  std::uint64_t vertices;
  tally* of_block;
  static constexpr std::uint64_t block = 8192;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    tally const mine = t.sum(indices{b * block, smaller(vertices, (b + 1) * block)}, [&](std::uint64_t v) {
      auto const d = distance[v];
      return d == Measure::infinity ? tally{} : tally{1, d, d, Measure::value(d)};
    });
    t.once([&] { of_block[b] = mine; });
  }
};

}  // namespace garner
