// The primitives on the host, in blocks on the thread pool: count each block, scan the counts, write each block to its offset.
#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "core/primitives.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"

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

// --- sorting: splitters sampled from the keys cut them into buckets; blocks of keys are moved to their buckets, in order, and each bucket
// is sorted by itself, by digits. Two reads of the keys, one write, then pieces that stay in a cache. All
// loops run on the thread pool, which reports progress and stops on an interrupt.
namespace {
constexpr std::uint64_t sorted_at_once = 1u << 15;

class buckets {
 public:
  buckets(std::span<std::uint64_t const> keys, std::uint64_t mask) : mask_(mask) {
    constexpr std::uint64_t drawn = 16;  // a bucket; so none is much larger than others, unless a key is
    std::uint64_t const n = keys.size();
    count_ = std::min<std::uint64_t>(1024, std::bit_ceil(n / sorted_at_once + 1));
    std::vector<std::uint64_t> sample(count_ * drawn);
    for (std::uint64_t i = 0; i < sample.size(); ++i) sample[i] = keys[random_bits(0, 11, i) % n] & mask;
    std::sort(sample.begin(), sample.end());
    for (std::uint64_t b = 1; b < count_; ++b) splitters_.push_back(sample[b * drawn]);
  }
  std::uint64_t count() const { return count_; }
  std::uint64_t of(std::uint64_t key) const {  // how many splitters are not above it; without a branch to guess
    key &= mask_;
    std::uint64_t at = 0;
    for (std::uint64_t half = count_ / 2; half; half /= 2) at += splitters_[at + half - 1] <= key ? half : 0;
    return at;
  }

 private:
  std::uint64_t mask_, count_;
  std::vector<std::uint64_t> splitters_;
};

// move(i, position) for each key, so that buckets follow each other and keep their order within; then sort_bucket(begin, end) for each.
template <class Move, class Sort>
void sort_in_buckets(executor& x, std::span<std::uint64_t const> keys, std::uint64_t mask, Move move, Sort sort_bucket) {
  std::uint64_t const n = keys.size(), size = std::clamp<std::uint64_t>(n / (x.threads().threads() * 8), sorted_at_once, 1u << 20),
                      blocks = (n + size - 1) / size;
  progress done("sort", 2 * n);  // moved and sorted
  buckets const in(keys, mask);
  std::vector<std::uint64_t> place(in.count() * blocks + 1, 0);  // bucket by bucket, of each block
  auto const each_part = [&](auto f) {
    x.threads().run(blocks, 1, [&](std::uint64_t b, std::uint64_t) { f(b, b * size, std::min(n, (b + 1) * size)); });
  };
  each_part([&](std::uint64_t b, std::uint64_t begin, std::uint64_t end) {
    std::vector<std::uint64_t> mine(in.count(), 0);
    for (std::uint64_t i = begin; i < end; ++i) ++mine[in.of(keys[i])];
    for (std::uint64_t k = 0; k < in.count(); ++k) place[k * blocks + b] = mine[k];
  });
  std::exclusive_scan(place.begin(), place.end(), place.begin(), std::uint64_t{0});
  each_part([&](std::uint64_t b, std::uint64_t begin, std::uint64_t end) {
    std::vector<std::uint64_t> at(in.count());
    for (std::uint64_t k = 0; k < in.count(); ++k) at[k] = place[k * blocks + b];
    for (std::uint64_t i = begin; i < end; ++i) move(i, at[in.of(keys[i])]++);
    done.advance(end - begin);
  });
  x.threads().run(in.count(), 1, [&](std::uint64_t k, std::uint64_t) {
    std::uint64_t const begin = place[k * blocks], end = place[(k + 1) * blocks];
    sort_bucket(begin, end);
    done.advance(end - begin);
  });
}

// Sorts n keys by the bits of `mask`, and the values with them if there are any, by digits of those bits in which keys differ, the lowest
// first. Whether the result is in the spare; the other array then holds nothing of use.
bool sort_alone(std::uint64_t* keys, std::uint64_t* spare, std::uint32_t* values, std::uint32_t* spare_values, std::uint64_t n,
                std::uint64_t mask) {
  constexpr std::uint64_t radix = 1u << 11;
  bool moved = false;
  std::uint64_t differ = 0;
  for (std::uint64_t i = 1; i < n; ++i) differ |= (keys[i] ^ keys[0]) & mask;
  while (differ) {
    int const shift = std::countr_zero(differ);
    auto const digit = [=](std::uint64_t key) { return (key & mask) >> shift & (radix - 1); };
    std::uint64_t at[radix] = {};
    for (std::uint64_t i = 0; i < n; ++i) ++at[digit(keys[i])];
    std::exclusive_scan(at, at + radix, at, std::uint64_t{0});
    for (std::uint64_t i = 0; i < n; ++i) {
      std::uint64_t const to = at[digit(keys[i])]++;
      spare[to] = keys[i];
      if (values) spare_values[to] = values[i];
    }
    std::swap(keys, spare), std::swap(values, spare_values);
    moved = !moved;
    differ &= ~((radix - 1) << shift);
  }
  return moved;
}

// The same of all keys; `values` may be null.
bool sort_all(executor& x, std::span<std::uint64_t> keys, std::span<std::uint64_t> spare, std::uint32_t* values,
              std::uint32_t* spare_values, int bits) {
  std::uint64_t const mask = low_bits(bits);
  check_interrupted();
  if (keys.size() <= sorted_at_once) return sort_alone(keys.data(), spare.data(), values, spare_values, keys.size(), mask);
  sort_in_buckets(
      x, keys, mask,
      [&](std::uint64_t i, std::uint64_t to) {
        spare[to] = keys[i];
        if (values) spare_values[to] = values[i];
      },
      [&](std::uint64_t begin, std::uint64_t end) {
        std::uint64_t const n = end - begin;
        std::uint32_t *const to = values ? values + begin : nullptr, *const from = values ? spare_values + begin : nullptr;
        if (!sort_alone(spare.data() + begin, keys.data() + begin, from, to, n, mask)) return;
        std::copy_n(keys.data() + begin, n, spare.data() + begin);
        if (values) std::copy_n(to, n, from);
      });
  return true;
}
}  // namespace

std::span<std::uint64_t> sort(executor& x, std::span<std::uint64_t> keys, std::span<std::uint64_t> spare, int bits) {
  return sort_all(x, keys, spare, nullptr, nullptr, bits) ? spare.first(keys.size()) : keys;
}

std::span<std::uint64_t> sort_by_key(executor& x, std::span<std::uint64_t> keys, std::span<std::uint64_t> spare,
                                     std::span<std::uint32_t>& values, std::span<std::uint32_t> spare_values, int bits) {
  if (!sort_all(x, keys, spare, values.data(), spare_values.data(), bits)) return keys;
  values = spare_values.first(values.size());
  return spare.first(keys.size());
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

}  // namespace garner::on_host
