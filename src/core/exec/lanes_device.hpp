// Lanes of a warp. Empty where nvcc does not compile.
#pragma once
#include "core/exec/column_sum.hpp"
#include "core/exec/lanes.hpp"

#if defined(__CUDACC__)
#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

namespace garner::lanes {

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
  // How far the words of a compressed span have arrived in the ring in shared memory. Parts of a span follow each other, so each line
  // crosses whole and once.
  struct cursor {
    std::uint64_t next = 0, end = 0;  // the first word that has not come; the span's last, 0 before the first fetch
    int stage = 0;
  };
  // Elements s + k * Width + lane of the span, which are known to lie in it; what lies outside is not touched.
  template <class T>
  __device__ void fetch(span<T> const& r, std::uint64_t s, T (&v)[in_flight], cursor& c) const {
    if constexpr (span<T>::may_be_packed && Width == 32) {
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
  // The same for a compressed span, s a multiple of 32: lines of codes go to shared memory, where each lane reads its bits.
  __device__ void unpack(span<std::uint32_t> const& r, std::uint64_t s, std::uint32_t (&v)[in_flight], cursor& c) const {
    static_assert(Width != 32 || in_flight == packed_step);
    extern __shared__ __align__(16) std::uint32_t all_stages[];
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
    // To the end of the line in which the last block ends, unless the span ends before.
    std::uint64_t const until = smaller(c.end, (__shfl_sync(mask(), word, static_cast<int>(blocks)) + 31) / 32 * 32),
                        line = c.next / 32 * 32;
    constexpr int lines = (packed_step * 34 + 31 + 31) / 32 + 1;
    std::uint32_t w[lines];
#pragma unroll
    for (int k = 0; k < lines; ++k) {
      std::uint64_t const j = line + k * 32 + me;
      if (j >= c.next && j < until) w[k] = load(r.packed.words + j);
    }
    __syncwarp();  // lanes that still decode the old contents
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
    std::uint32_t value, gaps, shift;  // value == gaps + shift: the sum of gaps so far, and the base from the last start
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
  __device__ void sweep(span<T> r, std::uint64_t first, F f) const {
    if constexpr (span<T>::may_be_packed && Width != 32) {
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
  __device__ void sweep(span<T> r, span<U> beside, std::uint64_t first, F f) const {
    struct plainly {
      U beside;
      std::uint64_t index;
    };
    sweep(
        r, beside, first,
        [](T, U w, std::uint64_t i) {
          return plainly{w, i};
        },
        [&](T e, plainly const& p) { f(e, p.beside, p.index); });
  }
  static constexpr bool sees_ahead = true;  // all requests are in flight before the first result is used
  template <class T, class U, class See, class Act>
  __device__ void sweep(span<T> r, span<U> beside, std::uint64_t first, See see, Act act) const {
    if constexpr (Width != 32) {
      if (r.is_packed() || beside.is_packed()) {
        if (leads()) both(r, beside, [&](T e, U w, std::uint64_t i) { act(e, see(e, w, i)); });
        return;
      }
    }
    cursor c, d{0, 0, 1};
    for (std::uint64_t s = first; s < r.end; s += in_flight * Width) {
      T v[in_flight];
      U w[in_flight];
      fetch(r, s, v, c);
      fetch(beside, s, w, d);
      decltype(see(v[0], w[0], s)) seen[in_flight];
#pragma unroll
      for (int k = 0; k < in_flight; ++k) {
        std::uint64_t const j = s + k * Width + lane();
        if (j >= r.begin && j < r.end) seen[k] = see(v[k], w[k], j);
      }
#pragma unroll
      for (int k = 0; k < in_flight; ++k) {
        std::uint64_t const j = s + k * Width + lane();
        if (j >= r.begin && j < r.end) act(v[k], seen[k]);
      }
    }
  }
  // In 32 bits, so that blocks of 1,024 threads have the registers that they need.
  template <class T, class F>
  __device__ void parts(span<T> r, std::uint64_t first, F f) const {
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
  __device__ found<T> find(span<T> r, std::uint64_t first, unsigned each, std::uint64_t readable, P pred) const {
    if constexpr (span<T>::may_be_packed) {
      if (r.is_packed()) {
        if constexpr (Width == 1) return first_of(r, pred);
        else return find_packed(r, pred);
      }
    }
    if constexpr (Width > 1 && sizeof(T) <= 4) {
      if (each == 4) return find_in_steps<4>(r, first, readable, pred);
    }
    if constexpr (Width > 1 && sizeof(T) <= 8) {
      if (each == 2) return find_in_steps<2>(r, first, readable, pred);
    }
    return find_in_steps<1>(r, first, readable, pred);
  }
  template <int Each, class T, class P>
  __device__ found<T> find_in_steps(span<T> const& r, std::uint64_t first, std::uint64_t readable, P pred) const {
    for (std::uint64_t s = first; s < r.end; s += Width * Each) {
      std::uint64_t const j = s + lane() * Each;
      struct alignas(sizeof(T) * Each) several {
        T at[Each];
      };
      several mine{};
      // In one piece where the array has it: of a short list nearly every lane's elements lie partly outside.
      if (j < r.end && j + Each > r.begin && j + Each <= readable) {
        mine = load_several<several>(r.data + j);
      } else {
#pragma unroll
        for (int k = 0; k < Each; ++k)
          if (j + k >= r.begin && j + k < r.end) mine.at[k] = load(r.data + j + k);
      }
      int hit = -1;
#pragma unroll
      for (int k = Each - 1; k >= 0; --k)
        if (j + k >= r.begin && j + k < r.end && pred(mine.at[k])) hit = k;
      if constexpr (Width == 1) {
        if (hit >= 0) return {mine.at[0], j};
      } else {
        unsigned const hits = __ballot_sync(mask(), hit >= 0) & mask();
        if (hits) {
          int const winner = (__ffs(static_cast<int>(hits)) - 1) % Width, which = __shfl_sync(mask(), hit, winner, Width);
          T element = mine.at[0];
#pragma unroll
          for (int k = 1; k < Each; ++k)
            if (which == k) element = mine.at[k];
          return {__shfl_sync(mask(), element, winner, Width), s + winner * Each + which};
        }
      }
    }
    return {T{}, ~std::uint64_t{0}};
  }
  template <class Several, class T>
  __device__ static Several load_several(T const* p) {
    Several all;
    if constexpr (sizeof(Several) == 16) {
      uint4 const v = __ldcs(reinterpret_cast<uint4 const*>(p));
      memcpy(&all, &v, 16);
    } else if constexpr (sizeof(Several) == 8) {
      uint2 const v = __ldcs(reinterpret_cast<uint2 const*>(p));
      memcpy(&all, &v, 8);
    } else {
      all.at[0] = load(p);
    }
    return all;
  }
  // A block at a time, Width elements a step; lanes load the words they need, which the first-level cache keeps for the next step.
  template <class P>
  __device__ found<std::uint32_t> find_packed(span<std::uint32_t> const& r, P pred) const {
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
  static __device__ std::uint32_t or_of_lanes(std::uint32_t bits) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(mask(), bits);
#else
#pragma unroll
    for (int d = 16; d > 0; d /= 2) bits |= __shfl_xor_sync(mask(), bits, d);
    return bits;
#endif
  }
  // Lane k keeps the sum of list k. A step of 32 elements in which no list ends belongs to one list: each lane adds to a sum of its own,
  // and these are reduced where that list ends. In other steps a scan by shuffles sums within each list, and each lane takes the result at
  // the last element of its list. During the sums of a step the elements of the next are in flight.
  template <class T, class F, class Done>
  __device__ void sweep_lists(span<T> r, std::uint64_t first, std::uint64_t const* offsets, std::uint32_t count, F f, Done done) const {
    if constexpr (Width == 1) {
      sum_lists_in_turn(r, offsets, count, f, done);
    } else {
      static_assert(Width == 32, "a lane a list");
      using value = decltype(f(T{}));
      using total_type = decltype(wide(value{}));
      cursor place;
      auto const me = static_cast<std::uint32_t>(lane());
      // The part of my list that lies in the span, counted from `first`; lists before the span end at or before its begin.
      std::uint64_t const from = me < count ? offsets[me] : r.end, to = me < count ? offsets[me + 1] : r.end;
      auto const begin = static_cast<std::uint32_t>(smaller(larger(from, r.begin), r.end) - first);
      auto const end = static_cast<std::uint32_t>(smaller(larger(to, r.begin), r.end) - first);
      auto const length = static_cast<std::uint32_t>(r.end - first);
      total_type total{}, whole{};  // whole: this lane's sum over steps in which no list ended
      bool any_whole = false;       // the same for all lanes
      T v[in_flight];
      if (length) fetch(r, first, v, place);
      for (std::uint32_t s = 0; s < length; s += in_flight * 32) {
        value c[in_flight];
#pragma unroll
        for (int k = 0; k < in_flight; ++k) {
          std::uint64_t const j = first + s + k * 32 + me;
          c[k] = value{};
          if (j >= r.begin && j < r.end) c[k] = f(v[k]);
        }
        std::uint32_t const next = s + in_flight * 32;
        if (next < length) fetch(r, first + next, v, place);
#pragma unroll
        for (int k = 0; k < in_flight; ++k) {
          std::uint32_t const step = s + k * 32;
          if (step >= length) break;  // the same for all lanes
          bool const ends = begin < end && end > step && end <= step + 32;
          std::uint32_t const last = or_of_lanes(ends ? 1u << (end - 1 - step) : 0);  // elements that are the last of their lists
          if (last == 0) {
            whole += wide(c[k]);
            any_whole = true;
            continue;
          }
          std::uint32_t const before = last & ((1u << me) - 1);
          std::uint32_t const start = before ? 32 - static_cast<std::uint32_t>(__clz(static_cast<int>(before))) : 0;  // of my list, here
#pragma unroll
          for (std::uint32_t d = 1; d < 32; d *= 2) {
            value const left = __shfl_up_sync(mask(), c[k], d);
            if (me >= start + d) c[k] += left;
          }
          bool const here = begin < end && begin < step + 32 && end > step;
          value const part = __shfl_sync(mask(), c[k], static_cast<int>(here ? smaller(end - step, 32u) - 1 : 0));
          if (here) total += wide(part);
          if (any_whole) {
            total_type const all = reduce(whole, [](total_type a, total_type b) { return a + b; });
            if (begin < step && end > step) total += all;  // of the lists that end in this step only the first began before it
            whole = {};
            any_whole = false;
          }
        }
      }
      if (begin < end) done(me, total);
    }
  }
  // Lane j holds the j-th smallest so far. Few elements are below the k-th, and a ballot inserts each of
  // these.
  template <class T, class Key, class Done>
  __device__ smallest_found smallest(span<T> r, std::uint64_t first, std::uint32_t k, candidate after, Key key, Done done) const {
    if constexpr (Width != 32) {
      smallest_found found{};
      if (leads()) found = smallest_in_turn(r, k, after, key, done);
      found.count = static_cast<std::uint32_t>(__shfl_sync(mask(), found.count, 0, Width));
      found.last.key = __shfl_sync(mask(), found.last.key, 0, Width), found.last.index = __shfl_sync(mask(), found.last.index, 0, Width);
      return found;
    } else {
      auto const me = static_cast<std::uint32_t>(lane());
      auto const of = [](candidate const& a, int from) {
        return candidate{__shfl_sync(mask(), a.key, from), __shfl_sync(mask(), a.index, from)};
      };
      candidate best, bar;  // bar: the k-th
      std::uint32_t n = 0;
      cursor place;
      for (std::uint64_t s = first; s < r.end; s += in_flight * 32) {
        T v[in_flight];
        fetch(r, s, v, place);
#pragma unroll
        for (int j = 0; j < in_flight; ++j) {
          std::uint64_t const i = s + j * 32 + me;
          candidate mine;
          if (i >= r.begin && i < r.end) mine.key = key(v[j], i, bar.key), mine.index = i;
          bool const open = mine.key != candidate::none && after < mine;
          unsigned passing = __ballot_sync(mask(), open && mine < bar);
          for (; passing; passing &= passing - 1) {
            candidate const next = of(mine, __ffs(static_cast<int>(passing)) - 1);
            if (!(next < bar)) continue;  // the same for all lanes
            auto const at = static_cast<std::uint32_t>(__popc(__ballot_sync(mask(), best < next)));
            candidate const before{__shfl_up_sync(mask(), best.key, 1), __shfl_up_sync(mask(), best.index, 1)};
            if (me == at) best = next;
            else if (me > at) best = before;
            n = smaller(n + 1, k);
            if (n == k) bar = of(best, static_cast<int>(k - 1));
          }
        }
      }
      if (me < n) done(me, best);
      return {n, n ? of(best, static_cast<int>(n - 1)) : after};
    }
  }
  template <class F>
  __device__ void stride(std::uint64_t begin, std::uint64_t end, F f) const {
    for (std::uint64_t i = begin + lane(); i < end; i += Width) f(i);
  }
  // A few at a time, so that what f reads is under way together. Once for each index: f may write what it alone touches.
  template <class F>
  __device__ auto total_of(std::uint64_t begin, std::uint64_t end, F const& f) const {
    constexpr int few = 4;
    decltype(f(begin)) total{};
    std::uint64_t i = begin + lane();
    for (; i + (few - 1) * Width < end; i += few * Width) {
      decltype(f(begin)) of[few];
#pragma unroll
      for (int u = 0; u < few; ++u) of[u] = f(i + u * Width);
#pragma unroll
      for (int u = 0; u < few; ++u) total = total + of[u];
    }
    for (; i < end; i += Width) total = total + f(i);
    return total;
  }
  template <class Start, class Step, class Between>
  __device__ void take_turns(std::uint64_t begin, std::uint64_t end, Start start, Step step, Between between) const {
    for (std::uint64_t first = begin; first < end; first += Width) {
      std::uint64_t const i = first + lane();
      bool open = i < end;
      auto state = start(open ? i : first);
      for (unsigned tries = 0;; ++tries) {
        if (open && step(state, i)) open = false, tries = 0;
        if (!__any_sync(mask(), open)) break;
        if (open) between(state);
        __syncwarp(mask());
        back_off(tries);
      }
    }
    __syncwarp(mask());
  }
  template <class Key, class F>
  __device__ void alike(std::uint64_t begin, std::uint64_t end, Key key, F f) const {
    for (std::uint64_t first = begin; first < end; first += Width) {
      std::uint64_t const i = first + lane();
      auto const mine = key(i < end ? i : first);
      unsigned const here = __ballot_sync(mask(), i < end);
      if (i < end) {
        unsigned const same = __match_any_sync(here, mine);
        f(i, first + static_cast<unsigned>(__ffs(same) - 1) % Width);
      }
      __syncwarp(mask());
    }
  }
  template <class V, int Each, bool Scaled, class From>
  __device__ void add_columns(indices r, std::uint64_t columns, From const& from) const {
    auto const rows = from.rows();
    auto const row_bytes = static_cast<std::uint32_t>(rows.stride * sizeof(*rows.data));
    for (std::uint64_t c = static_cast<std::uint64_t>(lane()) * Each; c < columns; c += Width * Each) {
      column_sum<V, Each, Scaled> sum(from, c);
      sum.add_rows(r, rows, c, row_bytes);
      from.done(c, sum.sums);
    }
  }
  // Each lane copies the columns that it sums, so that none waits for another. Rows arrive in two alternating halves: one is summed, the
  // other is in flight.
  template <class V, int Each, bool Scaled, class First, class Second>
  __device__ void add_columns_beside(indices r, First const& from, indices beside, Second const& from_beside, std::uint64_t columns) const {
    using lane_sum = column_sum<V, Each, Scaled>;
    using part = row_part<V, Each>;
    constexpr int half = rows_ahead / 2;
    extern __shared__ __align__(16) std::uint32_t all_stages[];
    auto const slot = [](int k) {
      return reinterpret_cast<part*>(reinterpret_cast<char*>(all_stages) + (static_cast<std::size_t>(k) * blockDim.x + threadIdx.x) * 16);
    };
    auto const rows = from.rows();
    auto const rows_beside = from_beside.rows();
    for (std::uint64_t c = static_cast<std::uint64_t>(lane()) * Each; c < columns; c += Width * Each) {
      auto const ask = [&](std::uint64_t begin, int at) {
        for (int k = 0; k < half && begin + k < beside.end; ++k)
          __pipeline_memcpy_async(slot(at + k), rows_beside.data + rows_beside.id(begin + k) * rows_beside.stride + c, sizeof(part));
        __pipeline_commit();
      };
      ask(beside.begin, 0);
      ask(beside.begin + half, half);
      if (r.begin < r.end) {
        lane_sum sum(from, c);
        sum.add_rows(r, rows, c, static_cast<std::uint32_t>(rows.stride * sizeof(V)));
        from.done(c, sum.sums);
      }
      lane_sum sum(from_beside, c);
      int at = 0;
      for (std::uint64_t begin = beside.begin; begin < beside.end; begin += half, at ^= half) {
        __pipeline_wait_prior(1);
        for (int k = 0; k < half && begin + k < beside.end; ++k) sum.add(*slot(at + k), lane_sum::scale(rows_beside, begin + k));
        ask(begin + 2 * half, at);
      }
      if (beside.begin < beside.end) from_beside.done(c, sum.sums);
    }
  }
  template <class V, class First, class Second>
  __device__ void add_rows_beside(indices r, First const& from, indices beside, Second const& from_beside, std::uint64_t columns,
                                  bool wide) const {
    constexpr int each = 16 / sizeof(V);
    static_assert(sizeof(V) == 4, "copies are of 4 or 16 bytes");
    if (from.rows().scaled() || from_beside.rows().scaled()) {
      if (wide) add_columns_beside<V, each, true>(r, from, beside, from_beside, columns);
      else add_columns_beside<V, 1, true>(r, from, beside, from_beside, columns);
    } else {
      if (wide) add_columns_beside<V, each, false>(r, from, beside, from_beside, columns);
      else add_columns_beside<V, 1, false>(r, from, beside, from_beside, columns);
    }
  }
  template <class V, class From>
  __device__ void add_rows(indices r, std::uint64_t columns, bool wide, From const& from) const {
    auto const add = [&](auto scaled) {
      if (wide) add_columns<V, 16 / sizeof(V), scaled()>(r, columns, from);
      else add_columns<V, 1, scaled()>(r, columns, from);
    };
    from.rows().scaled() ? add(std::true_type{}) : add(std::false_type{});
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

}  // namespace garner::lanes
#endif
