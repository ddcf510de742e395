// Sorts all lists of a CSR in place, each by its ids, then by the values that accompany them. Cost: that of sort_list() for each list. A
// list too long for one thread is sorted by all of them, with 16 temporary bytes per entry.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "core/executor.hpp"
#include "core/primitives.hpp"
#include "core/progress.hpp"
#include "core/thread_pool.hpp"
#include "graph/sort_list.hpp"
#include "memory/buffer.hpp"

namespace garner {

// Ranges of vertices with about 2^16 edges each, by the offsets.
template <class F>
void each_part(std::uint64_t const* offsets, std::uint64_t vertices, F const& f) {
  constexpr std::uint64_t step = 1u << 16;
  shared_pool().run(offsets[vertices] / step + 1, 1, [&](std::uint64_t part, std::uint64_t last) {
    for (; part < last; ++part) {
      check_interrupted();
      f(static_cast<std::uint64_t>(std::lower_bound(offsets, offsets + vertices, part * step) - offsets),
        static_cast<std::uint64_t>(std::lower_bound(offsets, offsets + vertices, (part + 1) * step) - offsets));
    }
  });
}

// `with`: 32 bits per id that break ties (then ids are below 2^32), or null. Ids are below 2^id_bits.
template <class Id>
void sort_lists(executor& x, std::uint64_t const* offsets, std::uint64_t vertices, int id_bits, Id* ids, std::uint32_t* with) {
  auto const key = [&](std::uint64_t i) { return std::uint64_t{ids[i]} << 32 | with[i]; };
  auto const put = [&](std::uint64_t i, std::uint64_t k) {
    ids[i] = static_cast<Id>(k >> 32);
    with[i] = static_cast<std::uint32_t>(k);
  };
  std::atomic<bool> long_ones{false};
  each_part(offsets, vertices, [&](std::uint64_t v, std::uint64_t last) {
    std::vector<std::uint64_t> keys, spare;
    std::vector<Id> spare_ids;
    for (; v < last; ++v) {
      std::uint64_t const first = offsets[v], count = offsets[v + 1] - first;
      if (count > longest_alone) long_ones = true;
      if (count < 2 || count > longest_alone) continue;
      if (!with) {
        sort_list(ids + first, count, spare_ids, 0, id_bits);
        continue;
      }
      keys.resize(count);
      for (std::uint64_t i = 0; i < count; ++i) keys[i] = key(first + i);
      sort_list(keys.data(), count, spare, 32, 32 + id_bits);
      for (std::uint64_t i = 0; i < count; ++i) put(first + i, keys[i]);
    }
  });
  for (std::uint64_t v = 0; long_ones && v < vertices; ++v) {
    std::uint64_t const first = offsets[v], count = offsets[v + 1] - first;
    if (count <= longest_alone) continue;
    buffer<std::uint64_t> keys(tier::host, count, -1, "a long list, to sort"), spare(tier::host, count, -1, "a long list, to sort");
    for (std::uint64_t i = 0; i < count; ++i) keys[i] = with ? key(first + i) : std::uint64_t{ids[first + i]};
    std::span<std::uint64_t> const in_order = sort(x, keys.span(), spare.span());
    for (std::uint64_t i = 0; i < count; ++i) {
      if (with) put(first + i, in_order[i]);
      else ids[first + i] = static_cast<Id>(in_order[i]);
    }
  }
}

}  // namespace garner
