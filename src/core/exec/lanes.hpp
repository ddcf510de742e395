// Common to all lanes: how one thread walks remote data, in order. The three kinds of lanes are in this folder.
//   sweep   calls f(element, index) for every element of the span, starting at `first` <= span.begin
//   find    the same until pred(element) holds for one: that one (the first of the step in which any did)
//   stride  calls f(index) for indices of device memory
//   total_of sums f(index) over the lane's indices
//   reduce  combines the values of the lanes
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/exec/atomics.hpp"
#include "core/exec/system.hpp"
#include "core/span.hpp"

namespace garner {

template <class T>
struct found {
  T element;
  std::uint64_t index;  // ~0: none
  GARNER_HD explicit operator bool() const { return index != ~std::uint64_t{0}; }
};

// A candidate of team::smallest: by key, of equal keys by index. A key of 0 comes before all, none after all.
struct candidate {
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::uint64_t key = none, index = none;
  GARNER_HD friend bool operator<(candidate const& a, candidate const& b) { return a.key < b.key || (a.key == b.key && a.index < b.index); }
};
struct smallest_found {
  std::uint32_t count;
  candidate last;
};

// Rows of device memory as team::add_rows visits them, k by k: those that ids name, each times scales[k] and factors[ids[k]] ...
template <class V>
struct rows_by_id {
  V const* data;
  std::uint64_t stride;
  std::uint32_t const* ids;
  V const *scales = nullptr, *factors = nullptr;  // null: 1
  GARNER_HD std::uint32_t id(std::uint64_t k) const { return ids[k]; }
  GARNER_HD bool scaled() const { return scales || factors; }
  GARNER_HD V scale(std::uint64_t k) const {
    V const f = factors ? factors[ids[k]] : V{1};
    return scales ? f * scales[k] : f;
  }
};
// ... or the same of numbers that From reads (core/convert.hpp) ...
template <class From>
struct read_rows_by_id {
  typename From::bits const* data;
  std::uint64_t stride;
  std::uint32_t const* ids;
  float const* scales = nullptr;  // null: 1
  GARNER_HD std::uint32_t id(std::uint64_t k) const { return ids[k]; }
  GARNER_HD bool scaled() const { return scales != nullptr; }
  GARNER_HD float scale(std::uint64_t k) const { return scales[k]; }
  GARNER_HD static float widened(typename From::bits b) { return From::value(b, 1.0f); }
};
// ... or row k itself.
template <class V>
struct rows_in_order {
  V const* data;
  std::uint64_t stride;
  GARNER_HD std::uint64_t id(std::uint64_t k) const { return k; }
  GARNER_HD bool scaled() const { return false; }
  GARNER_HD V scale(std::uint64_t) const { return 1; }
};
// Adjacent numbers of a row, which a lane reads and writes at once.
template <class V, int Each>
struct alignas(Each * sizeof(V)) row_part {
  V v[Each];
  GARNER_HD static row_part const& in(V const* row) { return *reinterpret_cast<row_part const*>(row); }
  GARNER_HD static row_part& in(V* row) { return *reinterpret_cast<row_part*>(row); }
};

namespace lanes {

template <class Rows>
using stored_in = std::remove_cv_t<std::remove_pointer_t<decltype(Rows::data)>>;
// The elements of a row there, as a number for sums.
template <class V, class Rows>
GARNER_HD inline V number(Rows const&, stored_in<Rows> const& at) {
  if constexpr (std::is_same_v<stored_in<Rows>, V>) return at;
  else return Rows::widened(at);
}

inline constexpr std::uint32_t most_smallest = 32;  // at once: a lane each
inline constexpr std::uint32_t most_waiting = 32;   // of `team::take_turns` and `team::alike`

inline constexpr std::uint64_t line_bytes = 128, sector_bytes = 32;
inline constexpr std::uint64_t packed_step = 4;    // compressed blocks that a warp decodes at once
inline constexpr std::uint64_t stage_words = 256;  // a ring for them, the line they begin in and that they end in, in shared memory
inline constexpr int stages = 2;                   // per warp: for an array and a parallel one
inline constexpr int rows_ahead = 8;               // of `team::add_rows_beside`, per lane a part of 16 bytes each, in shared memory

// The accumulator of sums of floats.
template <class T>
GARNER_HD inline T wide(T v) {
  return v;
}
GARNER_HD inline double wide(float v) { return static_cast<double>(v); }

// sweep_lists by one thread. Four sums side by side, so that an addition need not wait for the one before.
template <class T, class F, class Done>
GARNER_HD inline void sum_lists_in_turn(span<T> r, std::uint64_t const* offsets, std::uint32_t count, F f, Done done) {
  std::uint64_t begin = larger(r.begin, offsets[0]);
  if constexpr (span<T>::may_be_packed) {
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

// The same by a host thread, which decompresses a block before it reads what its elements refer to.
template <class T, class F, class Done>
void sum_lists_by_blocks(span<T> r, std::uint64_t const* offsets, std::uint32_t count, F f, Done done) {
  if constexpr (span<T>::may_be_packed)
    if (r.is_packed()) {
      decltype(wide(f(T{}))) total{};
      std::uint64_t i = larger(r.begin, offsets[0]);
      std::uint64_t const last = smaller(r.end, offsets[count]);
      std::uint32_t list = 0;
      T values[32];
      while (i < last) {
        std::uint64_t const first = i / 32 * 32, end = smaller(last, first + 32);
        unpack_block(r.packed, first / 32, static_cast<std::uint32_t>(end - first), values);
        while (i < end) {
          while (offsets[list + 1] <= i) ++list;
          std::uint64_t const to = smaller(end, offsets[list + 1]);
          decltype(total) a{}, b{}, c{}, d{};
          for (; i + 4 <= to; i += 4) {
            T const* const at = values + (i - first);
            a += wide(f(at[0])), b += wide(f(at[1])), c += wide(f(at[2])), d += wide(f(at[3]));
          }
          for (; i < to; ++i) a += wide(f(values[i - first]));
          total += (a + b) + (c + d);
          if (to < smaller(last, offsets[list + 1])) break;  // it goes on in the next block
          done(list, total);
          total = {};
        }
      }
      return;
    }
  sum_lists_in_turn(r, offsets, count, f, done);
}

// 16 bytes, so that a lane can request as many at once.
struct alignas(16) wide_word {
  std::uint64_t parts[2];
};

// f(element, index) in order, compressed or plain, until it returns true.
template <class T, class F>
GARNER_HD inline bool until(span<T> const& r, F f) {
  if constexpr (span<T>::may_be_packed)
    if (r.is_packed()) return each_in_turn(r.packed, r.begin, r.end, f);
  for (std::uint64_t i = r.begin; i < r.end; ++i)
    if (f(r.data[i], i)) return true;
  return false;
}
// The same for two parallel arrays, to the end. Compressed ones are decoded a block at a time.
template <class T, class U, class F>
GARNER_HD inline void both(span<T> const& r, span<U> const& beside, F f) {
  if (!r.is_packed() && !beside.is_packed()) {
    for (std::uint64_t i = r.begin; i < r.end; ++i) f(r.data[i], beside.data[i], i);
    return;
  }
  for (std::uint64_t i = r.begin; i < r.end;) {
    std::uint64_t const end = smaller(r.end, i / 32 * 32 + 32);
    U values[32];
    span<U> part = beside;
    part.begin = i, part.end = end;
    until(part, [&](U w, std::uint64_t j) { return values[j % 32] = w, false; });
    span<T> here = r;
    here.begin = i, here.end = end;
    until(here, [&](T e, std::uint64_t j) { return f(e, values[j % 32], j), false; });
    i = end;
  }
}
template <class T, class P>
GARNER_HD inline found<T> first_of(span<T> const& r, P pred) {
  found<T> hit{T{}, ~std::uint64_t{0}};
  until(r, [&](T e, std::uint64_t i) {
    if (!pred(e)) return false;
    hit = {e, i};
    return true;
  });
  return hit;
}

// team::smallest by one thread. In a long list nearly all elements are read and rejected, so that path has to be short.
struct smallest_so_far {
  candidate best[most_smallest], bar;  // bar: the k-th
  std::uint32_t k, n = 0;
  GARNER_HD void add(candidate const& mine) {
    std::uint32_t at = n < k ? n++ : n - 1;
    for (; at > 0 && mine < best[at - 1]; --at) best[at] = best[at - 1];
    best[at] = mine;
    if (n == k) bar = best[n - 1];
  }
};
template <class T, class Key, class Done>
GARNER_HD inline smallest_found smallest_in_turn(span<T> const& r, std::uint32_t k, candidate after, Key key, Done done) {
  smallest_so_far found{{}, {}, k};
  until(r, [&](T e, std::uint64_t i) {
    candidate const mine{key(e, i, found.bar.key), i};
    if (mine.key != candidate::none && mine < found.bar && after < mine) found.add(mine);
    return false;
  });
  for (std::uint32_t j = 0; j < found.n; ++j) done(j, found.best[j]);
  return {found.n, found.n ? found.best[found.n - 1] : after};
}

// `team::take_turns` and `team::alike` by one thread.
template <class Start, class Step, class Between>
GARNER_HD inline void turns_of_one(std::uint64_t begin, std::uint64_t end, Start start, Step step, Between between) {
  decltype(start(begin)) states[most_waiting];
  for (std::uint64_t i = begin; i < end; ++i) states[i - begin] = start(i);
  std::uint32_t open = end - begin >= 32 ? ~0u : (1u << (end - begin)) - 1;
  for (unsigned tries = 0;; ++tries) {
    std::uint32_t const before = open;
    for (std::uint32_t left = open; left != 0; left &= left - 1) {
      int const k = lowest_bit(left);
      if (step(states[k], begin + static_cast<std::uint64_t>(k))) open &= ~(1u << k);
    }
    if (open == 0) return;
    for (std::uint32_t left = open; left != 0; left &= left - 1) between(states[lowest_bit(left)]);
    if (open != before) tries = 0;
    back_off(tries);
  }
}
template <class Key, class F>
GARNER_HD inline void alike_of_one(std::uint64_t begin, std::uint64_t end, Key key, F f) {
  decltype(key(begin)) keys[most_waiting];
  for (std::uint64_t i = begin; i < end; ++i) {
    keys[i - begin] = key(i);
    std::uint64_t first = begin;
    while (!(keys[first - begin] == keys[i - begin])) ++first;
    f(i, first);
  }
}

// The same by a thread of the host, which looks at each element some time before f gets it, so that it need not wait for what f touches: a
// branch on that, mispredicted, would keep it from asking for the next.
template <class T, class U, class F, class Look>
inline void both_ahead(span<T> const& r, span<U> const& beside, F f, Look look) {
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
    span<T> here = r;
    span<U> part = beside;
    here.begin = part.begin = i, here.end = part.end = end;
    until(here, [&](T e, std::uint64_t j) { return look(e), elements[j % 32] = e, false; });
    until(part, [&](U w, std::uint64_t j) { return values[j % 32] = w, false; });
    for (std::uint64_t j = i; j < end; ++j) f(elements[j % 32], values[j % 32], j);
  }
}

template <class F>
GARNER_HD auto total_in_turn(std::uint64_t begin, std::uint64_t end, F const& f) {
  decltype(f(begin)) total{};
  for (std::uint64_t i = begin; i < end; ++i) total = total + f(i);
  return total;
}

// team::add_rows by one thread: so many columns at a time that their sums stay in registers or next to them.
template <class V, class From>
inline void add_rows_in_turn(indices r, std::uint64_t columns, From const& from) {
  constexpr std::uint64_t most = 64, soon = 4;
  auto const rows = from.rows();
  auto const row_of = [&](std::uint64_t k) { return rows.data + rows.id(k) * rows.stride; };
  auto const number_of = [&](auto const& at) { return number<V>(rows, at); };
  for (std::uint64_t c = 0; c < columns; c += most) {
    V sums[most];
    std::uint64_t const n = smaller(most, columns - c);
    for (std::uint64_t j = 0; j < n; ++j) sums[j] = from.start(c + j);
    for (std::uint64_t k = r.begin; k < r.end; ++k) {
      if (k + soon < r.end) ask_soon(row_of(k + soon) + c);
      auto const* const row = row_of(k) + c;
      V const scale = rows.scaled() ? rows.scale(k) : V{1};
      if (n == most)
        for (std::uint64_t j = 0; j < most; ++j) sums[j] += scale * number_of(row[j]);
      else
        for (std::uint64_t j = 0; j < n; ++j) sums[j] += scale * number_of(row[j]);
    }
    for (std::uint64_t j = 0; j < n; ++j) from.done(c + j, row_part<V, 1>{{sums[j]}});
  }
}

}  // namespace lanes
}  // namespace garner
