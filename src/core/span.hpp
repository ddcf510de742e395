// Contiguous elements that one team reads: the neighbors of a vertex, a feature row. Often remote: only a team may read it.
// Invariant: data is aligned to 128 bytes, so that the indices determine the lines of the span. A compressed span has codes instead of data
// (`core/packed.hpp`); its elements are 32-bit integers.
#pragma once
#include <cstdint>
#include <type_traits>

#include "core/packed.hpp"

namespace garner {

template <class T>
struct span {
  T const* data;
  std::uint64_t begin, end;
  bool near = false;  // a copy on the device that runs: a simulated run does not count it
  packed_view packed{};

  // For compilers: whether such a span can be compressed at all.
  static constexpr bool may_be_packed = std::is_same_v<T, std::uint32_t>;
  GARNER_HD bool is_packed() const {
    if constexpr (may_be_packed) return packed.words != nullptr;
    else return false;
  }
};

// The same span; if it is known to be plain the compiler learns it, so that a kernel over plain lists does not pay for the registers that
// decoding takes.
template <bool Packed, class T>
GARNER_HD inline span<T> known(span<T> r) {
  if constexpr (!Packed) r.packed = {};
  return r;
}

struct indices {  // of device memory, or of a span that is still to be made
  std::uint64_t begin, end;
};

}  // namespace garner
