// Contiguous elements that one team reads: a neighbour list, a feature row. Often far: only a team may read it.
// Invariant: data is aligned to 128 bytes, so that the lines of the span can be told from its indices. A packed span has no data but codes
// (core/packed.hpp); its elements are 32-bit integers.
#pragma once
#include <cstdint>
#include <type_traits>

#include "core/packed.hpp"

namespace garner {

template <class T>
struct span {
  T const* data;
  std::uint64_t begin, end;
  bool near = false;  // a copy near the place that runs: a simulated run does not count it
  packed_view packed{};

  // For compilers: whether such a span can be packed at all.
  static constexpr bool may_be_packed = std::is_same_v<T, std::uint32_t>;
  GARNER_HD bool is_packed() const {
    if constexpr (may_be_packed) return packed.words != nullptr;
    else return false;
  }
};

// The same span; where it is known not to be packed the compiler is told, so that a kernel over plain lists does not pay for the registers
// that decoding takes.
template <bool Packed, class T>
GARNER_HD inline span<T> known(span<T> r) {
  if constexpr (!Packed) r.packed = {};
  return r;
}

struct indices {  // of near memory, or of a span that is still to be made
  std::uint64_t begin, end;
};

}  // namespace garner
