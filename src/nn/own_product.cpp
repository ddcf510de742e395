// A matrix product of our own, for machines without a BLAS and for ThreadSanitizer, which cannot see into one. The scheme is Goto's (Goto
// and van de Geijn, ACM TOMS 2008): c is cut into blocks, one for each step of the thread pool. For `deep` elements of k at a time, a step
// copies its rows of a and its columns of b into panels as wide as a tile of registers, and multiplies panel by panel. Panels are padded
// with zeros, so all tiles run the same code and only elements of c are written.
// Invariant: an element of c is the sum of the same products in the same order, whatever blocks the threads took.
#include <algorithm>
#include <cstring>
#include <vector>

#include "nn/dense_product.hpp"

namespace garner {

namespace {
constexpr std::uint64_t deep = 256;
constexpr std::uint64_t block_rows = 96, block_columns = 256;  // panels: 360 KB of floats, which a second-level cache holds
constexpr std::uint64_t least_rows = 24, least_columns = 64;
constexpr std::uint64_t alone = 1u << 20;  // multiplications that are done before a second thread has woken

struct range {
  std::uint64_t first, last;
};
constexpr std::uint64_t blocks_of(std::uint64_t n, std::uint64_t a_block) { return (n + a_block - 1) / a_block; }

// Thread-local, kept for the next step: touching fresh pages takes as long as filling them.
template <class T>
T* packing_room(std::uint64_t elements) {
  thread_local std::vector<T> room;
  if (room.size() < elements) room.resize(elements);
  return room.data();
}

// Everything from here to the workers is inlined into each of them, which is what compiles it for its processor.
#define GARNER_INLINED [[gnu::always_inline]] inline

// A panel: for each of `depth`, `Wide` adjacent items. `items` exist, the others are zero.
template <std::uint64_t Wide, class T>
GARNER_INLINED void pack_panel(T const* from, std::uint64_t item_stride, std::uint64_t deep_stride, std::uint64_t items,
                               std::uint64_t depth, T* to) {
  if (items < Wide) std::fill(to, to + Wide * depth, T{0});
  if (item_stride == 1) {
    for (std::uint64_t p = 0; p < depth; ++p) {
      if (items == Wide) std::memcpy(to + p * Wide, from + p * deep_stride, Wide * sizeof(T));
      else std::memcpy(to + p * Wide, from + p * deep_stride, items * sizeof(T));
    }
    return;
  }
  for (std::uint64_t i = 0; i < items; ++i)
    for (std::uint64_t p = 0; p < depth; ++p) to[p * Wide + i] = from[i * item_stride + p * deep_stride];
}

template <class T, int Bytes>
struct vector_of {
  using type [[gnu::vector_size(Bytes)]] = T;
};

// out (Rows x 2 vectors) = panel of a * panel of b.
template <class T, int Bytes, int Rows>
GARNER_INLINED void multiply_panels(std::uint64_t depth, T const* a, T const* b, T* out) {
  using vec = typename vector_of<T, Bytes>::type;
  constexpr int lanes = Bytes / sizeof(T);
  vec sum[Rows][2] = {};
  for (std::uint64_t p = 0; p < depth; ++p, a += Rows, b += 2 * lanes) {
    vec left, right;
    std::memcpy(&left, b, Bytes);
    std::memcpy(&right, b + lanes, Bytes);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      sum[i][0] += a[i] * left;
      sum[i][1] += a[i] * right;
    }
  }
  std::memcpy(out, sum, sizeof sum);
}

template <class T, int Bytes, int Rows>
GARNER_INLINED void multiply_block(dense_product<T> const& p, range rows, range columns) {
  constexpr std::uint64_t wide = 2 * Bytes / sizeof(T);
  static_assert(block_rows % Rows == 0 && least_rows % Rows == 0 && block_columns % wide == 0 && least_columns % wide == 0);
  std::uint64_t const row_panels = blocks_of(rows.last - rows.first, Rows), column_panels = blocks_of(columns.last - columns.first, wide);
  std::uint64_t const a_item = p.transpose_a ? 1 : p.lda, a_deep = p.transpose_a ? p.lda : 1;
  std::uint64_t const b_item = p.transpose_b ? p.ldb : 1, b_deep = p.transpose_b ? 1 : p.ldb;
  T* const a_panels = packing_room<T>((row_panels * Rows + column_panels * wide) * std::min(p.k, deep));
  for (std::uint64_t k = 0; k < p.k; k += deep) {
    std::uint64_t const depth = std::min(deep, p.k - k);
    T* const b_panels = a_panels + row_panels * Rows * depth;
    for (std::uint64_t r = 0; r < row_panels; ++r) {
      std::uint64_t const i = rows.first + r * Rows;
      pack_panel<Rows>(p.a + i * a_item + k * a_deep, a_item, a_deep, std::min<std::uint64_t>(Rows, rows.last - i), depth,
                       a_panels + r * Rows * depth);
    }
    for (std::uint64_t s = 0; s < column_panels; ++s) {
      std::uint64_t const j = columns.first + s * wide;
      pack_panel<wide>(p.b + j * b_item + k * b_deep, b_item, b_deep, std::min(wide, columns.last - j), depth, b_panels + s * wide * depth);
    }
    for (std::uint64_t s = 0; s < column_panels; ++s)
      for (std::uint64_t r = 0; r < row_panels; ++r) {
        T tile[Rows * wide];
        multiply_panels<T, Bytes, Rows>(depth, a_panels + r * Rows * depth, b_panels + s * wide * depth, tile);
        std::uint64_t const i = rows.first + r * Rows, j = columns.first + s * wide;
        std::uint64_t const height = std::min<std::uint64_t>(Rows, rows.last - i), width = std::min(wide, columns.last - j);
        for (std::uint64_t y = 0; y < height; ++y) {
          T* const c = p.c + (i + y) * p.ldc + j;
          T const* const t = tile + y * wide;
          if (k > 0)
            for (std::uint64_t x = 0; x < width; ++x) c[x] += p.alpha * t[x];
          else if (p.beta != 0)
            for (std::uint64_t x = 0; x < width; ++x) c[x] = p.beta * c[x] + p.alpha * t[x];
          else
            for (std::uint64_t x = 0; x < width; ++x) c[x] = p.alpha * t[x];
        }
      }
  }
}

template <class T>
void plain_worker(dense_product<T> const& p, range rows, range columns) {
  multiply_block<T, 16, 4>(p, rows, columns);
}
#if defined(__x86_64__)
template <class T>
[[gnu::target("avx2,fma")]] void wide_worker(dense_product<T> const& p, range rows, range columns) {
  multiply_block<T, 32, 6>(p, rows, columns);
}
#endif

template <class T>
auto worker_for([[maybe_unused]] bool plain) {
#if defined(__x86_64__)
  if (!plain && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return wide_worker<T>;
#endif
  return plain_worker<T>;
}

template <class T>
void scale(thread_pool& threads, dense_product<T> const& p) {
  threads.run(p.m, std::max<std::uint64_t>(1, alone / p.n), [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i)
      for (T *c = p.c + i * p.ldc, *last = c + p.n; c != last; ++c) *c = p.beta == 0 ? T{0} : p.beta * *c;
  });
}

template <class T>
void multiply(thread_pool& threads, dense_product<T> const& p, bool plain) {
  if (p.m == 0 || p.n == 0) return;
  if (p.k == 0 || p.alpha == 0) {
    scale(threads, p);
    return;
  }
  auto const work = worker_for<T>(plain);
  std::uint64_t high = block_rows, wide = block_columns;
  auto const steps = [&] { return blocks_of(p.m, high) * blocks_of(p.n, wide); };
  std::uint64_t const enough = 4 * std::uint64_t{threads.threads()};  // so that all end at nearly the same time
  while (steps() < enough && (high > least_rows || wide > least_columns)) {
    // The closer to a square, the less is copied for each multiplication.
    if (wide > least_columns && (wide >= high || high == least_rows)) wide /= 2;
    else high /= 2;
  }
  std::uint64_t const a_row = blocks_of(p.n, wide);
  double const multiplications = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  threads.run(steps(), multiplications < alone ? steps() : 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t step = begin; step < end; ++step) {
      std::uint64_t const i = step / a_row * high, j = step % a_row * wide;
      work(p, {i, std::min(p.m, i + high)}, {j, std::min(p.n, j + wide)});
    }
  });
}
}  // namespace

void own_product(thread_pool& threads, dense_product<float> const& p, bool plain) { multiply(threads, p, plain); }
void own_product(thread_pool& threads, dense_product<double> const& p, bool plain) { multiply(threads, p, plain); }

}  // namespace garner
