// The columns of rows that one lane of a warp sums. Empty where nvcc does not compile.
#pragma once
#include "core/exec/lanes.hpp"

#if defined(__CUDACC__)

namespace garner::lanes {

// `Each` columns of a row, from c on, that a lane sums.
template <class V, int Each, bool Scaled>
struct column_sum {
  using part = row_part<V, Each>;
  part sums;
  template <class From>
  __device__ column_sum(From const& from, std::uint64_t c) {
#pragma unroll
    for (int j = 0; j < Each; ++j) sums.v[j] = from.start(c + j);
  }
  __device__ void add(part const& of, [[maybe_unused]] V scale) {
#pragma unroll
    for (int j = 0; j < Each; ++j) {
      if constexpr (Scaled) sums.v[j] += scale * of.v[j];
      else sums.v[j] += of.v[j];
    }
  }
  template <class Rows>
  __device__ static V scale(Rows const& rows, std::uint64_t k) {
    if constexpr (Scaled) return rows.scale(k);
    else return V{1};
  }
  // Four rows under way. A row's place is one product of 32 bits: this loop is short.
  template <class Rows>
  __device__ void add_rows(indices r, Rows const& rows, std::uint64_t c, std::uint32_t row_bytes) {
    using stored = stored_in<Rows>;
    auto const* const base = reinterpret_cast<char const*>(rows.data + c);
    auto const row = [&](std::uint64_t k) {
      auto const in = *reinterpret_cast<row_part<stored, Each> const*>(base + static_cast<std::uint64_t>(rows.id(k)) * row_bytes);
      if constexpr (std::is_same_v<stored, V>) {
        return in;
      } else {
        part out;
#pragma unroll
        for (int j = 0; j < Each; ++j) out.v[j] = number<V>(rows, in.v[j]);
        return out;
      }
    };
    std::uint64_t k = r.begin;
    for (; k + 4 <= r.end; k += 4) {
      part of[4];
      V scales[4];
#pragma unroll
      for (int u = 0; u < 4; ++u) of[u] = row(k + u), scales[u] = scale(rows, k + u);
#pragma unroll
      for (int u = 0; u < 4; ++u) add(of[u], scales[u]);
    }
    for (; k < r.end; ++k) add(row(k), scale(rows, k));
  }
};

}  // namespace garner::lanes
#endif
