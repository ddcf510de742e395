// Items that touch rows, by teams as wide as a row: a row of 16 floats is four lanes' work, and a warp of 32 has eight such rows on the
// way. Invariant: which lane does what changes with the width, the order of sums does not. Cost: a kernel for each of four widths.
#pragma once
#include <cstdint>

#include "core/exec.hpp"

namespace garner {

// `wide`: lanes read 16 bytes at a time. Each item has a team of its own: lists differ in length.
template <class Real, class Body>
void for_each_row(executor& x, item_count items, std::uint64_t columns, bool wide, Body const& body) {
  std::uint64_t const lanes = wide ? columns * sizeof(Real) / 16 : columns;
  if (lanes <= 4) for_each_item<4>(x, items, body, access_mode::aligned, true);
  else if (lanes <= 8) for_each_item<8>(x, items, body, access_mode::aligned, true);
  else if (lanes <= 16) for_each_item<16>(x, items, body, access_mode::aligned, true);
  else for_each_item<32>(x, items, body, access_mode::aligned, true);
}

// The same of bodies that take a number a lane at a time: narrow rows share a warp.
template <class Body>
void for_each_narrow(executor& x, item_count items, std::uint64_t columns, Body const& body) {
  if (columns <= 64) for_each_item<8>(x, items, body);
  else for_each_item<32>(x, items, body);
}

}  // namespace garner
