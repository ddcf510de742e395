// The primitives on the host. Sorting is the standard library's (oneTBB behind it); what keeps an order (scan, select, unique) is done in
// blocks on the crew: count each block, add up the counts, write each block where it belongs.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <type_traits>
#include <vector>
#if !defined(GARNER_SERIAL_ALGORITHMS)
#include <execution>
#define GARNER_PARALLEL std::execution::par,
#else
#define GARNER_PARALLEL
#endif

#include "core/primitives.hpp"

namespace garner::on_host {

namespace {
constexpr std::uint64_t block = 1u << 16;

// value(begin, end) of each block, then the exclusive sums of them; the last entry is the total.
template <class Value>
std::vector<std::uint64_t> block_sums(executor& x, std::uint64_t n, Value value) {
  std::uint64_t const blocks = (n + block - 1) / block;
  std::vector<std::uint64_t> sums(blocks + 1, 0);
  x.threads().run(blocks, 1, [&](std::uint64_t b, std::uint64_t) { sums[b] = value(b * block, std::min(n, (b + 1) * block)); });
  std::exclusive_scan(sums.begin(), sums.end(), sums.begin(), std::uint64_t{0});
  return sums;
}
template <class Write>
void each_block(executor& x, std::uint64_t n, Write write) {
  x.threads().run((n + block - 1) / block, 1, [&](std::uint64_t b, std::uint64_t) { write(b, b * block, std::min(n, (b + 1) * block)); });
}

template <class T>
void scan_blocks(executor& x, T const* in, std::uint64_t* out, std::uint64_t n) {
  auto const sums =
      block_sums(x, n, [&](std::uint64_t begin, std::uint64_t end) { return std::accumulate(in + begin, in + end, std::uint64_t{0}); });
  each_block(x, n, [&](std::uint64_t b, std::uint64_t begin, std::uint64_t end) {
    std::exclusive_scan(in + begin, in + end, out + begin, sums[b], std::plus<std::uint64_t>());
  });
  out[n] = sums.back();
}

// Keeps the indices for which keep(i) holds: move(i, position) for each, in order.
template <class Keep, class Move>
std::uint64_t compact(executor& x, std::uint64_t n, Keep keep, Move move) {
  auto const sums = block_sums(x, n, [&](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t count = 0;
    for (std::uint64_t i = begin; i < end; ++i) count += keep(i) ? 1 : 0;
    return count;
  });
  each_block(x, n, [&](std::uint64_t b, std::uint64_t begin, std::uint64_t end) {
    std::uint64_t at = sums[b];
    for (std::uint64_t i = begin; i < end; ++i)
      if (keep(i)) move(i, at++);
  });
  return sums.back();
}

std::uint64_t low_bits(int bits) { return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }
}  // namespace

void scan(executor& x, std::uint32_t const* in, std::uint64_t* out, std::uint64_t n) { scan_blocks(x, in, out, n); }
void scan(executor& x, std::uint64_t const* in, std::uint64_t* out, std::uint64_t n) { scan_blocks(x, in, out, n); }

std::uint64_t reduce_sum(executor& x, std::uint64_t const* in, std::uint64_t n) {
  return block_sums(x, n, [&](std::uint64_t b, std::uint64_t e) { return std::accumulate(in + b, in + e, std::uint64_t{0}); }).back();
}
std::uint64_t reduce_max(executor& x, std::uint64_t const* in, std::uint64_t n) {
  std::atomic<std::uint64_t> best{0};
  each_block(x, n, [&](std::uint64_t, std::uint64_t b, std::uint64_t e) {
    std::uint64_t const mine = *std::max_element(in + b, in + e);
    std::uint64_t old = best.load(std::memory_order_relaxed);
    while (old < mine && !best.compare_exchange_weak(old, mine, std::memory_order_relaxed)) {
    }
  });
  return best;
}

std::span<std::uint64_t> sort(executor&, std::span<std::uint64_t> keys, std::span<std::uint64_t>, int bits) {
  if (bits >= 64) std::sort(GARNER_PARALLEL keys.begin(), keys.end());
  else {
    std::uint64_t const mask = low_bits(bits);
    std::stable_sort(GARNER_PARALLEL keys.begin(), keys.end(),
                     [mask](std::uint64_t a, std::uint64_t b) { return (a & mask) < (b & mask); });
  }
  return keys;
}

std::span<std::uint64_t> sort_by_key(executor& x, std::span<std::uint64_t> keys, std::span<std::uint64_t>, std::span<std::uint32_t>& values,
                                     std::span<std::uint32_t>, int bits) {
  struct pair {
    std::uint64_t key;
    std::uint32_t value;
  };
  std::uint64_t const n = keys.size(), mask = low_bits(bits);
  std::vector<pair> pairs(n);
  each_block(x, n, [&](std::uint64_t, std::uint64_t b, std::uint64_t e) {
    for (std::uint64_t i = b; i < e; ++i) pairs[i] = {keys[i], values[i]};
  });
  std::stable_sort(GARNER_PARALLEL pairs.begin(), pairs.end(),
                   [mask](pair const& a, pair const& b) { return (a.key & mask) < (b.key & mask); });
  each_block(x, n, [&](std::uint64_t, std::uint64_t b, std::uint64_t e) {
    for (std::uint64_t i = b; i < e; ++i) keys[i] = pairs[i].key, values[i] = pairs[i].value;
  });
  return keys;
}

std::uint64_t select(executor& x, std::uint64_t const* in, std::uint8_t const* flags, std::uint64_t* out, std::uint64_t n) {
  return compact(
      x, n, [&](std::uint64_t i) { return flags[i] != 0; }, [&](std::uint64_t i, std::uint64_t at) { out[at] = in[i]; });
}
std::uint64_t select(executor& x, std::uint32_t const* in, std::uint8_t const* flags, std::uint32_t* out, std::uint64_t n) {
  return compact(
      x, n, [&](std::uint64_t i) { return flags[i] != 0; }, [&](std::uint64_t i, std::uint64_t at) { out[at] = in[i]; });
}

std::uint64_t unique(executor& x, std::uint64_t const* in, std::uint64_t* out, std::uint64_t n) {
  return compact(
      x, n, [&](std::uint64_t i) { return i == 0 || in[i] != in[i - 1]; }, [&](std::uint64_t i, std::uint64_t at) { out[at] = in[i]; });
}
std::uint64_t unique_by_key(executor& x, std::uint64_t const* keys, std::uint32_t const* values, std::uint64_t* out_keys,
                            std::uint32_t* out_values, std::uint64_t n) {
  return compact(
      x, n, [&](std::uint64_t i) { return i == 0 || keys[i] != keys[i - 1]; },
      [&](std::uint64_t i, std::uint64_t at) { out_keys[at] = keys[i], out_values[at] = values[i]; });
}

void histogram(executor& x, std::uint32_t const* bin, std::uint64_t n, std::uint64_t* counts, std::uint32_t bins) {
  std::fill(counts, counts + bins, std::uint64_t{0});
  each_block(x, n, [&](std::uint64_t, std::uint64_t b, std::uint64_t e) {
    for (std::uint64_t i = b; i < e; ++i)
      if (bin[i] < bins) std::atomic_ref<std::uint64_t>(counts[bin[i]]).fetch_add(1, std::memory_order_relaxed);
  });
}

}  // namespace garner::on_host
