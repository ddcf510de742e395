// Hints: of each vertex the few in-neighbours of highest degree, near the place that runs. They answer most of what is asked of the lists
// of a graph with hubs (who of my neighbours was reached; who stands in the largest component), so those lists are not read at all.
// Invariant: hint k of v is an in-neighbour of v, or all ones where v has no more than k; of equal degrees the smallest id comes first.
// Cost: one read of the edges, once a job; 4 or 8 bytes a hint.
#pragma once
#include <chrono>
#include <cstdint>

#include "core/exec.hpp"
#include "core/fail.hpp"
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
  Id* hints;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t v) const {
    best_few mine;
    t.each(in.list(v), [&](Id u) {
      std::uint64_t const degree = out_offsets[u + 1] - out_offsets[u];  // at least 1; ids are below 2^32 (see build)
      mine.take(smaller(degree, std::uint64_t{0xffffffff}) << 32 | (0xffffffffu - static_cast<std::uint32_t>(u)));
    });
    best_few const best = t.sum_of_lanes(mine);
    t.once([&] {
      for (std::uint32_t k = 0; k < per_vertex; ++k) {
        std::uint64_t const key = k == 0 ? best.key[0] : k == 1 ? best.key[1] : k == 2 ? best.key[2] : best.key[3];
        hints[v * per_vertex + k] = key ? static_cast<Id>(0xffffffffu - static_cast<std::uint32_t>(key)) : static_cast<Id>(~Id{0});
      }
    });
  }
};

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
  for_each_item<32>(x, job.g.info.vertices, detail::find_hints<Id>{job.in_view<Id>(), job.offsets(), per_vertex, hints.data()},
                    access_mode::aligned, true);
  x.wait();
  job.model.take();
  job.took(fmt::format("{} best neighbours of every vertex", per_vertex), hints.bytes(),
           std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  return hints;
}

}  // namespace garner
