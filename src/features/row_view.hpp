// Location of each row of a table, as a kernel reads it. A row is found by its rank (its index among the hottest rows; without scores its
// id). Ranks [0, kept()) are in segments, one after the other, each in memory of one tier. All other rows are in the remote array, indexed
// by id, or in a file, which no kernel reads. A segment of several parts is interleaved: row k of it is row k / parts of part k % parts
// (Listing 4.1 of Min's dissertation as meant).
// Invariant: ends ascend; rank_of has an entry per id, or is null and the id is the rank.
#pragma once
#include <cstdint>

#include "core/mark.hpp"
#include "garner/device.hpp"

namespace garner {

struct row_view {
  static constexpr std::uint32_t most_segments = 3, most_parts = 18;
  struct segment_of_rows {
    std::uint64_t end = 0;  // the first rank behind it
    std::uint32_t first_part = 0, parts = 1;
    tier where = tier::device;
  };
  struct place_of_row {
    char const* row;
    tier where;
  };

  std::uint64_t rows = 0, row_bytes = 0;
  std::uint64_t stride = 0;       // from a row to the next; 0: row_bytes
  void const* rank_of = nullptr;  // a rank of kept() or more: the row is remote
  std::uint32_t rank_bytes = 4;
  std::uint32_t segments = 0;
  segment_of_rows segment[most_segments];
  char const* part[most_parts] = {};
  char const* far = nullptr;
  bool in_file = false;  // rows outside all segments are in a file, and `far` is unused
  // Copies of remote rows on the gathering device (features/window.hpp): index by id; window_rows or more: none.
  std::uint32_t const* window_of = nullptr;
  std::uint32_t window_rows = 0;
  char const* window = nullptr;

  GARNER_HD_INLINE std::uint64_t apart() const { return stride ? stride : row_bytes; }
  GARNER_HD_INLINE std::uint64_t kept() const { return segments ? segment[segments - 1].end : 0; }
  GARNER_HD_INLINE std::uint64_t begin_of(std::uint32_t k) const { return k ? segment[k - 1].end : 0; }
  GARNER_HD_INLINE std::uint64_t rank(std::uint64_t id) const {
    if (!rank_of) return id;
    return rank_bytes == 4 ? static_cast<std::uint32_t const*>(rank_of)[id] : static_cast<std::uint64_t const*>(rank_of)[id];
  }
  GARNER_HD_INLINE place_of_row operator[](std::uint64_t id) const {
    if (segments) {
      std::uint64_t const r = rank(id);
      for (std::uint32_t k = 0; k < segments; ++k) {
        segment_of_rows const& s = segment[k];
        if (r >= s.end) continue;
        std::uint64_t const offset = r - begin_of(k);
        if (s.parts == 1) return {part[s.first_part] + offset * apart(), s.where};
        return {part[s.first_part + offset % s.parts] + offset / s.parts * apart(), s.where};
      }
    }
    if (window_of) {
      std::uint32_t const k = window_of[id];
      if (k < window_rows) return {window + k * row_bytes, tier::device};
    }
    if (in_file) return {nullptr, tier::file};
    return {far + id * apart(), tier::host};
  }

  std::uint32_t used_parts() const { return segments ? segment[segments - 1].first_part + segment[segments - 1].parts : 0; }
  // Appends a segment of `count` rows, if there are any.
  void add(tier where, std::uint64_t count, std::uint32_t parts, char const* const* at) {
    if (count == 0) return;
    std::uint32_t const first = used_parts();
    segment[segments] = {kept() + count, first, parts, where};
    for (std::uint32_t p = 0; p < parts; ++p) part[first + p] = at[p];
    ++segments;
  }
  std::uint64_t rows_in(tier t) const {
    std::uint64_t n = t == (in_file ? tier::file : tier::host) ? rows - kept() : 0;
    for (std::uint32_t k = 0; k < segments; ++k)
      if (segment[k].where == t) n += segment[k].end - begin_of(k);
    return n;
  }
};

}  // namespace garner
