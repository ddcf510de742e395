// Sorts records in the memory of a device, with few copies. A record is a 64-bit key with an optional
// 32-bit value. Host threads produce and consume records in parts, in pinned memory, while the previous
// part crosses the link. Invariant: the sort is stable. Cost per record: 24 bytes of device memory (16
// without values), and 12 (8) bytes over the link in each direction. Two parts are in pinned host memory.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "core/executor.hpp"
#include "core/primitives.hpp"
#include "core/progress.hpp"
#include "core/stats.hpp"
#include "memory/buffer.hpp"

namespace garner {

class record_sorter {
 public:
  // Returns a sorter for this many records, of which one sort() takes up to room().
  // Returns null if host threads sort faster, or the device lacks the memory.
  static std::unique_ptr<record_sorter> at(execution_device where, std::uint64_t records, bool values);
  std::uint64_t room() const { return keys_.size(); }
  std::uint64_t part() const { return staged_keys_.size() / 2; }  // maximum number of records per call of make() and take()

  // Sorts `count` records by the lowest `bits` bits of their keys. make(first, keys, values) writes records from number `first` on and
  // returns their number; take(first, n, keys, values) receives them in sorted order. `values` may be null.
  template <class Make, class Take>
  void sort(std::uint64_t count, int bits, Make const& make, Take const& take) {
    phase const timed{"graph.records.sort"};
    for (std::uint64_t first = 0, half = 0; first < count; half ^= part()) {
      check_interrupted();
      std::uint64_t const n = make(first, staged(half), staged_value(half));
      x_.wait();  // the other half is free
      x_.copy(keys_.data() + first, staged(half), n * 8);
      if (!values_.empty()) x_.copy(values_.data() + first, staged_value(half), n * 4);
      first += n;
    }
    std::span<std::uint64_t> const keys = keys_.span().first(count), spare = spare_.span().first(count);
    std::span<std::uint32_t> values = values_.span().first(values_.empty() ? 0 : count);
    std::span<std::uint64_t> const sorted = values_.empty() ? garner::sort(x_, keys, spare, bits)
                                                            : sort_by_key(x_, keys, spare, values, spare_values_.span().first(count), bits);
    auto const bring = [&](std::uint64_t first, std::uint64_t half) {
      std::uint64_t const n = std::min(part(), count - std::min(count, first));
      if (n == 0) return;
      x_.copy(staged(half), sorted.data() + first, n * 8);
      if (!values_.empty()) x_.copy(staged_value(half), values.data() + first, n * 4);
    };
    bring(0, 0);
    for (std::uint64_t first = 0, half = 0; first < count; first += part(), half ^= part()) {
      check_interrupted();
      x_.wait();
      bring(first + part(), half ^ part());
      take(first, std::min(part(), count - first), std::as_const(*this).staged(half), staged_value(half));
    }
  }

 private:
  record_sorter(execution_device where, std::uint64_t records, std::uint64_t part, bool values);
  std::uint64_t* staged(std::uint64_t from) const { return staged_keys_.data() + from; }
  std::uint32_t* staged_value(std::uint64_t from) const { return staged_values_.empty() ? nullptr : staged_values_.data() + from; }

  executor x_;
  buffer<std::uint64_t> keys_, spare_, staged_keys_;
  buffer<std::uint32_t> values_, spare_values_, staged_values_;
  wait_at_end wait_{x_};
};

}  // namespace garner
