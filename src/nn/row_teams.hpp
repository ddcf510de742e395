// Items that touch rows, by teams as wide as a row: a row of 16 floats is four lanes' work, and a warp of 32 has eight such rows on the
// way. Invariant: which lane does what changes with the width, the order of sums does not. Cost: a kernel for each of four widths.
#pragma once
#include <cstdint>
#include <type_traits>

#include "core/exec.hpp"
#include "core/row_team.hpp"
#include "nn/aggregate.hpp"

namespace garner {

// What becomes of the sum of an item's rows: times `own`, with a row of the item's own, added to what is there.
template <class Real>
struct finish_sum {
  Real const* self;  // null: none
  Real self_factor, own;
  Real* out;
  bool add;
  template <int Each>
  GARNER_HD void operator()(std::uint64_t c, row_part<Real, Each> const& sum) const {
    using part = row_part<Real, Each>;
    part value;
    for (int j = 0; j < Each; ++j) value.v[j] = own * sum.v[j];
    if (self) {
      part const mine = part::in(self + c);
      for (int j = 0; j < Each; ++j) value.v[j] += self_factor * mine.v[j];
    }
    if (add) {
      part const had = part::in(out + c);
      for (int j = 0; j < Each; ++j) value.v[j] += had.v[j];
    }
    part::in(out + c) = value;
  }
};

// For items that read lists of rows, which differ in length: each has a team of its own.
template <class Real, class Body>
void for_each_row(executor& x, item_count items, std::uint64_t columns, bool wide, Body const& body) {
  with_row_team<Real>(columns, wide,
                      [&](auto width) { for_each_item<decltype(width)::value>(x, items, body, access_mode::aligned, true); });
}
// For items that are one row each.
template <class Real, class Body>
void for_each_even_row(executor& x, item_count items, std::uint64_t columns, bool wide, Body const& body) {
  with_row_team<Real>(columns, wide, [&](auto width) { for_each_item<decltype(width)::value>(x, items, body); });
}

// The same for kernels whose lanes read a number at a time, and which prefer many rows in flight to many lanes per row.
template <class Body>
void for_each_narrow(executor& x, item_count items, std::uint64_t columns, Body const& body) {
  if (columns <= 512) for_each_item<8>(x, items, body);
  else for_each_item<32>(x, items, body);
}

constexpr std::uint64_t slice_rows = 64;  // of what is summed over rows
constexpr std::uint64_t row_slices(std::uint64_t rows) { return (rows + slice_rows - 1) / slice_rows; }

// Calls f(c, N) for the columns of a row, std::integral_constant N at a time: 16 bytes where rows are wide (is_wide), else one number.
template <class Real, class Team, class F>
GARNER_HD void each_row_part(Team const& t, std::uint64_t columns, bool wide, F f) {
  constexpr int each = 16 / sizeof(Real);
  if (wide) t.each(indices{0, columns / each}, [&](std::uint64_t p) { f(p * each, std::integral_constant<int, each>{}); });
  else t.each(indices{0, columns}, [&](std::uint64_t c) { f(c, std::integral_constant<int, 1>{}); });
}
template <class Real>
bool all_wide(std::uint64_t columns, row_block<Real const> a, row_block<Real> b) {
  return is_wide(a, columns) && is_wide<Real>({b.data, b.stride}, columns);
}

}  // namespace garner
