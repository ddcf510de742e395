#include "arithmetic.hpp"

#include "common.hpp"
#include "core/exec.hpp"

namespace garner::cli {

namespace {
struct multiply_and_add {
  static constexpr int chains = 8;  // independent chains hide the latency
  std::uint32_t steps;
  float factor;  // -1, unknown to the compiler: v becomes 3 - v, and v again
  std::uint32_t* wrong;

  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    float const first = static_cast<float>(i % 64) / 64;  // sums of multiples of 1/64 and 3 are exact
    float v[chains];
#if defined(__CUDACC__)
#pragma unroll
#endif
    for (int k = 0; k < chains; ++k) v[k] = first + static_cast<float>(k) / 2;
#if defined(__CUDACC__)
#pragma unroll 8
#endif
    for (std::uint32_t s = 0; s < steps; ++s) {
#if defined(__CUDACC__)
#pragma unroll
#endif
      for (int k = 0; k < chains; ++k) v[k] = v[k] * factor + 3.0f;
    }
    bool right = true;
#if defined(__CUDACC__)
#pragma unroll
#endif
    for (int k = 0; k < chains; ++k) right = right && v[k] == first + static_cast<float>(k) / 2;
    if (!right) atomic_add(wrong, 1u);
  }
};
}  // namespace

void reckon(executor& x, std::uint64_t lanes, std::uint32_t steps, std::uint32_t* wrong) {
  if (steps % 2) fail(errc::internal, "arithmetic of {} steps does not end where it began; an even number does", steps);
  for_each_item<1>(x, lanes, multiply_and_add{steps, -1.0f, wrong}, access_mode::aligned, true);
}

}  // namespace garner::cli
