// Public API for algorithms: converts results to the order of the user's ids.
#include "garner/algorithms.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/thread_pool.hpp"
#include "far/matrix.hpp"
#include "garner/memory.hpp"
#include "graph/handle.hpp"
#include "graph/transpose.hpp"
#include "traverse/bfs.hpp"
#include "traverse/components.hpp"
#include "traverse/one_or_all.hpp"
#include "traverse/pagerank.hpp"
#include "traverse/spread.hpp"
#include "traverse/sssp.hpp"

namespace garner {

namespace {

template <class T>
std::vector<T> by_ids(graph const& g, std::vector<T> values) {
  if (g.info.order == vertex_order::natural) return values;
  std::vector<T> sorted(values.size());
  shared_pool().run(values.size(), 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t r = begin; r < end; ++r) sorted[r] = values[g.at_rank(r)];
  });
  return sorted;
}

// Vertices as user ids.
std::vector<std::uint64_t> users(graph const& g, std::vector<std::uint64_t> vertices) {
  if (g.ids.empty() && g.info.id_base == 0) return vertices;
  shared_pool().run(vertices.size(), 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t v = begin; v < end; ++v)
      if (vertices[v] != no_vertex) vertices[v] = g.user_id(vertices[v]);
  });
  return vertices;
}

// Verifies that the edges are in the tier that the options name; by default the algorithm reads them in place.
template <class Options>
asked_of<Options> resolved(graph const& g, Options const& options) {
  asked_of<Options> o(options);
  if (!std::is_same_v<Options, components_options>) require_out_edges(g.name, g.info);
  if (g.in_file && !o.edges) o.edges = tier::file;
  if constexpr (requires { o.devices; }) {
    at_one_place(o);
    // One reads the edges where they lie; shards may copy them to their devices.
    if (o.devices.size() > 1 && o.edges.value_or(tier::host) == tier::host) {
      require_runnable(g.name, g.info, o);
      require_peers(o.devices);
      for (execution_device const where : o.devices) require_lists_for(g, where);
      asked_of<Options> here = o;
      here.edges = tier::host;
      std::uint64_t const lists = g.out.targets.bytes() + g.out.packed_targets.words.bytes(),
                          room = o.devices[0].kind == device_kind::cuda ? most_on_device(o.devices[0].index) : unlimited_bytes;
      if (take_first_alone(g.info, lists, {}, here, room)) o = here;
    }
    if (!o.devices.empty()) return o;  // shards choose their own tiers
  }
  if (o.edges) o.access = access_in(*o.edges, o.access);
  memory_block const& targets = g.out.targets;
  require_readable_at(g.name, targets, o.device);
  if (o.device.kind != device_kind::cuda || targets.bytes() == 0) return o;
  if (!o.edges) o.edges = targets.where();
  else if (*o.edges != targets.where())
    fail(errc::usage, "{}: its edges lie in tier {}, not {}; leave `edges` unset, or to_device() the graph to that tier", g.name,
         to_string(targets.where()), to_string(*o.edges));
  o.access = access_in(*o.edges, o.access);
  require_combination(o.device, *o.edges, o.access);
  return o;
}

// The highest of `ranks`; id(k) is the id that belongs to the k-th.
template <class IdOf>
std::vector<ranked_vertex> highest(std::vector<float> const& ranks, std::size_t count, IdOf const& id) {
  std::vector<std::uint64_t> order(ranks.size());
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  auto const top = order.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.size()));
  std::partial_sort(order.begin(), top, order.end(),
                    [&](std::uint64_t a, std::uint64_t b) { return ranks[a] != ranks[b] ? ranks[a] > ranks[b] : id(a) < id(b); });
  std::vector<ranked_vertex> all;
  for (auto k = order.begin(); k != top; ++k) all.push_back({id(*k), ranks[*k]});
  return all;
}

}  // namespace

struct bfs_solver::impl {
  graph const& g;
  bfs_job job;
};
bfs_solver::bfs_solver(graph_handle const& g, bfs_options const& o)
    : impl_(as_error([&] {
        return std::unique_ptr<impl>(new impl{graph_access::of(g), bfs_job(graph_access::of(g), resolved(graph_access::of(g), o))});
      })) {}
bfs_solver::~bfs_solver() = default;
bfs_solver::bfs_solver(bfs_solver&&) noexcept = default;
bfs_run bfs_solver::run(std::uint64_t source) {
  return as_error([&] { return impl_->job.run(source); });
}
std::vector<std::uint32_t> bfs_solver::depths() {
  return as_error([&] { return by_ids(impl_->g, impl_->job.depths()); });
}
std::vector<std::uint64_t> bfs_solver::parents() {
  return as_error([&] { return by_ids(impl_->g, users(impl_->g, impl_->job.parents())); });
}
bfs_result bfs(graph_handle const& g, std::uint64_t source, bfs_options const& o) {
  bfs_solver solver(g, o);
  bfs_result r;
  r.run = solver.run(source);
  r.depth = solver.depths();
  r.parent = solver.parents();
  return r;
}
std::vector<std::uint64_t> pick_sources(graph const& g, std::uint64_t count, std::uint64_t seed) {
  std::vector<std::uint64_t> sources;
  if (g.info.edges == 0) return sources;
  std::uint64_t const* const offsets = g.out.offsets.data();
  std::uint64_t const n = g.info.vertices;
  if (count > (1u << 24)) fail(errc::usage, "{} sources: use 2^24 or fewer", count);
  // Indexed by user rank, so that a reordered graph has the same sources.
  std::vector<std::uint64_t> arcs_before;
  for (std::uint64_t i = 0; sources.size() < count; ++i) {
    if (i % 4096 == 0) check_interrupted();
    // Tries random vertices. After many misses (few vertices have edges) it takes the source of a random edge.
    std::uint64_t v = g.at_rank(random_bits(seed, 7, i) % n);
    if (i >= 64 * (count + 1)) {
      std::uint64_t const* first = offsets;
      if (g.info.order != vertex_order::natural) {
        for (std::uint64_t r = arcs_before.size(), sum = 0; r <= n; ++r) {
          arcs_before.push_back(sum);
          if (r < n) sum += offsets[g.at_rank(r) + 1] - offsets[g.at_rank(r)];
        }
        first = arcs_before.data();
      }
      v = g.at_rank(static_cast<std::uint64_t>(std::upper_bound(first, first + n + 1, random_bits(seed, 8, i) % g.info.edges) - first) - 1);
    }
    if (offsets[v] != offsets[v + 1]) sources.push_back(g.user_id(v));
  }
  return sources;
}

std::vector<std::uint64_t> pick_sources(graph_handle const& g, std::uint64_t count, std::uint64_t seed) {
  return as_error([&] { return pick_sources(graph_access::of(g), count, seed); });
}

struct sssp_solver::impl {
  graph const& g;
  sssp_job job;
  bool real;
};
sssp_solver::sssp_solver(graph_handle const& g, sssp_options const& o)
    : impl_(as_error([&] {
        return std::unique_ptr<impl>(new impl{graph_access::of(g), sssp_job(graph_access::of(g), resolved(graph_access::of(g), o)),
                                              g.info().weights == weight_kind::f32});
      })) {}
sssp_solver::~sssp_solver() = default;
sssp_solver::sssp_solver(sssp_solver&&) noexcept = default;
sssp_run sssp_solver::run(std::uint64_t source) {
  return as_error([&] { return impl_->job.run(source); });
}
std::vector<std::uint64_t> sssp_solver::distances() {
  if (impl_->real) return {};
  return as_error([&] { return by_ids(impl_->g, impl_->job.distances()); });
}
std::vector<float> sssp_solver::real_distances() {
  if (!impl_->real) return {};
  return as_error([&] { return by_ids(impl_->g, impl_->job.real_distances()); });
}
std::vector<std::uint64_t> sssp_solver::parents() {
  return as_error([&] { return by_ids(impl_->g, users(impl_->g, impl_->job.parents())); });
}
sssp_result sssp(graph_handle const& g, std::uint64_t source, sssp_options const& o) {
  sssp_solver solver(g, o);
  sssp_result r;
  r.run = solver.run(source);
  r.distance = solver.distances();
  r.real_distance = solver.real_distances();
  return r;
}

std::vector<std::uint64_t> smallest_ids(graph const& g, std::vector<std::uint64_t> labels) {
  std::uint64_t const n = labels.size(), grain = 1u << 16;
  // The smallest internal id has the smallest user id, unless the graph is reordered.
  std::vector<std::uint64_t> name(g.info.order == vertex_order::natural ? 0 : n, ~std::uint64_t{0});
  if (!name.empty())
    shared_pool().run(n, grain, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t v = begin; v < end; ++v)
        if (std::uint64_t const id = g.user_id(v); id < atomic_load(&name[labels[v]])) atomic_min(&name[labels[v]], id);
    });
  shared_pool().run(n, grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t v = begin; v < end; ++v) labels[v] = name.empty() ? g.user_id(labels[v]) : name[labels[v]];
  });
  return labels;
}

struct components_solver::impl {
  graph const& g;
  components_job job;
};
components_solver::components_solver(graph_handle const& g, components_options const& o)
    : impl_(as_error([&] {
        return std::unique_ptr<impl>(new impl{graph_access::of(g), components_job(graph_access::of(g), resolved(graph_access::of(g), o))});
      })) {}
components_solver::~components_solver() = default;
components_solver::components_solver(components_solver&&) noexcept = default;
components_run components_solver::run() {
  return as_error([&] { return impl_->job.run(); });
}
std::vector<std::uint64_t> components_solver::labels() {
  return as_error([&] { return by_ids(impl_->g, smallest_ids(impl_->g, impl_->job.labels())); });
}
components_result components(graph_handle const& g, components_options const& o) {
  components_solver solver(g, o);
  components_result r;
  r.run = solver.run();
  r.label = solver.labels();
  return r;
}

std::vector<float> personal_start(graph const& g, pagerank_options const& options) {
  std::vector<double> weight(g.info.vertices);
  double total = 0;
  for (auto const& [user, w] : options.personalization) {
    if (!(w >= 0) || !std::isfinite(w)) fail(errc::input, "personal weight {} of vertex {}: use a number from 0", w, user);
    weight[g.internal_id(user)] += w;
    total += w;
  }
  if (!std::isfinite(total)) fail(errc::input, "personal weights sum to {}: use smaller ones", total);
  if (total == 0) fail(errc::input, "personal weights are all 0: use one above 0");
  std::vector<float> share(weight.size());
  std::transform(weight.begin(), weight.end(), share.begin(), [&](double w) { return static_cast<float>(w / total); });
  return share;
}

struct pagerank_solver::impl {
  graph const& g;
  pagerank_job job;
};
pagerank_solver::pagerank_solver(graph_handle const& g, pagerank_options const& o)
    : impl_(as_error([&] {
        return std::unique_ptr<impl>(new impl{graph_access::of(g), pagerank_job(graph_access::of(g), resolved(graph_access::of(g), o))});
      })) {}
pagerank_solver::~pagerank_solver() = default;
pagerank_solver::pagerank_solver(pagerank_solver&&) noexcept = default;
pagerank_run pagerank_solver::run() {
  return as_error([&] { return impl_->job.run(); });
}
std::vector<float> pagerank_solver::ranks() {
  return as_error([&] { return by_ids(impl_->g, impl_->job.ranks()); });
}
pagerank_result pagerank(graph_handle const& g, pagerank_options const& o) {
  pagerank_solver solver(g, o);
  pagerank_result r;
  r.run = solver.run();
  r.rank = solver.ranks();
  return r;
}

std::vector<ranked_vertex> highest_ranks(graph const& g, std::vector<float> const& ranks, std::size_t count) {
  return highest(ranks, count, [&](std::uint64_t v) { return g.user_id(v); });
}
std::vector<ranked_vertex> highest_ranks(graph_handle const& handle, pagerank_result const& result, std::size_t count) {
  graph const& g = graph_access::of(handle);
  if (result.rank.size() != g.info.vertices)
    fail(errc::usage, "{} ranks for {} vertices; these are of another graph", result.rank.size(), g.info.vertices);
  return as_error([&] { return highest(result.rank, count, [&](std::uint64_t k) { return g.user_id(g.at_rank(k)); }); });
}

}  // namespace garner
