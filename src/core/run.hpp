// Contiguous elements that one team reads: a neighbour list, a feature row. Often far: only a team may read it.
// Invariant: data is aligned to 128 bytes, so that the lines of the run can be told from its indices.
#pragma once
#include <cstdint>

namespace garner {

template <class T>
struct run {
  T const* data;
  std::uint64_t begin, end;
};

}  // namespace garner
