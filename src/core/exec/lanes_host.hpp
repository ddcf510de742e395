// One thread of the host as a team.
#pragma once
#include "core/exec/lanes.hpp"

namespace garner::lanes {

// What one thread does for all lanes of a team.
struct in_turn {
  template <class F>
  void stride(std::uint64_t begin, std::uint64_t end, F f) const {
    for (std::uint64_t i = begin; i < end; ++i) f(i);
  }
  template <class F>
  auto total_of(std::uint64_t begin, std::uint64_t end, F const& f) const {
    return total_in_turn(begin, end, f);
  }
  template <class Start, class Step, class Between>
  void take_turns(std::uint64_t begin, std::uint64_t end, Start start, Step step, Between between) const {
    turns_of_one(begin, end, start, step, between);
  }
  template <class Key, class F>
  void alike(std::uint64_t begin, std::uint64_t end, Key key, F f) const {
    alike_of_one(begin, end, key, f);
  }
  template <class V, class From>
  void add_rows(indices r, std::uint64_t columns, bool, From const& from) const {
    add_rows_in_turn<V>(r, columns, from);
  }
  template <class V, class First, class Second>
  void add_rows_beside(indices r, First const& from, indices beside, Second const& from_beside, std::uint64_t columns, bool) const {
    add_rows_in_turn<V>(r, columns, from);
    add_rows_in_turn<V>(beside, columns, from_beside);
  }
  template <class V, class Op>
  V reduce(V v, Op) const {
    return v;
  }
  bool leads() const { return true; }
};

struct host : in_turn {
  static constexpr int width = 1;
  template <class T, class F>
  void sweep(span<T> r, std::uint64_t, F f) const {
    until(r, [&](T e, std::uint64_t i) { return f(e, i), false; });
  }
  template <class T, class U, class F>
  void sweep(span<T> r, span<U> beside, std::uint64_t, F f) const {
    both(r, beside, f);
  }
  template <class T, class F>
  void parts(span<T> r, std::uint64_t, F f) const {
    if (r.begin < r.end) f(r.data + r.begin, r.end - r.begin, std::uint64_t{0});
  }
  template <class T, class U, class F, class Look>
  void sweep(span<T> r, span<U> beside, F f, Look look) const {
    both_ahead(r, beside, f, look);
  }
  template <class T, class P>
  found<T> find(span<T> r, std::uint64_t, unsigned, std::uint64_t, P pred) const {
    return first_of(r, pred);
  }
  template <class T, class F, class Done>
  void sweep_lists(span<T> r, std::uint64_t, std::uint64_t const* offsets, std::uint32_t count, F f, Done done) const {
    sum_lists_by_blocks(r, offsets, count, f, done);
  }
  template <class T, class Key, class Done>
  smallest_found smallest(span<T> r, std::uint64_t, std::uint32_t k, candidate after, Key key, Done done) const {
    return smallest_in_turn(r, k, after, key, done);
  }
  bool aligns() const { return false; }
};

}  // namespace garner::lanes
