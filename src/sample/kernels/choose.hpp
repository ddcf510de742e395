// Which entries a vertex samples. Without a look at each: Floyd's algorithm without replacement (Bentley, CACM 30(9) 1987): the k-th sample
// is uniform in [0, d - f + k]; a repeated one becomes d - f + k. Each set of f positions is equally likely. f^2 / 2 comparisons, no table.
// By a key of every edge: by weights the f smallest of -log(u) / w, u a random number per edge (Efraimidis and Spirakis, IPL 97(5) 2006);
// with replacement the first f arrivals, where edges arrive at random times at the rates of their weights: only edges whose first arrival
// is among the f first matter, so lists are read as often. Temporal: the f smallest random numbers, or ages, among edges no later than the
// seed. LABOR-0 (Balin and Catalyurek, NeurIPS 2023), sequential Poisson: the f smallest of a random number per neighbor, shared by all
// vertices of a mini-batch.
#pragma once
#include <cstdint>
#include <cstring>

#include "sample/kernels/count.hpp"

namespace garner::drawing {

template <class Entries>
struct draw : hop_of_relation {
  Entries entries;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    if (c[map.over]) return;
    std::uint64_t const target = first_drawing() + i, n = at[i + 1] - at[i];
    if (n == 0) return;
    auto const v = static_cast<std::uint64_t>(to_ids[target]);
    std::uint64_t const begin = offsets[v], degree = entries.count(t, *this, target, v, begin, offsets[v + 1]);
    std::int64_t* const mine = edge + at[i];
    std::int64_t* const who = col + at[i];
    for (std::uint64_t k = 0; k < n; ++k) who[k] = static_cast<std::int64_t>(target);
    if (takes_all(n, degree)) {
      for (std::uint64_t k = 0; k < n; ++k) mine[k] = static_cast<std::int64_t>(begin + k);
      return;
    }
    if (entries.latest) {  // with replacement the last one each time
      for (std::uint64_t k = 0; k < n; ++k) mine[k] = static_cast<std::int64_t>(begin + degree - (replace ? 1 : n - k));
      return;
    }
    std::uint64_t const key = key_of(v, tree_of(target), batch_of(target));
    for (std::uint64_t k = 0; k < n; ++k) {
      std::uint64_t const last = replace ? degree - 1 : degree - n + k;
      auto pick = static_cast<std::int64_t>(begin + upper_product(mix(key + 0x9e3779b97f4a7c15ull * (k + 1)), last + 1));
      for (std::uint64_t j = 0; j < k && !replace; ++j)
        if (mine[j] == pick) pick = static_cast<std::int64_t>(begin + last);
      mine[k] = pick;
    }
  }
};

// --- sampling that reads every edge ---
// Bits of a number that is not negative; they ascend with it.
GARNER_HD inline std::uint64_t bits_of(double x) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
GARNER_HD inline double double_of(std::int64_t bits) {
  double x = 0;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
// Key by which an edge is chosen: the smallest ones are sampled, never candidate::none. Keys above `most` may become none.
struct by_weight {
  static constexpr bool leaves_out = true, by_neighbor = false;
  using element = std::uint32_t;
  static constexpr bool arrives = true;  // a key is the time of an edge's first arrival, of the bits of a double
  arc_array<std::uint32_t> weights;
  bool real;
  GARNER_HD span<element> part(std::uint64_t v, std::uint64_t begin, std::uint64_t end) const { return weights.part_of(v, begin, end); }
  GARNER_HD double value(element bits) const {
    if (!real) return bits;
    float found;
    std::memcpy(&found, &bits, sizeof found);
    return static_cast<double>(found);
  }
  GARNER_HD std::uint64_t key(element bits, std::uint64_t random, std::int64_t, std::uint64_t most) const {
    double const w = value(bits);
    if (!(w > 0)) return candidate::none;
    // -log2(u) > 1 - u, so that few logarithms are taken in a long list.
    if (bits_of(static_cast<double>(~random >> 24) / w) > most) return candidate::none;
    return bits_of(static_cast<double>(minus_log2(random)) / w);
  }
};
struct in_time {
  static constexpr bool arrives = false, leaves_out = true, by_neighbor = false;
  bool latest;
  // A time is read where it still matters: in a long list few random numbers are among the smallest.
  GARNER_HD std::uint64_t key_of(std::int64_t const* time, std::uint64_t random, std::int64_t limit, std::uint64_t most) const {
    std::uint64_t const key = (random >> 1) + 1;  // never 0, which comes before all
    if ((!latest && key > most) || *time > limit) return candidate::none;
    if (!latest) return key;
    std::uint64_t const age = static_cast<std::uint64_t>(limit) - static_cast<std::uint64_t>(*time);
    return smaller(age, candidate::none - 2) + 1;
  }
};
template <class Id>
struct by_time_of_vertex : in_time {
  using element = Id;
  arc_array<Id> targets;
  std::int64_t const* times;
  GARNER_HD span<element> part(std::uint64_t v, std::uint64_t begin, std::uint64_t end) const { return targets.part_of(v, begin, end); }
  GARNER_HD std::int64_t time_of(element u) const { return times[u]; }
  GARNER_HD std::uint64_t key(element u, std::uint64_t random, std::int64_t limit, std::uint64_t most) const {
    return key_of(times + u, random, limit, most);
  }
};
struct by_time_of_edge : in_time {
  using element = std::int64_t;
  std::int64_t const* times;
  GARNER_HD span<element> part(std::uint64_t, std::uint64_t begin, std::uint64_t end) const { return {times, begin, end}; }
  GARNER_HD std::int64_t time_of(element time) const { return time; }
  GARNER_HD std::uint64_t key(element const& time, std::uint64_t random, std::int64_t limit, std::uint64_t most) const {
    return key_of(&time, random, limit, most);
  }
};
// The same number in all hops and relations that lead from this type.
template <class Id>
struct by_neighbor_alone {
  static constexpr bool arrives = false, leaves_out = false, by_neighbor = true;
  using element = Id;
  arc_array<Id> targets;
  GARNER_HD span<element> part(std::uint64_t v, std::uint64_t begin, std::uint64_t end) const { return targets.part_of(v, begin, end); }
  GARNER_HD std::uint64_t key(element, std::uint64_t random, std::int64_t, std::uint64_t) const { return (random >> 1) + 1; }
};

// The largest weight of each list, for weights whose bits ascend with them.
struct largest_weight {
  std::uint64_t const* offsets;
  by_weight by;
  std::uint32_t* largest;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t v) const {
    std::uint32_t most = 0;
    t.each(by.part(v, offsets[v], offsets[v + 1]), [&](std::uint32_t w) {
      if (by.value(w) > 0) most = larger(most, w);  // -0 has the bits of a large one
    });
    atomic_max(largest + v, most);
  }
};
// By weights, for a long list: random entries, each accepted with the chance of its weight over the largest, until there are enough or too
// many were rejected. In the latter case draw_by reads the list for the rest. Both choose each next entry by the weights of those that are
// left. Fills drawn[]; returns the number found.
struct try_entries : hop_of_relation {
  static constexpr std::uint64_t long_list = 64;
  by_weight by;
  std::uint32_t const* largest;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    if (c[map.over]) return;
    std::uint64_t const target = first_drawing() + i, n = at[i + 1] - at[i];
    auto const v = static_cast<std::uint64_t>(to_ids[target]);
    std::uint64_t const begin = offsets[v], degree = offsets[v + 1] - begin;
    std::uint64_t found = 0;
    if (!takes_all(n, degree) && degree >= long_list) {
      std::uint64_t const key = mix(key_of(v, tree_of(target), batch_of(target)));
      double const most = by.value(largest[v]);
      for (std::uint64_t k = 0; k < 8 * n + 32 && found < n; ++k) {
        std::uint64_t const e = begin + upper_product(mix(key + 0x9e3779b97f4a7c15ull * (2 * k + 1)), degree);
        double const chance = static_cast<double>(mix(key + 0x9e3779b97f4a7c15ull * (2 * k + 2)) >> 11) * 0x1p-53;
        bool kept = false;
        t.each(by.part(v, e, e + 1), [&](by_weight::element w) { kept = chance * most < by.value(w); });
        if (kept && !is_among(i, found, e)) edge[at[i] + found] = static_cast<std::int64_t>(e), first[at[i] + found] = 1, ++found;
      }
    }
    drawn[i] = static_cast<std::uint32_t>(found);
  }
};

// Writes first[]: 1 the edge is sampled, 0 there is nothing here, 2 allowed() decides. For arrivals, writes their times into row[].
template <class By>
struct draw_by : hop_of_relation {
  By by;
  std::int64_t const* tree_time;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    if (c[map.over]) return;
    std::uint64_t const target = first_drawing() + i, n = at[i + 1] - at[i];
    auto const v = static_cast<std::uint64_t>(to_ids[target]);
    std::uint64_t const begin = offsets[v], degree = offsets[v + 1] - begin;
    std::int64_t* const mine = edge + at[i];
    std::int64_t* const who = col + at[i];
    std::uint32_t* const state = first + at[i];
    t.each(indices{0, n}, [&](std::uint64_t k) { who[k] = static_cast<std::int64_t>(target); });
    if (takes_all(n, degree)) {
      t.each(indices{0, n}, [&](std::uint64_t k) { mine[k] = static_cast<std::int64_t>(begin + k), state[k] = By::leaves_out ? 2 : 1; });
      return;
    }
    std::int64_t const limit = tree_time ? tree_time[tree_of(target)] : 0;
    std::uint64_t const key = By::by_neighbor ? key_of_neighbors(batch_of(target)) : key_of(v, tree_of(target), batch_of(target));
    candidate after{0, candidate::none};
    bool const one_by_one = replace && !By::arrives;
    auto const each = static_cast<std::uint32_t>(one_by_one ? 1 : lanes::most_smallest);
    std::uint64_t const there = By::arrives && !replace ? drawn[i] : 0;
    for (std::uint64_t k = there; k < n;) {
      std::uint64_t const stream_of_draw = one_by_one ? mix(key + k + 1) : key;
      auto const some = static_cast<std::uint32_t>(smaller<std::uint64_t>(each, n - k));
      smallest_found const found = t.smallest(
          by.part(v, begin, begin + degree), some, after,
          [&](typename By::element e, std::uint64_t j, std::uint64_t most) {
            if (is_among(i, there, j)) return candidate::none;
            std::uint64_t const nth = By::by_neighbor ? static_cast<std::uint64_t>(e) : j - begin;
            return by.key(e, mix(stream_of_draw + 0x9e3779b97f4a7c15ull * (nth + 1)), limit, most);
          },
          [&](std::uint32_t j, candidate const& c) {
            mine[k + j] = static_cast<std::int64_t>(c.index), state[k + j] = 1;
            if (By::arrives && replace) row[at[i] + k + j] = static_cast<std::int64_t>(c.key);
          });
      k += found.count;
      if (found.count < some) {
        t.each(indices{k, n}, [&](std::uint64_t j) { state[j] = 0; });
        return;
      }
      if (!one_by_one) after = found.last;
    }
  }
};
// Turns first arrivals into all arrivals: with replacement, by weights.
struct draw_again : hop_of_relation {
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (c[map.over]) return;
    std::uint64_t const target = first_drawing() + i, n = at[i + 1] - at[i];
    auto const v = static_cast<std::uint64_t>(to_ids[target]);
    std::uint64_t const begin = offsets[v];
    if (takes_all(n, offsets[v + 1] - begin)) return;
    std::int64_t *const mine = edge + at[i], *const time = row + at[i], *const rate = col + at[i];
    std::uint32_t* const state = first + at[i];
    std::uint64_t arrive = 0;  // edges that arrive at all, by their first times
    while (arrive < n && state[arrive]) ++arrive;
    if (arrive == 0) return;
    std::uint64_t const key = key_of(v, tree_of(target), batch_of(target));
    auto const wait = [&](std::uint64_t stream, std::uint64_t j) {
      auto const place = static_cast<std::uint64_t>(mine[j]) - begin;
      return static_cast<double>(minus_log2(mix(stream + 0x9e3779b97f4a7c15ull * (place + 1))));
    };
    for (std::uint64_t k = 0, seen = 0; k < n; ++k) {
      std::uint64_t next = seen < arrive ? seen : 0;
      for (std::uint64_t j = 0; j < seen; ++j)
        if (time[j] < time[next]) next = j;
      double const now = double_of(time[next]);
      if (next == seen) {
        rate[next] = static_cast<std::int64_t>(bits_of(wait(key, next) / now));
        ++seen;
      }
      time[next] = static_cast<std::int64_t>(bits_of(now + wait(mix(key + k + 1), next) / double_of(rate[next])));
      state[k] = static_cast<std::uint32_t>(next);
    }
    for (std::uint64_t k = 0; k < n; ++k) col[at[i] + k] = mine[state[k]];
    for (std::uint64_t k = 0; k < n; ++k) mine[k] = col[at[i] + k], col[at[i] + k] = static_cast<std::int64_t>(target), state[k] = 1;
  }
};
template <class By>
struct allowed : hop_of_relation {
  By by;
  std::int64_t const* tree_time;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    if (c[map.over] || first[i] != 2) return;
    auto const e = static_cast<std::uint64_t>(edge[i]);
    auto const target = static_cast<std::uint64_t>(col[i]);
    std::int64_t const limit = tree_time ? tree_time[tree_of(target)] : 0;
    t.each(by.part(static_cast<std::uint64_t>(to_ids[target]), e, e + 1),
           [&](typename By::element x) { first[i] = by.key(x, 0, limit, candidate::none) != candidate::none; });
  }
};
// Compacts the sampled edges.
struct sift : hop_of_relation {
  std::int64_t const *from_col, *from_edge;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    if (c[map.over] || !first[i]) return;
    col[rank[i]] = from_col[i];
    edge[rank[i]] = from_edge[i];
  }
};

}  // namespace garner::drawing
