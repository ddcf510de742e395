// Lanes per row of numbers: a row of 16 floats takes four lanes, and a warp of 32 has eight such rows in flight. Invariant: the width
// determines the assignment of work, and changes no result. Cost: a kernel for each of four widths.
#pragma once
#include <cstdint>
#include <type_traits>

namespace garner {

// Calls f(Width) with the width, as a std::integral_constant. `wide`: lanes read 16 bytes at a time.
template <class Real, class F>
void with_row_team(std::uint64_t columns, bool wide, F f) {
  std::uint64_t const lanes = wide ? columns * sizeof(Real) / 16 : columns;
  if (lanes <= 4) f(std::integral_constant<int, 4>{});
  else if (lanes <= 8) f(std::integral_constant<int, 8>{});
  else if (lanes <= 16) f(std::integral_constant<int, 16>{});
  else f(std::integral_constant<int, 32>{});
}

}  // namespace garner
