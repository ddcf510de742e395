// Rows in an order of their own, for lists that read them: those that are read most lie side by side. A device caches lines of 128 bytes;
// of a row of 64 that lies among cold ones half a line is wasted, and the cache holds half as many. Rows are put in classes, by the power
// of two of how often lists name them, the most read first; in a class they stay in their order.
// Invariant: lists keep the order of their ends, so sums keep theirs, and their bits. Cost: to find it, a pass over the ends and a sort of
// the rows, 32 bytes a row meanwhile; kept, 4 bytes a row; for each use a copy of the rows, which is often made anyhow, for their factors.
// Source: hub grouping of Faldu, Diamond and Grot (IISWC 2019), of rows alone.
#pragma once
#include <cstdint>

#include "core/executor.hpp"
#include "memory/buffer.hpp"

namespace garner {

constexpr std::uint64_t cache_line = 128;            // of a device
constexpr std::uint64_t hot_rows_from = 256u << 10;  // rows: fewer of them the second-level cache holds, a line each

// How wide the rows are that somebody will aggregate, in columns; 0: not known.
struct aggregated_widths {
  std::uint64_t narrowest = 0, widest = 0;
  bool anywhere = false;  // for tests: few rows too, and at every place
};
inline bool in_hot_order(place_kind where, aggregated_widths const& w, std::uint64_t rows, std::uint64_t a_number) {
  if (w.narrowest == 0 || w.narrowest * a_number >= cache_line) return false;
  return w.anywhere || (where == place_kind::device && rows >= hot_rows_from);
}

class hot_lists {
 public:
  // The ends of lists, near, each below `rows`, by places in the order. `in_place`: where they may be written over the others, `ends`
  // itself; that is done where no wide rows are wanted. Waits.
  void take(executor& x, std::uint32_t const* ends, std::uint64_t edges, std::uint64_t rows, aggregated_widths const& widths,
            std::uint64_t a_number, std::uint32_t* in_place);
  // Whether lists read rows of so many columns in this order: no where nothing was taken, and where they are wide and the others are there.
  bool serves(std::uint64_t columns) const { return ends_ && (alone_ || columns * a_number_ < cache_line); }
  std::uint32_t const* ends() const { return ends_; }
  std::uint32_t const* order() const { return order_.data(); }  // of each place the row
  std::uint64_t bytes() const { return order_.bytes() + own_.bytes(); }
  // What it keeps, beside a copy of the rows.
  static double bytes_for(double edges, double rows, aggregated_widths const& widths, std::uint64_t a_number) {
    return 4 * (rows + (widths.widest * a_number < cache_line ? 0 : edges));
  }

 private:
  buffer<std::uint32_t> order_, own_;
  std::uint32_t const* ends_ = nullptr;
  std::uint64_t a_number_ = 0;
  bool alone_ = false;
};

}  // namespace garner
