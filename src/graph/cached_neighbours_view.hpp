// Cached neighbours as they lie near and in the file: of each vertex a few of its in-neighbours (which: traverse/cached_neighbours.hpp).
// Up to three are ids of 4 bytes. Four, of a graph that 26 bits number, are 12 bytes: neighbour k is a u with u % 4 == k, and u / 4
// takes 24 bits. So a fourth costs nothing, and each class has at most one; a vertex may have fewer cached neighbours than it has
// neighbours. Invariant: what at() gives is below the count of vertices, or none.
#pragma once
#include <cstdint>

#include "core/mark.hpp"

namespace garner {

struct cached_neighbours_view {
  std::uint32_t const* words;  // near
  std::uint32_t per_vertex;
  bool narrow;
  static constexpr std::uint32_t none = ~0u, most = 4, narrow_words = 3, narrow_none = 0xffffff;

  static constexpr bool is_narrow(std::uint64_t vertices, std::uint64_t per_vertex) {
    return per_vertex == most && vertices <= std::uint64_t{1} << 26;
  }
  static constexpr std::uint64_t words_of(std::uint64_t vertices, std::uint64_t per_vertex) {
    return vertices * (is_narrow(vertices, per_vertex) ? narrow_words : per_vertex);
  }
  cached_neighbours_view(std::uint32_t const* from, std::uint64_t vertices, std::uint32_t count)
      : words(from), per_vertex(count), narrow(is_narrow(vertices, count)) {}

  GARNER_HD std::uint32_t at(std::uint64_t v, std::uint32_t k) const {
    if (!narrow) return words[v * per_vertex + k];
    std::uint32_t const *const mine = words + v * narrow_words, word = k * 24 / 32, bit = k * 24 % 32;
    std::uint32_t bits = mine[word] >> bit;
    if (bit > 8) bits |= mine[word + 1] << (32 - bit);
    bits &= narrow_none;
    return bits == narrow_none ? none : bits * most + k;
  }
};

}  // namespace garner
