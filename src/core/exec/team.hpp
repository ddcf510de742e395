// The team: operations of a kernel, written once over all kinds of lanes.
#pragma once
#include <cstdint>
#include <type_traits>

#include "core/exec/lanes_device.hpp"
#include "core/exec/lanes_host.hpp"
#include "core/exec/lanes_simulated.hpp"

// A team is written for lanes of both sides and made for one: nvcc would warn that each host lane may not run on a device.
#if defined(__NVCC__)
#pragma nv_diagnostic push
#pragma nv_diag_suppress 20011, 20014
#endif

namespace garner {

template <class Lanes>
class team {
 public:
  static constexpr int width = Lanes::width;
  // A host thread has few reads in flight, a device thousands: on the host kernels prefetch what they touch soon.
  static constexpr bool asks_ahead = std::is_same_v<Lanes, lanes::host>;
  GARNER_HD explicit team(Lanes l) : lanes_(l) {}

  // Calls f(element) or f(element, index) for each element of the span.
  template <class T, class F>
  GARNER_HD void each(span<T> r, F f) const {
    lanes_.sweep(r, start<lanes::line_bytes>(r), [&](T e, std::uint64_t i) { call(f, e, i); });
  }
  // The same for two parallel remote arrays (an edge list and its weights): f(element, element of the second, index).
  template <class T, class U, class F>
  GARNER_HD void each(span<T> r, span<U> beside, F f) const {
    std::uint64_t const first = beside.is_packed() ? r.begin / 32 * 32 : start<lanes::line_bytes>(r);
    lanes_.sweep(r, beside, first, f);
  }
  // Moves a plain span of less than 2^31 elements: calls f(elements, how many, how far from the begin of the span) for parts that cover it,
  // each element in one. A thread alone gets all at once, a lane one at a time. `shifted`: from the first line that begins in the span, and
  // at last what is before it (Listing 3.2 of the dissertation); spans shorter than a line, or of whole lines, are not shifted.
  template <class T, class F>
  GARNER_HD void parts(span<T> r, F f, bool shifted = false) const {
    constexpr std::uint64_t line = lanes::line_bytes / sizeof(T);
    std::uint64_t const n = r.end - r.begin;
    if (shifted) lanes_.parts(r, n > line && n % line ? (r.begin + line - 1) / line * line : r.begin, f);
    else lanes_.parts(r, start<lanes::line_bytes>(r), f);
  }
  // The same; look(element) may be called some time before, once, to ask_soon for what f will touch.
  template <class T, class U, class F, class Look>
  GARNER_HD void each(span<T> r, span<U> beside, F f, [[maybe_unused]] Look look) const {
    if constexpr (std::is_same_v<Lanes, lanes::host>) lanes_.sweep(r, beside, f, look);
    else each(r, beside, f);
  }
  // The same in two steps, act(element, see(element, parallel element, index)), so that the lookups for several elements are in flight at
  // once: `see` only reads, `act` allows for changes since.
  template <class T, class U, class See, class Act, class Look>
  GARNER_HD void each(span<T> r, span<U> beside, See see, Act act, Look look) const {
    if constexpr (requires { Lanes::sees_ahead; })
      lanes_.sweep(r, beside, beside.is_packed() ? r.begin / 32 * 32 : start<lanes::line_bytes>(r), see, act);
    else
      each(
          r, beside, [&](T e, U w, std::uint64_t i) { act(e, see(e, w, i)); }, look);
  }
  // Calls f(i) for each index of device memory.
  template <class F>
  GARNER_HD void each(indices r, F f) const {
    lanes_.stride(r.begin, r.end, f);
  }
  // Whether pred(element) holds for some element; asks a step at a time and stops at the first that has one.
  template <class T, class P>
  GARNER_HD bool any(span<T> r, P pred) const {
    return static_cast<bool>(find(r, pred));
  }
  // The same, and which one: some of the step in which any was found. A step has `each` elements per lane (1, 2 or 4, of at most 16 bytes
  // together): in a plain span it is one request, begun at a multiple of its size. `readable`: a lower bound for the end of the array; a
  // lane whose elements are only partly in the span reads them at once up to there.
  template <class T, class P>
  GARNER_HD_INLINE found<T> find(span<T> r, P pred, unsigned each = 1, std::uint64_t readable = 0) const {
    if (r.is_packed()) return lanes_.find(r, r.begin / 32 * 32, 1, r.end, pred);
    std::uint64_t const step = static_cast<std::uint64_t>(width == 1 ? 1 : width) * each;
    return lanes_.find(r, lanes_.aligns() ? r.begin / step * step : r.begin, lanes_.aligns() ? each : 1, larger(readable, r.end), pred);
  }
  // The k elements (k <= 32) of smallest key(element, index, most) among those behind `after`: done(j, candidate) by one lane for the j-th
  // of them. A key of candidate::none leaves an element out, as any above `most` may be, and the first call has after = {0, none}. The
  // results are the same on every device.
  template <class T, class Key, class Done>
  GARNER_HD smallest_found smallest(span<T> r, std::uint32_t k, candidate after, Key key, Done done) const {
    return lanes_.smallest(r, start<lanes::line_bytes>(r), k, after, key, done);
  }
  // The sum of f(element); V adds with + and starts at V{}.
  template <class T, class F>
  GARNER_HD auto sum(span<T> r, F f) const {
    decltype(f(T{})) total{};
    lanes_.sweep(r, start<lanes::line_bytes>(r), [&](T e, std::uint64_t) { total = total + f(e); });
    return lanes_.reduce(total, [](auto a, auto b) { return a + b; });
  }
  template <class F>
  GARNER_HD auto sum(indices r, F f) const {
    return lanes_.reduce(lanes_.total_of(r.begin, r.end, f), [](auto a, auto b) { return a + b; });
  }
  // The sum of what each lane brings (a thread alone: what it brings).
  template <class V>
  GARNER_HD V sum_of_lanes(V mine) const {
    return lanes_.reduce(mine, [](auto a, auto b) { return a + b; });
  }
  // Sums of each of `count` <= 32 adjacent lists, list k being [offsets[k], offsets[k + 1]) (device memory; lists may begin before the span
  // or end after it): done(k, sum of f(element)) by one lane for each list that has elements in the span. The order of the sum depends on
  // span, lists and width alone, so that sums repeat bit for bit on one device. A span of less than 2^31 elements.
  template <class T, class F, class Done>
  GARNER_HD void sum_lists(span<T> r, std::uint64_t const* offsets, std::uint32_t count, F f, Done done) const {
    lanes_.sweep_lists(r, start<lanes::line_bytes>(r), offsets, count, f, done);
  }
  // Sums rows of device memory, from.rows(): from.done(c, a row_part of sums) for columns c, where a sum is from.start(c) and then, k by k
  // of `r`, scale(k) times the element of row id(k). The same order on every device. `wide`: these rows, and those that done() reads and
  // writes, begin at multiples of 16 bytes and are as long; then a part has 16 bytes. Rows of less than 4 GiB.
  template <class V, class From>
  GARNER_HD void add_rows(indices r, std::uint64_t columns, bool wide, From const& from) const {
    lanes_.template add_rows<V>(r, columns, wide, from);
  }
  // The same for two lists one after the other. Where shared memory exists, rows of the second are copied to it (cp.async) during the sums
  // of the first. For kernels that declare `static constexpr int rows_ahead = lanes::rows_ahead;`.
  template <class V, class First, class Second>
  GARNER_HD void add_rows_beside(indices r, First const& from, indices beside, Second const& from_beside, std::uint64_t columns,
                                 bool wide) const {
    lanes_.template add_rows_beside<V>(r, from, beside, from_beside, columns, wide);
  }
  // The smallest of `start_value` and f(element).
  template <class T, class V, class F>
  GARNER_HD V min(span<T> r, V start_value, F f) const {
    V best = start_value;
    lanes_.sweep(r, start<lanes::line_bytes>(r), [&](T e, std::uint64_t) { best = smaller(best, static_cast<V>(f(e))); });
    return lanes_.reduce(best, [](V a, V b) { return smaller(a, b); });
  }
  // For indices of device memory whose lanes wait for an event: calls start(i) -> a state, then step(state, i) again and again, until it
  // was true once for each; between two rounds of steps, between(state) for those that still wait. No call may wait for another lane's:
  // they are interleaved. A lane each where there are lanes.
  template <class Start, class Step, class Between>
  GARNER_HD void take_turns(indices r, Start start, Step step, Between between) const {
    for (std::uint64_t i = r.begin; i < r.end; i += lanes::most_waiting)
      lanes_.take_turns(i, smaller<std::uint64_t>(r.end, i + lanes::most_waiting), start, step, between);
  }
  // Which of up to 32 indices [begin, begin + 32) have equal keys: f(i, first index with the key of i). Lanes compare within their team; a
  // team of fewer lanes than indices finds fewer.
  template <class Key, class F>
  GARNER_HD void alike(indices r, Key key, F f) const {
    for (std::uint64_t i = r.begin; i < r.end; i += lanes::most_waiting)
      lanes_.alike(i, smaller<std::uint64_t>(r.end, i + lanes::most_waiting), key, f);
  }
  // f() by one lane.
  template <class F>
  GARNER_HD void once(F f) const {
    if (lanes_.leads()) f();
  }
  // Sets bit i of the bitmap; true for the one caller that found it clear. Looks before it locks: most bits are set already.
  GARNER_HD bool claim(std::uint32_t* bits, std::uint64_t i) const {
    std::uint32_t const m = 1u << (i % 32);
    return !(atomic_load(bits + i / 32) & m) && !(atomic_or(bits + i / 32, m) & m);
  }

 private:
  template <std::uint64_t Grain, class T>
  GARNER_HD std::uint64_t start(span<T> r) const {
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

}  // namespace garner

#if defined(__NVCC__)
#pragma nv_diagnostic pop
#endif
