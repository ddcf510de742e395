// Reorders contributions by degree, so that the most frequently read ones are adjacent. Each vertex gets a position, highest degree first,
// equal within a factor of two. A copy of the adjacency has positions as targets. Reduction still follows each list's order, so ranks are
// bit-identical. Building the copy reads a position and writes an entry per edge: 1.3 iterations. With it an iteration takes a quarter less
// time, so it pays from the sixth on.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>

#include "core/clock.hpp"
#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/primitives.hpp"
#include "core/stats.hpp"
#include "memory/budget.hpp"
#include "traverse/cached_neighbors.hpp"
#include "traverse/job.hpp"
#include "traverse/pagerank.hpp"

namespace garner {

namespace detail {

constexpr std::uint64_t least_iterations_by_degree = 6;
// Peak during the build: positions, plus the copy, or before it the keys to sort.
inline std::uint64_t bytes_by_degree(graph_info const& info) {
  return info.vertices * 4 + std::max(info.edges * 4, info.vertices * 2 * (8 + 4));
}
// Upper bound on iterations: a step changes the ranks by at most damping times the previous change, the first by 2.
inline std::uint64_t iterations_at_most(pagerank_asked const& o) {
  if (o.iterations) return *o.iterations;
  double const tolerance = o.tolerance.value_or(1e-4);
  if (tolerance >= 2 || o.damping <= 0) return 1;
  return static_cast<std::uint64_t>(std::min(1000.0, 1 + std::ceil(std::log(tolerance / 2) / std::log(o.damping))));
}

struct order_key {
  std::uint64_t const* offsets;
  std::uint64_t* key;
  std::uint32_t* vertex;
  static constexpr int bits = 7;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t v) const {
    std::uint64_t const degree = offsets[v + 1] - offsets[v];
    std::uint64_t doublings = 0;
    for (std::uint64_t d = degree; d; d >>= 1) ++doublings;
    key[v] = 64 - doublings;
    vertex[v] = static_cast<std::uint32_t>(v);
  }
};
struct put_in_place {
  std::uint32_t const* vertex;
  std::uint32_t* place;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    place[vertex[i]] = static_cast<std::uint32_t>(i);
  }
};
struct copy_as_places {
  arc_array<std::uint32_t> targets;
  std::uint64_t edges;
  std::uint32_t const* place;
  std::uint32_t* to;
  static constexpr std::uint64_t block = 8192;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    t.each(known<false>(targets.part(b * block, smaller(edges, (b + 1) * block))),
           [&](std::uint32_t u, std::uint64_t i) { to[i] = place[u]; });
  }
};

}  // namespace detail

// Whether to copy, for a run on one device.
inline bool copies_by_degree(job_setting& job, pagerank_asked const& o) {
  graph_info const& info = job.g.info;
  executor& x = job.x;
  if (o.by_degree.value_or(false) && (job.windows || (x.on_device() && !job.all_near())))
    fail(errc::usage, "{}: by_degree copies lists in the device's memory, and these lie in tier {}; leave it out, or use tier device",
         job.g.name, to_string(job.edges));
  if (o.by_degree) return *o.by_degree;
  if (!job.all_near() || !pagerank_job::may_copy_by_degree(info, o) || info.vertices * 4 <= device::describe(x.device()).l2_bytes)
    return false;
  // Degrees are first known here. Leaves a margin, as in the choice of a tier.
  if (detail::degrees_alike(job)) return false;
  std::uint64_t const room = left_on_device(x.device());
  return detail::bytes_by_degree(info) <= room - room / 16;
}

struct lists_by_degree {
  buffer<std::uint32_t> place, places;  // of each vertex, and of each target; empty: no copy
};
// Makes the copy, and `in` reads it from then on.
inline lists_by_degree copy_by_degree(job_setting& job, csr_view<std::uint32_t>& in) {
  phase const timed{"pagerank.by degree"};
  auto const start = steady::now();
  executor& x = job.x;
  std::uint64_t const n = job.g.info.vertices, edges = job.g.info.edges;
  lists_by_degree made{{x.near(), n, x.device(), "places"}, {}};
  {
    buffer<std::uint64_t> key(x.near(), n, x.device(), "keys"), spare_key(x.near(), n, x.device(), "keys");
    buffer<std::uint32_t> vertex(x.near(), n, x.device(), "keys"), spare_vertex(x.near(), n, x.device(), "keys");
    for_each_item<1>(x, n, detail::order_key{job.offsets(), key.data(), vertex.data()});
    std::span<std::uint32_t> sorted{vertex.data(), n};
    sort_by_key(x, {key.data(), n}, {spare_key.data(), n}, sorted, {spare_vertex.data(), n}, detail::order_key::bits);
    for_each_item<1>(x, n, detail::put_in_place{sorted.data(), made.place.data()});
    x.wait();
  }
  made.places = buffer<std::uint32_t>(x.near(), edges, x.device(), "lists by degree");
  using copy = detail::copy_as_places;
  for_each_item<32>(x, (edges + copy::block - 1) / copy::block, copy{in.targets, edges, made.place.data(), made.places.data()});
  x.wait();
  in.targets = {};
  in.targets.data = made.places.data();
  job.device_cache.push_back({"lists, their targets by degree", made.place.bytes() + made.places.bytes(), ms_since(start)});
  return made;
}

}  // namespace garner
