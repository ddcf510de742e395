// Sorts one list by digits, if it is long enough for that to pay. Cost: two or three passes; a spare buffer of the list's length.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace garner {

// Ascending keys below 2^bits; the bits from `low` on are compared first. Most edges are in long lists, for which a radix sort is faster.
template <class Key>
void sort_list(Key* keys, std::uint64_t count, std::vector<Key>& spare, int low, int bits) {
  constexpr int digit = 11;
  constexpr std::uint64_t few = 512, values = 1u << digit;
  if (count < few) return std::sort(keys, keys + count);
  spare.resize(count);
  Key *from = keys, *to = spare.data();
  for (int shift = low; shift < bits; shift += digit) {
    std::array<std::uint32_t, values> at{};
    for (std::uint64_t i = 0; i < count; ++i) ++at[from[i] >> shift & (values - 1)];
    std::exclusive_scan(at.begin(), at.end(), at.begin(), 0u);
    for (std::uint64_t i = 0; i < count; ++i) to[at[from[i] >> shift & (values - 1)]++] = from[i];
    std::swap(from, to);
  }
  if (from != keys) std::copy(from, from + count, keys);
  if (low == 0) return;
  for (std::uint64_t i = 0, end = 1; i < count; i = end++) {  // equal neighbors by weight
    while (end < count && keys[end] >> low == keys[i] >> low) ++end;
    if (end - i > 1) std::sort(keys + i, keys + end);
  }
}

constexpr std::uint64_t longest_alone = 1u << 20;  // a longer list is sorted by all threads together

}  // namespace garner
