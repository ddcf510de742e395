// Simulated lanes: the results of one thread, and a trace of what the lanes of a GPU would request in each step.
#pragma once
#include <vector>

#include "core/exec/lanes_host.hpp"
#include "core/executor.hpp"

namespace garner::lanes {

template <int Width>
struct simulated : in_turn {
  static constexpr int width = Width;
  std::vector<far_read>* reads;  // null: they are dropped
  bool aligned;

  template <class T>
  void ask(span<T> const& r, std::uint64_t a, std::uint64_t b) const {
    if (reads && !r.near) reads->push_back({reinterpret_cast<std::uint64_t>(r.data + a), reinterpret_cast<std::uint64_t>(r.data + b)});
  }
  // The words of compressed elements [a, b). Wide teams request whole lines of four blocks at a time; a single lane requests word by word,
  // and its block's words are reported.
  template <class T>
  void ask_packed(span<T> const& r, std::uint64_t a, std::uint64_t b) const {
    constexpr std::uint64_t blocks = Width == 32 ? packed_step : 1;
    for (std::uint64_t k = a / 32 / blocks * blocks; k * 32 < b; k += blocks) {
      std::uint64_t const from = std::max(k, a / 32), to = std::min(k + blocks, (b + 31) / 32);
      span<std::uint32_t> const words{r.packed.words, r.packed.at.word_of(from), r.packed.at.word_of(to), r.near};
      for (std::uint64_t w = words.begin / 32 * 32; w < words.end; w += 32)
        ask(words, std::max(w, words.begin), std::min(w + 32, words.end));
    }
  }
  template <class T, class F>
  void sweep(span<T> r, std::uint64_t first, F f) const {
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
  void sweep(span<T> r, span<U> beside, std::uint64_t first, F f) const {
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
  void parts(span<T> r, std::uint64_t first, F f) const {
    std::uint64_t const n = r.end - r.begin, idle = first < r.begin ? r.begin - first : 0, ahead = first > r.begin ? first - r.begin : 0;
    auto const part = [&](std::uint64_t a, std::uint64_t b) {
      if (a >= b) return;
      ask(r, r.begin + a, r.begin + b);
      f(r.data + r.begin + a, b - a, a);
    };
    for (std::uint64_t s = 0; s < n + idle; s += Width) {
      std::uint64_t const a = std::max(s, idle) - idle + ahead, b = std::min(std::max(s + Width, idle) - idle, n) + ahead;
      part(a, std::min(b, n));
      if (b > n) part(std::max(a, n) - n, b - n);
    }
  }
  template <class T, class P>
  found<T> find(span<T> r, std::uint64_t first, unsigned each, std::uint64_t, P pred) const {
    if (r.is_packed()) {
      found<T> const hit = first_of(r, pred);
      ask_packed(r, r.begin, hit ? hit.index + 1 : r.end);
      return hit;
    }
    std::uint64_t const step = static_cast<std::uint64_t>(Width) * each;
    for (std::uint64_t s = first; s < r.end; s += step) {
      std::uint64_t const a = std::max(s, r.begin), b = std::min(s + step, r.end);
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
  void sweep_lists(span<T> r, std::uint64_t first, std::uint64_t const* offsets, std::uint32_t count, F f, Done done) const {
    sweep(r, first, [](T, std::uint64_t) {});
    sum_lists_by_blocks(r, offsets, count, f, done);
  }
  template <class T, class Key, class Done>
  smallest_found smallest(span<T> r, std::uint64_t first, std::uint32_t k, candidate after, Key key, Done done) const {
    sweep(r, first, [](T, std::uint64_t) {});
    return smallest_in_turn(r, k, after, key, done);
  }
  bool aligns() const { return aligned; }
};

}  // namespace garner::lanes
