// The one header that knows which processor a body runs on: atomics, teams, for_each_item.
//
// A body is a named functor, the loop body of one kernel, written once:
//   struct expand { ...views...; template <class Team> GARNER_HD void operator()(Team t, std::uint64_t item) const; };
//   for_each_item<32>(executor, n, expand{...});
// It never sees a lane and never indexes far memory; it asks its team, which is
//   host     one thread of the crew,
//   device   Width lanes of a warp,
//   traced   Width simulated lanes: the same answers as one thread, and a record of what the lanes would ask for in each step.
// Invariant: every place visits every item once; each element of a run is handed to exactly one lane. Collectives (any, sum, min) give
// the same value to all lanes of a team and must be reached by all of them.
// How the lanes meet a run: step k covers elements first + k * Width ...; `first` is the run's begin, or for aligned access the start of
// the line of 128 bytes that holds it (lanes before begin are idle), so that every later step is a whole line (Listing 2.2 of the
// dissertation; EMOGI, PVLDB 14(2) 2020). Four steps are in flight at a time, since a read over the link takes a microsecond or more.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/executor.hpp"
#include "core/fail.hpp"
#include "core/mark.hpp"
#include "core/progress.hpp"
#include "core/run.hpp"

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#endif

namespace garner {

// --- atomics: relaxed, for 4- and 8-byte unsigned integers (add: float and double too); each returns the old value
// -----------------------------------------------
#if defined(__CUDA_ARCH__)
namespace detail {
template <class T>
using atomic_word = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned int>;
template <class T>
__device__ atomic_word<T>* word(T* p) {
  return reinterpret_cast<atomic_word<T>*>(p);
}
}  // namespace detail
#endif

template <class T>
GARNER_HD inline T atomic_load(T const* p) {  // never from a stale first-level cache
#if defined(__CUDA_ARCH__)
  return *const_cast<T const volatile*>(p);
#else
  return std::atomic_ref<T>(*const_cast<T*>(p)).load(std::memory_order_relaxed);
#endif
}
template <class T>
GARNER_HD inline void atomic_store(T* p, T v) {
#if defined(__CUDA_ARCH__)
  *const_cast<T volatile*>(p) = v;
#else
  std::atomic_ref<T>(*p).store(v, std::memory_order_relaxed);
#endif
}
template <class T>
GARNER_HD inline T atomic_or(T* p, T v) {
#if defined(__CUDA_ARCH__)
  return static_cast<T>(::atomicOr(detail::word(p), static_cast<detail::atomic_word<T>>(v)));
#else
  return std::atomic_ref<T>(*p).fetch_or(v, std::memory_order_relaxed);
#endif
}
template <class T>
GARNER_HD inline T atomic_add(T* p, T v) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_floating_point_v<T>) return ::atomicAdd(p, v);
  else return static_cast<T>(::atomicAdd(detail::word(p), static_cast<detail::atomic_word<T>>(v)));
#else
  return std::atomic_ref<T>(*p).fetch_add(v, std::memory_order_relaxed);
#endif
}
template <class T>
GARNER_HD inline T atomic_min(T* p, T v) {
#if defined(__CUDA_ARCH__)
  return static_cast<T>(::atomicMin(detail::word(p), static_cast<detail::atomic_word<T>>(v)));
#else
  std::atomic_ref<T> at(*p);
  T old = at.load(std::memory_order_relaxed);
  while (v < old && !at.compare_exchange_weak(old, v, std::memory_order_relaxed)) {
  }
  return old;
#endif
}
template <class T>
GARNER_HD inline T atomic_max(T* p, T v) {
#if defined(__CUDA_ARCH__)
  return static_cast<T>(::atomicMax(detail::word(p), static_cast<detail::atomic_word<T>>(v)));
#else
  std::atomic_ref<T> at(*p);
  T old = at.load(std::memory_order_relaxed);
  while (old < v && !at.compare_exchange_weak(old, v, std::memory_order_relaxed)) {
  }
  return old;
#endif
}
template <class T>
GARNER_HD inline T atomic_cas(T* p, T expected, T desired) {
#if defined(__CUDA_ARCH__)
  return static_cast<T>(
      ::atomicCAS(detail::word(p), static_cast<detail::atomic_word<T>>(expected), static_cast<detail::atomic_word<T>>(desired)));
#else
  std::atomic_ref<T>(*p).compare_exchange_strong(expected, desired, std::memory_order_relaxed);
  return expected;
#endif
}

// --- small arithmetic that both sides have under different names -------------------------------------------------------------------------
GARNER_HD inline int count_bits(std::uint32_t w) {
#if defined(__CUDA_ARCH__)
  return __popc(w);
#else
  return __builtin_popcount(w);
#endif
}
GARNER_HD inline int lowest_bit(std::uint32_t w) {  // w != 0
#if defined(__CUDA_ARCH__)
  return __ffs(static_cast<int>(w)) - 1;
#else
  return __builtin_ctz(w);
#endif
}
template <class T>
GARNER_HD inline T smaller(T a, T b) {
  return b < a ? b : a;
}
template <class T>
GARNER_HD inline T larger(T a, T b) {
  return a < b ? b : a;
}

// Asks memory for what is touched soon. At the host only: a device runs other warps meanwhile.
template <class T>
GARNER_HD inline void ask_soon([[maybe_unused]] T const* p) {
#if !defined(__CUDA_ARCH__)
  __builtin_prefetch(p);
#endif
}

// --- lanes: what the three processors do differently -----------------------------------------------------------------
//   sweep   calls f(element, index) for every element of the run, starting at `first` <= run.begin
//   find    the same until pred(element) holds for one: that one (the first of the step in which any did)
//   stride  calls f(index) for indices of near memory
//   reduce  combines the lanes' values

template <class T>
struct found {
  T element;
  std::uint64_t index;  // ~0: none
  GARNER_HD explicit operator bool() const { return index != ~std::uint64_t{0}; }
};

namespace lanes {

inline constexpr std::uint64_t line_bytes = 128, sector_bytes = 32;
inline constexpr std::uint64_t packed_step = 4;    // packed blocks that a warp decodes at once
inline constexpr std::uint64_t stage_words = 256;  // a ring for them, the line they begin in and that they end in, in shared memory
inline constexpr int stages = 2;                   // a warp: for an array and one beside it

// What sums of floats are added up in.
template <class T>
GARNER_HD inline T wide(T v) {
  return v;
}
GARNER_HD inline double wide(float v) { return static_cast<double>(v); }

// sweep_lists by one thread. Four sums side by side, so that an addition need not wait for the one before.
template <class T, class F, class Done>
GARNER_HD inline void sum_lists_in_turn(run<T> r, std::uint64_t const* offsets, std::uint32_t count, F f, Done done) {
  std::uint64_t begin = larger(r.begin, offsets[0]);
  if constexpr (run<T>::may_be_packed) {
    if (r.is_packed()) {
      std::uint32_t list = 0;
      decltype(wide(f(T{}))) total{};
      each_in_turn(r.packed, begin, smaller(r.end, offsets[count]), [&](T e, std::uint64_t i) {
        while (i >= offsets[list + 1]) {
          if (larger(r.begin, offsets[list]) < offsets[list + 1]) done(list, total);
          total = {};
          ++list;
        }
        total += wide(f(e));
        return false;
      });
      if (list < count && larger(r.begin, offsets[list]) < smaller(r.end, offsets[list + 1])) done(list, total);
      return;
    }
  }
  for (std::uint32_t k = 0; k < count; ++k) {
    std::uint64_t const end = smaller(r.end, offsets[k + 1]);
    if (begin >= end) continue;
    decltype(wide(f(T{}))) a{}, b{}, c{}, d{};
    std::uint64_t i = begin;
    for (; i + 4 <= end; i += 4)
      a += wide(f(r.data[i])), b += wide(f(r.data[i + 1])), c += wide(f(r.data[i + 2])), d += wide(f(r.data[i + 3]));
    for (; i < end; ++i) a += wide(f(r.data[i]));
    done(k, (a + b) + (c + d));
    begin = end;
  }
}

// 16 bytes, so that a lane can ask for as many at once.
struct alignas(16) wide_word {
  std::uint64_t parts[2];
};

// f(element, index) in turn, packed or not, until it returns true.
template <class T, class F>
GARNER_HD inline bool until(run<T> const& r, F f) {
  if constexpr (run<T>::may_be_packed)
    if (r.is_packed()) return each_in_turn(r.packed, r.begin, r.end, f);
  for (std::uint64_t i = r.begin; i < r.end; ++i)
    if (f(r.data[i], i)) return true;
  return false;
}
// The same of two arrays side by side, to the end. Packed ones are decoded a block at a time.
template <class T, class U, class F>
GARNER_HD inline void both(run<T> const& r, run<U> const& beside, F f) {
  if (!r.is_packed() && !beside.is_packed()) {
    for (std::uint64_t i = r.begin; i < r.end; ++i) f(r.data[i], beside.data[i], i);
    return;
  }
  for (std::uint64_t i = r.begin; i < r.end;) {
    std::uint64_t const end = smaller(r.end, i / 32 * 32 + 32);
    U values[32];
    run<U> part = beside;
    part.begin = i, part.end = end;
    until(part, [&](U w, std::uint64_t j) { return values[j % 32] = w, false; });
    run<T> here = r;
    here.begin = i, here.end = end;
    until(here, [&](T e, std::uint64_t j) { return f(e, values[j % 32], j), false; });
    i = end;
  }
}
template <class T, class P>
GARNER_HD inline found<T> first_of(run<T> const& r, P pred) {
  found<T> hit{T{}, ~std::uint64_t{0}};
  until(r, [&](T e, std::uint64_t i) {
    if (!pred(e)) return false;
    hit = {e, i};
    return true;
  });
  return hit;
}

// The same by a thread of the host, which looks at each element some time before f gets it, so that it need not wait for what f touches: a
// branch on that, mispredicted, would keep it from asking for the next.
template <class T, class U, class F, class Look>
inline void both_ahead(run<T> const& r, run<U> const& beside, F f, Look look) {
  constexpr std::uint64_t ahead = 16;
  if (!r.is_packed() && !beside.is_packed()) {
    for (std::uint64_t i = r.begin; i < std::min(r.end, r.begin + ahead); ++i) look(r.data[i]);
    for (std::uint64_t i = r.begin; i < r.end; ++i) {
      if (i + ahead < r.end) look(r.data[i + ahead]);
      f(r.data[i], beside.data[i], i);
    }
    return;
  }
  for (std::uint64_t i = r.begin, end; i < r.end; i = end) {
    end = std::min(r.end, i / 32 * 32 + 32);
    T elements[32];
    U values[32];
    run<T> here = r;
    run<U> part = beside;
    here.begin = part.begin = i, here.end = part.end = end;
    until(here, [&](T e, std::uint64_t j) { return look(e), elements[j % 32] = e, false; });
    until(part, [&](U w, std::uint64_t j) { return values[j % 32] = w, false; });
    for (std::uint64_t j = i; j < end; ++j) f(elements[j % 32], values[j % 32], j);
  }
}

struct host {
  static constexpr int width = 1;
  template <class T, class F>
  void sweep(run<T> r, std::uint64_t, F f) const {
    until(r, [&](T e, std::uint64_t i) { return f(e, i), false; });
  }
  template <class T, class U, class F>
  void sweep(run<T> r, run<U> beside, std::uint64_t, F f) const {
    both(r, beside, f);
  }
  template <class T, class F>
  void pieces(run<T> r, std::uint64_t, F f) const {
    if (r.begin < r.end) f(r.data + r.begin, r.end - r.begin, std::uint64_t{0});
  }
  template <class T, class U, class F, class Look>
  void sweep(run<T> r, run<U> beside, F f, Look look) const {
    both_ahead(r, beside, f, look);
  }
  template <class T, class P>
  found<T> find(run<T> r, std::uint64_t, P pred) const {
    return first_of(r, pred);
  }
  template <class T, class F, class Done>
  void sweep_lists(run<T> r, std::uint64_t, std::uint64_t const* offsets, std::uint32_t count, F f, Done done) const {
    sum_lists_in_turn(r, offsets, count, f, done);
  }
  template <class F>
  void stride(std::uint64_t begin, std::uint64_t end, F f) const {
    for (std::uint64_t i = begin; i < end; ++i) f(i);
  }
  template <class V, class Op>
  V reduce(V v, Op) const {
    return v;
  }
  bool leads() const { return true; }
  bool aligns() const { return false; }
};

template <int Width>
struct traced {
  static constexpr int width = Width;
  std::vector<far_read>* reads;
  bool aligned;

  template <class T>
  void ask(run<T> const& r, std::uint64_t a, std::uint64_t b) const {
    if (!r.near) reads->push_back({reinterpret_cast<std::uint64_t>(r.data + a), reinterpret_cast<std::uint64_t>(r.data + b)});
  }
  // The words of packed elements [a, b): as wide teams ask for them, whole lines of four blocks at a time; a single lane takes what it
  // needs word by word, of which the block's words are told.
  template <class T>
  void ask_packed(run<T> const& r, std::uint64_t a, std::uint64_t b) const {
    constexpr std::uint64_t blocks = Width == 32 ? packed_step : 1;
    for (std::uint64_t k = a / 32 / blocks * blocks; k * 32 < b; k += blocks) {
      std::uint64_t const from = std::max(k, a / 32), to = std::min(k + blocks, (b + 31) / 32);
      run<std::uint32_t> const words{r.packed.words, r.packed.at.word_of(from), r.packed.at.word_of(to), r.near};
      for (std::uint64_t w = words.begin / 32 * 32; w < words.end; w += 32)
        ask(words, std::max(w, words.begin), std::min(w + 32, words.end));
    }
  }
  template <class T, class F>
  void sweep(run<T> r, std::uint64_t first, F f) const {
    if (r.is_packed()) {
      ask_packed(r, r.begin, r.end);
      until(r, [&](T e, std::uint64_t i) { return f(e, i), false; });
      return;
    }
    for (std::uint64_t s = first; s < r.end; s += Width) {
      std::uint64_t const a = std::max(s, r.begin), b = std::min<std::uint64_t>(s + Width, r.end);
      if (a >= b) continue;
      ask(r, a, b);
      for (std::uint64_t i = a; i < b; ++i) f(r.data[i], i);
    }
  }
  template <class T, class U, class F>
  void sweep(run<T> r, run<U> beside, std::uint64_t first, F f) const {
    if (r.is_packed() || beside.is_packed()) {
      sweep(r, first, [](T, std::uint64_t) {});
      sweep(beside, first, [](U, std::uint64_t) {});
      both(r, beside, f);
      return;
    }
    for (std::uint64_t s = first; s < r.end; s += Width) {
      std::uint64_t const a = std::max(s, r.begin), b = std::min<std::uint64_t>(s + Width, r.end);
      if (a >= b) continue;
      ask(r, a, b);
      ask(beside, a, b);
      for (std::uint64_t i = a; i < b; ++i) f(r.data[i], beside.data[i], i);
    }
  }
  template <class T, class F>
  void pieces(run<T> r, std::uint64_t first, F f) const {
    std::uint64_t const n = r.end - r.begin, idle = first < r.begin ? r.begin - first : 0, ahead = first > r.begin ? first - r.begin : 0;
    auto const piece = [&](std::uint64_t a, std::uint64_t b) {
      if (a >= b) return;
      ask(r, r.begin + a, r.begin + b);
      f(r.data + r.begin + a, b - a, a);
    };
    for (std::uint64_t s = 0; s < n + idle; s += Width) {
      std::uint64_t const a = std::max(s, idle) - idle + ahead, b = std::min(std::max(s + Width, idle) - idle, n) + ahead;
      piece(a, std::min(b, n));
      if (b > n) piece(std::max(a, n) - n, b - n);
    }
  }
  template <class T, class P>
  found<T> find(run<T> r, std::uint64_t first, P pred) const {
    if (r.is_packed()) {
      found<T> const hit = first_of(r, pred);
      ask_packed(r, r.begin, hit ? hit.index + 1 : r.end);
      return hit;
    }
    for (std::uint64_t s = first; s < r.end; s += Width) {
      std::uint64_t const a = std::max(s, r.begin), b = std::min<std::uint64_t>(s + Width, r.end);
      if (a >= b) continue;
      ask(r, a, b);
      std::uint64_t hit = b;
      for (std::uint64_t i = b; i-- > a;)  // every lane evaluates, as in a warp
        if (pred(r.data[i])) hit = i;
      if (hit != b) return {r.data[hit], hit};
    }
    return {T{}, ~std::uint64_t{0}};
  }
  template <class T, class F, class Done>
  void sweep_lists(run<T> r, std::uint64_t first, std::uint64_t const* offsets, std::uint32_t count, F f, Done done) const {
    sweep(r, first, [](T, std::uint64_t) {});
    sum_lists_in_turn(r, offsets, count, f, done);
  }
  template <class F>
  void stride(std::uint64_t begin, std::uint64_t end, F f) const {
    for (std::uint64_t i = begin; i < end; ++i) f(i);
  }
  template <class V, class Op>
  V reduce(V v, Op) const {
    return v;
  }
  bool leads() const { return true; }
  bool aligns() const { return aligned; }
};

#if defined(__CUDACC__)
template <int Width>
struct device {
  static constexpr int width = Width;
  static constexpr int in_flight = Width == 1 ? 1 : 4;
  bool aligned;

  __device__ static int lane() { return static_cast<int>(threadIdx.x % Width); }
  __device__ static unsigned mask() {
    if constexpr (Width == 32) return 0xffffffffu;
    else return ((1u << Width) - 1) << (threadIdx.x % 32 / Width * Width);
  }
  // Streamed (evict first), so that the edges passing by do not push the state out of the L2. A single lane comes back for the rest
  // of its sector, so it reads plainly.
  template <class T>
  __device__ static T load(T const* p) {
    if constexpr (Width == 1) {
      return *p;
    } else if constexpr (std::is_same_v<T, wide_word>) {
      ulonglong2 const v = __ldcs(reinterpret_cast<ulonglong2 const*>(p));
      return {{v.x, v.y}};
    } else {
      return __ldcs(p);
    }
  }
  // How far the words of a packed run have come to the ring in shared memory. Pieces of a run follow each other, so each line crosses whole
  // and once.
  struct cursor {
    std::uint64_t next = 0, end = 0;  // the first word that has not come; the run's last, 0 before the first fetch
    int stage = 0;
  };
  // Elements s + k * Width + lane of the run, which are known to lie in it; what lies outside is not touched.
  template <class T>
  __device__ void fetch(run<T> const& r, std::uint64_t s, T (&v)[in_flight], cursor& c) const {
    if constexpr (run<T>::may_be_packed && Width == 32) {
      if (r.is_packed()) return unpack(r, s, v, c);
    }
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      std::uint64_t const j = s + k * Width + lane();
      if (j >= r.begin && j < r.end) v[k] = load(r.data + j);
    }
  }
  struct ring {
    std::uint32_t const* stage;
    std::uint32_t at;
    __device__ std::uint32_t operator[](std::uint32_t i) const { return stage[(at + i) % stage_words]; }
  };
  // The same of a packed run, s a multiple of 32: lines of codes come to shared memory, from where each lane takes its bits.
  __device__ void unpack(run<std::uint32_t> const& r, std::uint64_t s, std::uint32_t (&v)[in_flight], cursor& c) const {
    static_assert(Width != 32 || in_flight == packed_step);
    extern __shared__ std::uint32_t all_stages[];
    std::uint32_t* const stage = all_stages + (threadIdx.x / 32 * stages + c.stage) * stage_words;
    std::uint64_t const b = s / 32;
    auto const blocks = static_cast<std::uint32_t>(smaller((r.end + 31) / 32 - b, packed_step));
    auto const me = static_cast<std::uint32_t>(lane());
    std::uint64_t const mine = b + smaller(me, blocks);
    std::uint32_t const code = r.packed.at.blocks[mine];
    std::uint64_t const word = r.packed.at.groups[mine / packed_directory::blocks_a_group] + (code & 0x3ffff);
    if (c.end == 0) {
      c.end = r.packed.at.word_of((r.end + 31) / 32);
      c.next = __shfl_sync(mask(), word, 0);
    }
    // To the end of the line in which the last block ends, unless the run ends before.
    std::uint64_t const until = smaller(c.end, (__shfl_sync(mask(), word, static_cast<int>(blocks)) + 31) / 32 * 32),
                        line = c.next / 32 * 32;
    constexpr int lines = (packed_step * 34 + 31 + 31) / 32 + 1;
    std::uint32_t w[lines];
#pragma unroll
    for (int k = 0; k < lines; ++k) {
      std::uint64_t const j = line + k * 32 + me;
      if (j >= c.next && j < until) w[k] = load(r.packed.words + j);
    }
    __syncwarp();  // who still decodes what lay here
#pragma unroll
    for (int k = 0; k < lines; ++k) {
      std::uint64_t const j = line + k * 32 + me;
      if (j >= c.next && j < until) stage[j % stage_words] = w[k];
    }
    c.next = larger(c.next, until);
    __syncwarp();
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      if (static_cast<std::uint32_t>(k) >= blocks) break;
      std::uint32_t const e = __shfl_sync(mask(), code, k);
      auto const at = static_cast<std::uint32_t>(__shfl_sync(mask(), word, k) % stage_words);
      auto const block = packed_block<ring>::open({stage, at}, {0, e >> 18 & 63, e >> 24 & 63, e >> 30 != 0});
      v[k] = decode(block, me, 0).value;
    }
  }
  // Element number e of a block, where the lanes of a team have elements next to each other and `before` is what the last lane got for
  // the elements before these.
  struct decoded {
    std::uint32_t value, gaps, shift;  // value == gaps + shift: the sum of gaps so far, and what the last start adds to it
  };
  template <class Words>
  __device__ decoded decode(packed_block<Words> const& block, std::uint32_t e, std::uint32_t gaps, std::uint32_t shift = 0) const {
    std::uint32_t const field = block.field(e);
    bool const start = block.starts_at(e);
    std::uint32_t sum = start ? 0 : field;
    if (block.starts == ~0u) return {block.base + field, 0, block.base + field};
#pragma unroll
    for (int d = 1; d < Width; d *= 2) {
      std::uint32_t const other = __shfl_up_sync(mask(), sum, d, Width);
      if (lane() >= d) sum += other;
    }
    sum += gaps;
    if (block.starts == 1) return {block.base + sum, sum, block.base};
    std::uint32_t mine = start ? block.base + field - sum : 0;
    std::uint32_t const first = e - static_cast<std::uint32_t>(lane()), until_me = block.starts & (~0u >> (31 - e)) & (~0u << first);
    int const from = until_me ? 31 - __clz(static_cast<int>(until_me)) - static_cast<int>(first) : 0;
    std::uint32_t const theirs = __shfl_sync(mask(), mine, from, Width);
    mine = until_me ? theirs : shift;
    return {sum + mine, sum, mine};
  }
  template <class T, class F>
  __device__ void sweep(run<T> r, std::uint64_t first, F f) const {
    if constexpr (run<T>::may_be_packed && Width != 32) {
      if (r.is_packed()) {
        if (leads()) until(r, [&](T e, std::uint64_t i) { return f(e, i), false; });
        return;
      }
    }
    cursor c;
    for (std::uint64_t s = first; s < r.end; s += in_flight * Width) {
      T v[in_flight];
      fetch(r, s, v, c);
#pragma unroll
      for (int k = 0; k < in_flight; ++k) {
        std::uint64_t const j = s + k * Width + lane();
        if (j >= r.begin && j < r.end) f(v[k], j);
      }
    }
  }
  template <class T, class U, class F>
  __device__ void sweep(run<T> r, run<U> beside, std::uint64_t first, F f) const {
    if constexpr (Width != 32) {
      if (r.is_packed() || beside.is_packed()) {
        if (leads()) both(r, beside, f);
        return;
      }
    }
    cursor c, d{0, 0, 1};
    for (std::uint64_t s = first; s < r.end; s += in_flight * Width) {
      T v[in_flight];
      U w[in_flight];
      fetch(r, s, v, c);
      fetch(beside, s, w, d);
#pragma unroll
      for (int k = 0; k < in_flight; ++k) {
        std::uint64_t const j = s + k * Width + lane();
        if (j >= r.begin && j < r.end) f(v[k], w[k], j);
      }
    }
  }
  // In 32 bits, so that blocks of 1,024 threads have the registers that they need.
  template <class T, class F>
  __device__ void pieces(run<T> r, std::uint64_t first, F f) const {
    T const* const data = r.data + r.begin;
    auto const n = static_cast<std::uint32_t>(r.end - r.begin);
    // Aligned: the first `idle` lanes have nothing. Shifted: all are `ahead`, and those that pass the end come round to the begin.
    auto const idle = static_cast<std::uint32_t>(first < r.begin ? r.begin - first : 0),
               ahead = static_cast<std::uint32_t>(first > r.begin ? first - r.begin : 0);
    auto const place = [&](std::uint32_t j) { return j + ahead < n ? j + ahead : j + ahead - n; };
    for (std::uint32_t s = lane(); s < n + idle; s += in_flight * Width) {
      T v[in_flight];
#pragma unroll
      for (int k = 0; k < in_flight; ++k) {
        std::uint32_t const j = s + k * Width - idle;
        if (j < n) v[k] = load(data + place(j));
      }
#pragma unroll
      for (int k = 0; k < in_flight; ++k) {
        std::uint32_t const j = s + k * Width - idle;
        if (j < n) f(v + k, 1u, place(j));
      }
    }
  }
  template <class T, class P>
  __device__ found<T> find(run<T> r, std::uint64_t first, P pred) const {
    if constexpr (run<T>::may_be_packed) {
      if (r.is_packed()) {
        if constexpr (Width == 1) return first_of(r, pred);
        else return find_packed(r, pred);
      }
    }
    for (std::uint64_t s = first; s < r.end; s += Width) {
      std::uint64_t const j = s + lane();
      T element{};
      bool hit = false;
      if (j >= r.begin && j < r.end) {
        element = load(r.data + j);
        hit = pred(element);
      }
      if constexpr (Width == 1) {
        if (hit) return {element, j};
      } else {
        unsigned const hits = __ballot_sync(mask(), hit) & mask();
        if (hits) {
          int const winner = (__ffs(static_cast<int>(hits)) - 1) % Width;
          return {__shfl_sync(mask(), element, winner, Width), s + winner};
        }
      }
    }
    return {T{}, ~std::uint64_t{0}};
  }
  // A block at a time, Width elements a step; lanes load the words they need, which the first-level cache keeps for the next step.
  template <class P>
  __device__ found<std::uint32_t> find_packed(run<std::uint32_t> const& r, P pred) const {
    for (std::uint64_t b = r.begin / 32; b * 32 < r.end; ++b) {
      packed_directory::entry const e = r.packed.at[b];
      auto const block = packed_block<std::uint32_t const*>::open(r.packed.words + e.word, e);
      decoded last{0, 0, 0};
      for (std::uint32_t s = 0; s < 32 && b * 32 + s < r.end; s += Width) {
        decoded const mine = decode(block, s + lane(), last.gaps, last.shift);
        last = {0, __shfl_sync(mask(), mine.gaps, Width - 1, Width), __shfl_sync(mask(), mine.shift, Width - 1, Width)};
        std::uint64_t const j = b * 32 + s + lane();
        unsigned const hits = __ballot_sync(mask(), j >= r.begin && j < r.end && pred(mine.value)) & mask();
        if (!hits) continue;
        int const winner = (__ffs(static_cast<int>(hits)) - 1) % Width;
        return {__shfl_sync(mask(), mine.value, winner, Width), b * 32 + s + winner};
      }
    }
    return {0, ~std::uint64_t{0}};
  }
  // Lane k keeps the sum of list k. A step finds for each element which list owns it, adds up within the stretches of equal owner (a scan
  // by shuffles), and each lane takes what the last element of its list's stretch holds.
  template <class T, class F, class Done>
  __device__ void sweep_lists(run<T> r, std::uint64_t first, std::uint64_t const* offsets, std::uint32_t count, F f, Done done) const {
    if constexpr (Width == 1) {
      sum_lists_in_turn(r, offsets, count, f, done);
    } else {
      static_assert(Width == 32, "a lane a list");
      using value = decltype(f(T{}));
      using total_type = decltype(wide(value{}));
      cursor place;
      auto const me = static_cast<std::uint32_t>(lane());
      // The part of my list that lies in the run, counted from `first`; lists before the run end at or before its begin.
      std::uint64_t const from = me < count ? offsets[me] : r.end, to = me < count ? offsets[me + 1] : r.end;
      auto const begin = static_cast<std::uint32_t>(smaller(larger(from, r.begin), r.end) - first);
      auto const end = static_cast<std::uint32_t>(smaller(larger(to, r.begin), r.end) - first);
      auto const length = static_cast<std::uint32_t>(r.end - first);
      total_type total{};
      for (std::uint32_t s = 0; s < length; s += in_flight * 32) {
        T v[in_flight];
        value c[in_flight];
        fetch(r, first + s, v, place);
#pragma unroll
        for (int k = 0; k < in_flight; ++k) {
          std::uint64_t const j = first + s + k * 32 + me;
          c[k] = value{};
          if (j >= r.begin && j < r.end) c[k] = f(v[k]);
        }
#pragma unroll
        for (int k = 0; k < in_flight; ++k) {
          std::uint32_t const step = s + k * 32, mine = step + me;
          if (step >= length) break;  // for all lanes alike
          std::uint32_t owner = 0;    // how many lists end at my element or before
#pragma unroll
          for (std::uint32_t d = 16; d > 0; d /= 2)
            if (__shfl_sync(mask(), end, static_cast<int>(owner + d - 1)) <= mine) owner += d;
#pragma unroll
          for (int d = 1; d < 32; d *= 2) {
            value const before = __shfl_up_sync(mask(), c[k], d);
            std::uint32_t const whose = __shfl_up_sync(mask(), owner, d);
            if (me >= static_cast<std::uint32_t>(d) && whose == owner) c[k] += before;
          }
          bool const here = begin < end && begin < step + 32 && end > step;
          value const part = __shfl_sync(mask(), c[k], static_cast<int>(here ? smaller(end - step, 32u) - 1 : 0));
          if (here) total += wide(part);
        }
      }
      if (begin < end) done(me, total);
    }
  }
  template <class F>
  __device__ void stride(std::uint64_t begin, std::uint64_t end, F f) const {
    for (std::uint64_t i = begin + lane(); i < end; i += Width) f(i);
  }
  template <class V, class Op>
  __device__ V reduce(V v, Op op) const {
    if constexpr (Width > 1) {
      static_assert(std::is_trivially_copyable_v<V> && sizeof(V) % 4 == 0);
#pragma unroll
      for (int d = Width / 2; d > 0; d /= 2) {
        std::uint32_t words[sizeof(V) / 4];
        memcpy(words, &v, sizeof(V));
#pragma unroll
        for (auto& w : words) w = __shfl_xor_sync(mask(), w, d, Width);
        V other;
        memcpy(&other, words, sizeof(V));
        v = op(v, other);
      }
    }
    return v;
  }
  __device__ bool leads() const { return lane() == 0; }
  __device__ bool aligns() const { return aligned; }
};
#endif

}  // namespace lanes

// --- the team: what a body may ask for, written once over the lanes ---
template <class Lanes>
class team {
 public:
  static constexpr int width = Lanes::width;
  GARNER_HD explicit team(Lanes l) : lanes_(l) {}

  // Calls f(element) or f(element, index) for each element of the run.
  template <class T, class F>
  GARNER_HD void each(run<T> r, F f) const {
    lanes_.sweep(r, start<lanes::line_bytes>(r), [&](T e, std::uint64_t i) { call(f, e, i); });
  }
  // The same for two far arrays at the same indices (an edge list and its weights): f(element, element beside it, index).
  template <class T, class U, class F>
  GARNER_HD void each(run<T> r, run<U> beside, F f) const {
    std::uint64_t const first = beside.is_packed() ? r.begin / 32 * 32 : start<lanes::line_bytes>(r);
    lanes_.sweep(r, beside, first, f);
  }
  // Moves a plain run of less than 2^31 elements: calls f(elements, how many, how far from the begin of the run) for pieces that cover it,
  // each element in one. A thread alone gets all at once, a lane one at a time. `shifted`: from the first line that begins in the run, and
  // round to what lies before it (Listing 3.2 of the dissertation); runs shorter than a line, or of whole lines, are not shifted.
  template <class T, class F>
  GARNER_HD void pieces(run<T> r, F f, bool shifted = false) const {
    constexpr std::uint64_t line = lanes::line_bytes / sizeof(T);
    std::uint64_t const n = r.end - r.begin;
    if (shifted) lanes_.pieces(r, n > line && n % line ? (r.begin + line - 1) / line * line : r.begin, f);
    else lanes_.pieces(r, start<lanes::line_bytes>(r), f);
  }
  // The same; look(element) may be called some time before, once, to ask_soon for what f will touch.
  template <class T, class U, class F, class Look>
  GARNER_HD void each(run<T> r, run<U> beside, F f, [[maybe_unused]] Look look) const {
    if constexpr (std::is_same_v<Lanes, lanes::host>) lanes_.sweep(r, beside, f, look);
    else each(r, beside, f);
  }
  // Calls f(i) for each index of near memory.
  template <class F>
  GARNER_HD void each(indices r, F f) const {
    lanes_.stride(r.begin, r.end, f);
  }
  // Whether pred(element) holds for some element; asks a sector at a time and stops at the first that has one.
  template <class T, class P>
  GARNER_HD bool any(run<T> r, P pred) const {
    return static_cast<bool>(find(r, pred));
  }
  // The same, and which one: the first of the step in which any was found.
  template <class T, class P>
  GARNER_HD found<T> find(run<T> r, P pred) const {
    return lanes_.find(r, start<lanes::sector_bytes>(r), pred);
  }
  // The sum of f(element); V adds with + and starts at V{}.
  template <class T, class F>
  GARNER_HD auto sum(run<T> r, F f) const {
    decltype(f(T{})) total{};
    lanes_.sweep(r, start<lanes::line_bytes>(r), [&](T e, std::uint64_t) { total = total + f(e); });
    return lanes_.reduce(total, [](auto a, auto b) { return a + b; });
  }
  template <class F>
  GARNER_HD auto sum(indices r, F f) const {
    decltype(f(r.begin)) total{};
    lanes_.stride(r.begin, r.end, [&](std::uint64_t i) { total = total + f(i); });
    return lanes_.reduce(total, [](auto a, auto b) { return a + b; });
  }
  // The sum of what each lane brings (a thread alone: what it brings).
  template <class V>
  GARNER_HD V sum_of_lanes(V mine) const {
    return lanes_.reduce(mine, [](auto a, auto b) { return a + b; });
  }
  // Sums a list at a time, of `count` <= 32 neighbouring lists, list k being [offsets[k], offsets[k + 1]) (near memory; lists may begin
  // before the run or end after it): done(k, sum of f(element)) by one lane for each list that has elements in the run. In which order
  // it adds depends on run, lists and width alone, so that the sums repeat bit for bit at one place. A run of less than 2^31 elements.
  template <class T, class F, class Done>
  GARNER_HD void sum_lists(run<T> r, std::uint64_t const* offsets, std::uint32_t count, F f, Done done) const {
    lanes_.sweep_lists(r, start<lanes::line_bytes>(r), offsets, count, f, done);
  }
  // The smallest of `start_value` and f(element).
  template <class T, class V, class F>
  GARNER_HD V min(run<T> r, V start_value, F f) const {
    V best = start_value;
    lanes_.sweep(r, start<lanes::line_bytes>(r), [&](T e, std::uint64_t) { best = smaller(best, static_cast<V>(f(e))); });
    return lanes_.reduce(best, [](V a, V b) { return smaller(a, b); });
  }
  // f() by one lane.
  template <class F>
  GARNER_HD void once(F f) const {
    if (lanes_.leads()) f();
  }
  // Sets bit i of the bitmap; true for the one caller that found it clear. Looks before it locks: most bits asked for are set already.
  GARNER_HD bool claim(std::uint32_t* bits, std::uint64_t i) const {
    std::uint32_t const m = 1u << (i % 32);
    return !(atomic_load(bits + i / 32) & m) && !(atomic_or(bits + i / 32, m) & m);
  }

 private:
  template <std::uint64_t Grain, class T>
  GARNER_HD std::uint64_t start(run<T> r) const {
    if (r.is_packed()) return r.begin / 32 * 32;
    return lanes_.aligns() ? r.begin / (Grain / sizeof(T)) * (Grain / sizeof(T)) : r.begin;
  }
  template <class F, class T>
  GARNER_HD static void call(F& f, T e, std::uint64_t i) {
    if constexpr (std::is_invocable_v<F&, T, std::uint64_t>) f(e, i);
    else f(e);
  }
  Lanes lanes_;
};

GARNER_HD inline bool has_bit(std::uint32_t const* bits, std::uint64_t i) { return atomic_load(bits + i / 32) >> (i % 32) & 1; }

// --- for_each_item ---
#if defined(__CUDACC__)
template <int Width, class Body>
__global__ void run_teams(Body const body, std::uint64_t n, bool aligned) {
  std::uint64_t const thread = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  std::uint64_t const teams = static_cast<std::uint64_t>(gridDim.x) * blockDim.x / Width;
  for (std::uint64_t i = thread / Width; i < n; i += teams) body(team(lanes::device<Width>{aligned}), i);
}
// The same of a body that says `using full_blocks = void`: with no more registers than a block of 1,024 threads has, so
// that it runs on any share of the device.
template <int Width, class Body>
__global__ void __launch_bounds__(1024) run_full_teams(Body const body, std::uint64_t n, bool aligned) {
  std::uint64_t const thread = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  std::uint64_t const teams = static_cast<std::uint64_t>(gridDim.x) * blockDim.x / Width;
  for (std::uint64_t i = thread / Width; i < n; i += teams) body(team(lanes::device<Width>{aligned}), i);
}

namespace detail {
template <int Width, class Body>
constexpr auto kernel() {
  if constexpr (requires { typename Body::full_blocks; }) return run_full_teams<Width, Body>;
  else return run_teams<Width, Body>;
}
// Shared memory of a block: where each warp decodes packed lists.
constexpr std::size_t stage_bytes(int width, unsigned threads) {
  return width == 32 ? threads / 32 * lanes::stages * lanes::stage_words * sizeof(std::uint32_t) : 0;
}
// Blocks of a kernel that one multiprocessor runs at once; asked for once, since the question costs as much as a launch.
template <int Width, class Body>
int resident_blocks(unsigned threads) {
  static std::atomic<std::uint64_t> known{0};  // threads << 32 | blocks
  std::uint64_t const kept = known.load(std::memory_order_relaxed);
  if (kept >> 32 == threads) return static_cast<int>(kept & 0xffffffffu);
  int blocks = 0;
  if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel<Width, Body>(), static_cast<int>(threads),
                                                    stage_bytes(Width, threads)) != cudaSuccess)
    cudaGetLastError();
  blocks = std::max(1, blocks);
  known.store(std::uint64_t{threads} << 32 | static_cast<unsigned>(blocks), std::memory_order_relaxed);
  return blocks;
}
}  // namespace detail
#endif

// Runs body(team, i) for each i in [0, n) with teams of Width lanes (1, 8 or 32; a thread each at the host). Neighbouring items go to
// neighbouring teams and start in order. Asynchronous on the device.
// `as_free`: every item has a team of its own, which starts when another ends. For items that differ much in length: with a share each,
// who has a long one falls behind, and the teams' far reads drift apart.
template <int Width, class Body>
void for_each_item(executor& x, std::uint64_t n, Body const& body, access_mode how = access_mode::aligned,
                   [[maybe_unused]] bool as_free = false) {
  static_assert(Width == 1 || Width == 8 || Width == 32);
  if (n == 0) return;
  bool const aligned = how == access_mode::aligned || how == access_mode::paged;
  switch (x.where().kind) {
    case place_kind::host: {
      // Waking the crew costs as much as some thousand light items; an item for a wide team is likely a whole run.
      constexpr std::uint64_t alone = Width == 1 ? 2048 : 64;
      std::uint64_t const grain = std::clamp<std::uint64_t>(n / (x.threads().threads() * 16u), 1, 1024);
      x.threads().run(n, n < alone ? n : grain, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) body(team(lanes::host{}), i);
      });
      return;
    }
    case place_kind::traced: {
      constexpr std::uint64_t teams = 32 / Width;
      std::vector<far_read> reads[teams];
      for (std::uint64_t warp = 0; warp < n; warp += teams) {
        if (warp % 4096 == 0) check_interrupted();
        std::uint64_t const in_warp = std::min(teams, n - warp);
        for (std::uint64_t t = 0; t < in_warp; ++t) {
          reads[t].clear();
          body(team(lanes::traced<Width>{&reads[t], aligned}), warp + t);
        }
        for (std::uint64_t t = in_warp; t < teams; ++t) reads[t].clear();  // the last warp may lack some teams
        if (x.sink()) x.sink()->warp({reads, teams});
      }
      return;
    }
    case place_kind::device:
      break;
  }
#if defined(__CUDACC__)
  unsigned const threads = x.threads_a_block();
  auto* const kernel = detail::kernel<Width, Body>();
  cudaSetDevice(x.device());
  // As many blocks as run at once and no more: blocks that waited would start a second sweep over the items, out of order.
  std::uint64_t const most = x.share_blocks() ? x.share_blocks()
                                              : static_cast<std::uint64_t>(detail::resident_blocks<Width, Body>(threads)) *
                                                    static_cast<unsigned>(x.multiprocessors());
  std::size_t const shared = detail::stage_bytes(Width, threads);
  if (shared > 48u << 10)  // more than a block may have unasked
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  std::uint64_t const all = (n * Width + threads - 1) / threads;
  auto const blocks = static_cast<unsigned>(as_free && !x.share_blocks() && all < 0x7fffffff ? all : std::min(all, most));
  kernel<<<blocks, threads, shared, static_cast<cudaStream_t>(x.stream())>>>(body, n, aligned);
  if (cudaError_t const status = cudaGetLastError(); status != cudaSuccess)
    fail(errc::device, "device {}: a kernel could not be started: {}; was this build made for this GPU?", x.device(),
         cudaGetErrorString(status));
#else
  fail(errc::device, "this build has no GPU support; build with CUDA=1, or say --place host or traced");
#endif
}

}  // namespace garner
