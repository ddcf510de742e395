// Cached neighbors as stored in local memory and in the file: a few in-neighbors per vertex (which: traverse/cached_neighbors.hpp). Up to
// three are 4-byte ids. Four, for graphs whose ids fit 26 bits, take 12 bytes: neighbor k is a vertex u with u % 4 == k, and u / 4 takes 24
// bits. So the fourth is free, but each residue class has at most one; a vertex may have fewer cached neighbors than neighbors. Invariant:
// at() returns a valid vertex id, or none.
#pragma once
#include <cstdint>

#include "core/mark.hpp"

namespace garner {

struct cached_neighbors_view {
  std::uint32_t const* words;  // local
  std::uint32_t per_vertex;
  bool narrow;
  static constexpr std::uint32_t none = ~0u, most = 4, narrow_words = 3, narrow_none = 0xffffff;

  static constexpr bool is_narrow(std::uint64_t vertices, std::uint64_t per_vertex) {
    return per_vertex == most && vertices <= std::uint64_t{1} << 26;
  }
  static constexpr std::uint64_t words_of(std::uint64_t vertices, std::uint64_t per_vertex) {
    return vertices * (is_narrow(vertices, per_vertex) ? narrow_words : per_vertex);
  }
  cached_neighbors_view(std::uint32_t const* from, std::uint64_t vertices, std::uint32_t count)
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
