// Hints: of each vertex a few in-neighbours, near the place that runs. They answer most of what is asked of the lists (who of my neighbours
// was reached; who stands in the largest component), so those lists are not read at all.
// Which: those of highest degree, since in a graph with hubs most vertices have one beside them. Where degrees are alike these would be
// the same few vertices for all, and no better than others; there, in an undirected graph, hints are spread: drawn by a number of the
// edge, and an edge serves one of its ends before the other, so that each vertex names h others and is named by h others on average.
// Invariant: hint k of v is an in-neighbour of v, or all ones where v has no more than k; of equal degrees the smallest id comes first.
// Hints are a pure function of the graph.
// Cost: one read of the edges, once a job; 4 or 8 bytes a hint.
#pragma once
#include <chrono>
#include <cstdint>

#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/random.hpp"
#include "core/stats.hpp"
#include "graph/graph.hpp"
#include "memory/buffer.hpp"
#include "traverse/job.hpp"

namespace garner {

inline constexpr std::uint32_t most_hints = 4;

namespace detail {

// The best few of what is added, best first; larger is better, 0 is none.
struct best_few {
  std::uint64_t key[most_hints] = {};
  GARNER_HD void take(std::uint64_t k) {
    if (k <= key[3]) return;  // most are
    for (int i = 0; i < 4; ++i) {
      std::uint64_t const high = larger(key[i], k);
      k = smaller(key[i], k);
      key[i] = high;
    }
  }
  GARNER_HD friend best_few operator+(best_few a, best_few b) {
    // The larger of a[k] and b[last - k] are the best of all, in some order that rises and then falls: two steps sort it.
    static_assert(most_hints == 4);
    std::uint64_t m[4];
    for (int k = 0; k < 4; ++k) m[k] = larger(a.key[k], b.key[3 - k]);
    best_few best;
    std::uint64_t const high0 = larger(m[0], m[2]), low0 = smaller(m[0], m[2]), high1 = larger(m[1], m[3]), low1 = smaller(m[1], m[3]);
    best.key[0] = larger(high0, high1), best.key[1] = smaller(high0, high1);
    best.key[2] = larger(low0, low1), best.key[3] = smaller(low0, low1);
    return best;
  }
};

template <class Id>
struct find_hints {
  csr_view<Id> in;
  std::uint64_t const* out_offsets;
  std::uint32_t per_vertex;
  bool spread;
  Id* hints;

  // The larger the better, at least 1.
  GARNER_HD std::uint64_t rank(std::uint64_t v, std::uint64_t u) const {
    if (!spread) return smaller(out_offsets[u + 1] - out_offsets[u], std::uint64_t{0xffffffff});
    std::uint64_t const drawn = edge_bits(u, v, 0);
    bool const mine = (drawn & 1) == (v < u ? 1 : 0);
    return (mine ? std::uint64_t{1} << 31 : 0) | (drawn >> 34 | 1);
  }
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t v) const {
    best_few mine;  // ids are below 2^32 (see build)
    t.each(in.list(v), [&](Id u) { mine.take(rank(v, u) << 32 | (0xffffffffu - static_cast<std::uint32_t>(u))); });
    best_few const best = t.sum_of_lanes(mine);
    t.once([&] {
      for (std::uint32_t k = 0; k < per_vertex; ++k) {
        std::uint64_t const key = k == 0 ? best.key[0] : k == 1 ? best.key[1] : k == 2 ? best.key[2] : best.key[3];
        hints[v * per_vertex + k] = key ? static_cast<Id>(0xffffffffu - static_cast<std::uint32_t>(key)) : static_cast<Id>(~Id{0});
      }
    });
  }
};

struct sum_squares {
  std::uint64_t const* offsets;
  std::uint64_t vertices;
  std::uint64_t* total;
  static constexpr std::uint64_t block = 4096;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    std::uint64_t const all = t.sum(indices{b * block, smaller(vertices, (b + 1) * block)}, [&](std::uint64_t v) {
      std::uint64_t const d = smaller(offsets[v + 1] - offsets[v], std::uint64_t{1} << 20);  // so that sums of them fit
      return d * d;
    });
    t.once([&] { atomic_add(total, all); });
  }
};

// Whether the mean degree of a neighbour is less than twice that of a vertex. A graph of hubs is a hundred times over that.
inline bool degrees_alike(job_setting& job) {
  buffer<std::uint64_t> total(job.x.near(), 1, job.x.device(), "counters");
  job.x.fill(total.data(), 0, total.bytes());
  std::uint64_t const n = job.g.info.vertices;
  for_each_item<32>(job.x, (n + sum_squares::block - 1) / sum_squares::block, sum_squares{job.offsets(), n, total.data()});
  double const edges = static_cast<double>(job.g.info.edges);
  return static_cast<double>(job.x.read(total.data())) * static_cast<double>(n) < 2 * edges * edges;
}

}  // namespace detail

// How many a vertex the bytes allow; those that the file keeps, where they fit.
inline std::uint32_t hints_within(graph const& g, std::uint64_t bytes) {
  std::uint64_t const each = g.info.vertices * g.info.id_bytes;
  if (g.info.id_bytes == 4 && g.hints_per_vertex && g.hints_per_vertex * each <= bytes) return g.hints_per_vertex;
  return each ? static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes / each, most_hints)) : 0;
}

// Makes hints that save_graph writes with the graph. errc::input where a directed graph has no in-lists.
void keep_hints(graph& g, place where, std::uint32_t per_vertex);

// Those of the file, which wait in host memory.
inline buffer<std::uint32_t> kept_hints(job_setting& job) {
  buffer<std::uint32_t> hints(job.x.near(), job.g.hints.size(), job.x.device(), "hints");
  auto const start = std::chrono::steady_clock::now();
  job.x.copy(hints.data(), job.g.hints.data(), hints.bytes());
  job.x.wait();
  job.took(fmt::format("{} best neighbours of every vertex, from the file", job.g.hints_per_vertex), hints.bytes(),
           std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  return hints;
}

// Made now, or taken from the file, and booked as a copy of the job.
template <class Id>
buffer<Id> make_hints(job_setting& job, std::uint32_t per_vertex) {
  if (per_vertex > most_hints) fail(errc::usage, "{} hints a vertex: say 0 to {}", per_vertex, most_hints);
  executor& x = job.x;
  if constexpr (sizeof(Id) == 4)
    if (per_vertex && job.g.hints_per_vertex == per_vertex) return kept_hints(job);
  buffer<Id> hints(x.near(), per_vertex * job.g.info.vertices, x.device(), "hints");
  if (hints.empty()) return hints;
  phase const timed{"hints"};
  job.start_afresh();
  auto const start = std::chrono::steady_clock::now();
  bool const spread = !job.g.info.directed && detail::degrees_alike(job);
  for_each_item<32>(x, job.g.info.vertices, detail::find_hints<Id>{job.in_view<Id>(), job.offsets(), per_vertex, spread, hints.data()},
                    access_mode::aligned, true);
  x.wait();
  job.model.take();
  job.took(fmt::format("{} best neighbours of every vertex", per_vertex), hints.bytes(),
           std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  return hints;
}

}  // namespace garner
