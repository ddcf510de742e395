// The kernels of PageRank: what an item pulls, and how the sums of a cut list are combined.
// Invariant: every sum has one order, which neither timing nor the number of devices changes.
#pragma once
#include <cmath>
#include <cstring>

#include "core/exec.hpp"
#include "graph/graph.hpp"
#include "traverse/frontier.hpp"
#include "traverse/pagerank.hpp"

namespace garner::detail {

constexpr std::uint64_t rank_block = pagerank_job::shard_grain;  // vertices that a team reduces
constexpr std::uint32_t rank_slice = 4096;                       // elements per slice

// Sums over vertices.
struct totals {
  double change, dangling, ranks, most;
  GARNER_HD friend totals operator+(totals const& a, totals const& b) {
    return {a.change + b.change, a.dangling + b.dangling, a.ranks + b.ranks, larger(a.most, b.most)};
  }
};

// Reduces the blocks' sums, always in the same order.
struct fold {
  totals const* of_block;
  std::uint64_t blocks;
  totals* all;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t) const {
    totals const sum = t.sum(indices{0, blocks}, [&](std::uint64_t b) { return of_block[b]; });
    t.once([&] { *all = sum; });
  }
};

// The results of an item.
struct list_sums {
  float* sum;
  double *head, *tail;
  // Stores the part of list k, from vertex `first` on, that lies in the slice.
  GARNER_HD void put(std::uint64_t i, std::uint64_t first, std::uint64_t const* offsets, std::uint32_t k, indices slice,
                     double part) const {
    if (offsets[k] < slice.begin) head[i] = part;
    else if (offsets[k + 1] > slice.end) tail[i] = part;
    else sum[first + k] = static_cast<float>(part);
  }
};

template <class Id, bool Packed>
struct pull_lists {
  csr_view<Id> in;
  cutter cut;
  frontier_item<Id> const* items;
  float const* given;  // rank / degree
  list_sums to;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    frontier_item<Id> const at = items[i];
    std::uint64_t const* const offsets = in.offsets + at.first;
    indices const slice = cut.slice_at(offsets[0], offsets[at.length()], at.slice());
    t.sum_lists(
        known<Packed>(in.arcs(slice)), offsets, static_cast<std::uint32_t>(at.length()), [&](Id u) { return given[u]; },
        [&](std::uint32_t k, double part) { to.put(i, at.first, offsets, k, slice, part); });
  }
};

GARNER_HD inline double weight_of(std::uint32_t bits, bool real) {
  if (!real) return bits;
  float w;
  memcpy(&w, &bits, 4);
  return static_cast<double>(w);
}

// Weights range from 1e-45 to 3e38, so contributions need f64.
template <class Id>
struct pull_weighted {
  csr_view<Id> in;
  cutter cut;
  frontier_item<Id> const* items;
  double const* given;  // rank / sum of weights
  bool real;
  list_sums to;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    frontier_item<Id> const at = items[i];
    std::uint64_t const* const offsets = in.offsets + at.first;
    indices const slice = cut.slice_at(offsets[0], offsets[at.length()], at.slice());
    for (std::uint32_t k = 0; k < at.length(); ++k) {
      span<Id> const list = clipped(in.arcs({offsets[k], offsets[k + 1]}), slice);
      if (list.begin == list.end) continue;
      double mine = 0;
      t.each(list, in.weights_of(list), [&](Id u, std::uint32_t w, std::uint64_t) { mine += given[u] * weight_of(w, real); });
      double const part = t.sum_of_lanes(mine);
      t.once([&] { to.put(i, at.first, offsets, k, slice, part); });
    }
  }
};

// The weight of the edges that leave each vertex.
template <class Id>
struct weigh_lists {
  csr_view<Id> out;
  indices only;
  bool real;
  double* weight;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t v) const {
    double const part = t.sum(out.weights_of(clipped(out.list(v), only)), [real = real](std::uint32_t w) { return weight_of(w, real); });
    t.once([&] { weight[v] += part; });
  }
};

// Computes the new ranks from the pulled sums.
struct settle {
  std::uint64_t const *in_offsets, *out_offsets;
  std::uint64_t vertices;
  cutter cut;
  std::uint64_t const* first_item;  // for each word of 32 vertices
  float const* sum;
  double const *head, *tail;
  float const* jump;  // null: jump_all for all
  double jump_all, damping;
  bool redistribute, start;  // start: ranks are the jump vector
  float *rank, *given;
  double const* weight;  // total weight of each vertex's out-edges; null: unweighted
  double* given_by_weight;
  std::uint32_t const* place;  // position of the contribution; null: the vertex itself
  totals const* before;
  totals* of_block;

  // A host thread, which divides and mispredicts at a high price, takes the same values by shorter ways.
  template <class Team>
  GARNER_HD double pulled(std::uint64_t v) const {
    std::uint64_t const begin = in_offsets[v], end = in_offsets[v + 1];
    if constexpr (Team::asks_ahead)
      if (end - in_offsets[v / 32 * 32] + cut.grain <= cut.slice) {  // its word is one slice up to here
        auto const all = static_cast<double>(sum[v]);
        return begin == end ? 0 : all;
      }
    if (begin == end) return 0;
    std::uint64_t const base = cut.base(in_offsets[v / 32 * 32]), first = (begin - base) / cut.slice, last = (end - 1 - base) / cut.slice;
    if (first == last) return static_cast<double>(sum[v]);
    std::uint64_t const item = first_item[v / 32];
    double all = tail[item + first];
    for (std::uint64_t p = first + 1; p <= last; ++p) all += head[item + p];
    return all;
  }
  template <class Team>
  GARNER_HD static double apart(double now, double old) {
    if constexpr (Team::asks_ahead) return std::fabs(now - old);
    else return now < old ? old - now : now - old;
  }
  // Settles v; `shared`: what it has of the dangling mass.
  template <class Team>
  GARNER_HD_INLINE totals one(std::uint64_t v, double shared) const {
    double const to = jump ? static_cast<double>(jump[v]) : jump_all;
    auto const next = static_cast<float>(start ? to : (1 - damping + shared) * to + damping * pulled<Team>(v));
    double const now = static_cast<double>(next), old = start ? now : static_cast<double>(rank[v]);
    std::uint64_t const degree = out_offsets[v + 1] - out_offsets[v], to_whom = place ? place[v] : v;
    rank[v] = next;
    if (weight) {
      if (degree || !place) given_by_weight[to_whom] = weight[v] > 0 ? now / weight[v] : 0;
      return totals{apart<Team>(now, old), weight[v] > 0 ? 0 : now, now, 0};
    }
    if (degree || !place) given[to_whom] = degree ? static_cast<float>(now / static_cast<double>(degree)) : 0;
    return totals{apart<Team>(now, old), degree ? 0 : now, now, 0};
  }
  // Not a lambda: a host's compiler would call it, and its sums would go through memory.
  template <class Team>
  struct each_one {
    settle const& s;
    double shared;
    GARNER_HD_INLINE totals operator()(std::uint64_t v) const { return s.one<Team>(v, shared); }
  };
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    double const shared = redistribute && !start ? damping * before->dangling : 0;
    totals const mine = t.sum(indices{b * rank_block, smaller(vertices, (b + 1) * rank_block)}, each_one<Team>{*this, shared});
    t.once([&] { of_block[b] = mine; });
  }
};

}  // namespace garner::detail
