// Cached neighbors: a few in-neighbors of each vertex, in local memory. They answer most queries of the adjacency (was one of my neighbors
// reached? is one in the largest component?), which then is not read at all. Selection: by highest degree, since in a graph with hubs most
// vertices have a hub as neighbor. If all degrees are similar, this rule would select the same few vertices for all, without benefit. In
// that case, in an undirected graph, cached neighbors are spread: they are sampled by a hash of the edge, and an edge serves one of its
// ends before the other, so that each vertex selects h others and is selected by h others on average. Invariant: each cached neighbor of v
// is an in-neighbor of v. Up to three are the best of all, best first; four, in a graph of up to 2^26 vertices, are the best of each
// residue class (graph/cached_neighbors_view.hpp). For equal degrees the smaller id wins. The selection is a pure function of the graph.
// Cost: one read of the edges, once per run setup; 4 bytes per cached neighbor, 12 for four.
#pragma once
#include <cstdint>
#include <optional>
#include <type_traits>

#include "core/clock.hpp"
#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/random.hpp"
#include "core/stats.hpp"
#include "graph/cached_neighbors_view.hpp"
#include "graph/graph.hpp"
#include "graph/large_graph.hpp"
#include "memory/buffer.hpp"
#include "traverse/job.hpp"
#include "traverse/spread.hpp"

namespace garner {

static_assert(most_cached_neighbors == cached_neighbors_view::most);

namespace detail {

// The best few of the values added, best first; larger is better, 0 is empty.
struct best_few {
  std::uint64_t key[most_cached_neighbors] = {};
  GARNER_HD void take(std::uint64_t k, std::uint32_t) {
    if (k <= key[3]) return;  // the common case
    for (int i = 0; i < 4; ++i) {
      std::uint64_t const high = larger(key[i], k);
      k = smaller(key[i], k);
      key[i] = high;
    }
  }
  GARNER_HD friend best_few operator+(best_few a, best_few b) {
    // The larger of a[k] and b[last - k] are the best of both, as a bitonic sequence: two steps sort it.
    static_assert(most_cached_neighbors == 4);
    std::uint64_t m[4];
    for (int k = 0; k < 4; ++k) m[k] = larger(a.key[k], b.key[3 - k]);
    best_few best;
    std::uint64_t const high0 = larger(m[0], m[2]), low0 = smaller(m[0], m[2]), high1 = larger(m[1], m[3]), low1 = smaller(m[1], m[3]);
    best.key[0] = larger(high0, high1), best.key[1] = smaller(high0, high1);
    best.key[2] = larger(low0, low1), best.key[3] = smaller(low0, low1);
    return best;
  }
};

// The best of each residue class.
struct best_of_each {
  std::uint64_t key[most_cached_neighbors] = {};
  GARNER_HD void take(std::uint64_t k, std::uint32_t id) {
    for (std::uint32_t i = 0; i < most_cached_neighbors; ++i)
      if (id % most_cached_neighbors == i && k > key[i]) key[i] = k;
  }
  GARNER_HD friend best_of_each operator+(best_of_each a, best_of_each b) {
    for (std::uint32_t i = 0; i < most_cached_neighbors; ++i) a.key[i] = larger(a.key[i], b.key[i]);
    return a;
  }
};

template <class Id, bool Narrow>
struct find_cached_neighbors {
  csr_view<Id> in;
  std::uint64_t const* out_offsets;
  std::uint32_t per_vertex;
  bool spread;
  std::uint32_t* cached_neighbors;
  std::uint64_t first = 0;  // vertex of the first list, if `in` and the result cover a part

  // The larger the better, at least 1.
  GARNER_HD std::uint64_t rank(std::uint64_t v, std::uint64_t u) const {
    if (!spread) return smaller(out_offsets[u + 1] - out_offsets[u], std::uint64_t{0xffffffff});
    std::uint64_t const drawn = edge_bits(u, v, 0);
    bool const mine = (drawn & 1) == (v < u ? 1 : 0);
    return (mine ? std::uint64_t{1} << 31 : 0) | (drawn >> 34 | 1);
  }
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t item) const {
    std::conditional_t<Narrow, best_of_each, best_few> mine;
    std::uint64_t const v = first + item;
    t.each(in.list(item), [&](Id wide) {
      auto const u = static_cast<std::uint32_t>(wide);  // graphs with cached neighbors have fewer than 2^32 vertices
      if (!Narrow || u / most_cached_neighbors != cached_neighbors_view::narrow_none) mine.take(rank(v, u) << 32 | (0xffffffffu - u), u);
    });
    auto const best = t.sum_of_lanes(mine);
    t.once([&] {
      std::uint32_t id[most_cached_neighbors];
      for (std::uint32_t k = 0; k < most_cached_neighbors; ++k)
        id[k] = best.key[k] ? 0xffffffffu - static_cast<std::uint32_t>(best.key[k]) : cached_neighbors_view::none;
      if constexpr (Narrow) {
        for (std::uint32_t& u : id) u = u == cached_neighbors_view::none ? cached_neighbors_view::narrow_none : u / most_cached_neighbors;
        std::uint32_t* const words = cached_neighbors + item * cached_neighbors_view::narrow_words;
        words[0] = id[0] | id[1] << 24, words[1] = id[1] >> 8 | id[2] << 16, words[2] = id[2] >> 16 | id[3] << 8;
      } else {
        for (std::uint32_t k = 0; k < most_cached_neighbors; ++k)
          if (k < per_vertex) cached_neighbors[item * per_vertex + k] = id[k];
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
      std::uint64_t const d = smaller(offsets[v + 1] - offsets[v], std::uint64_t{1} << 20);  // clamped, so that sums do not overflow
      return d * d;
    });
    t.once([&] { atomic_add(total, all); });
  }
};

// Whether the mean degree of a neighbor is less than twice that of a vertex. In a graph with hubs it is over a hundred times that.
inline bool are_alike(double sum_of_squares, double vertices, double arcs) { return sum_of_squares * vertices < 2 * arcs * arcs; }
inline bool degrees_alike(job_setting& job) {
  phase const timed{"cached neighbors.degrees"};
  buffer<std::uint64_t> total(job.x.near(), 1, job.x.device(), "counters");
  job.x.fill(total.data(), 0, total.bytes());
  std::uint64_t const n = job.g.info.vertices;
  for_each_item<32>(job.x, (n + sum_squares::block - 1) / sum_squares::block, sum_squares{job.offsets(), n, total.data()});
  return are_alike(static_cast<double>(job.x.read(total.data())), static_cast<double>(n), static_cast<double>(job.g.info.edges));
}
// Both the number of cached neighbors and the selection depend on it, so it is computed once per run setup.
inline bool spreads(job_setting& job) {
  if (!job.spreads_cached_neighbors) job.spreads_cached_neighbors = !job.g.info.directed && degrees_alike(job);
  return *job.spreads_cached_neighbors;
}

}  // namespace detail

inline std::uint64_t cached_neighbor_bytes(graph_info const& info, std::uint64_t per_vertex) {
  return cached_neighbors_view::words_of(info.vertices, per_vertex) * 4;
}

// How many per vertex fit the bytes; those stored in the file (`in_file` per vertex), if they fit.
inline std::uint32_t cached_neighbors_within(graph_info const& info, std::uint32_t in_file, std::uint64_t bytes) {
  if (info.vertices == 0 || info.vertices >= cached_neighbors_view::none) return 0;
  if (in_file && cached_neighbor_bytes(info, in_file) <= bytes) return in_file;
  std::uint32_t fit = most_cached_neighbors;
  while (fit && cached_neighbor_bytes(info, fit) > bytes) --fit;
  return fit;
}
// The same if `enough` would do, but the stored ones are cheaper than a read of the edges.
inline std::uint32_t cached_neighbors_within(graph_info const& info, std::uint32_t in_file, std::uint64_t bytes, std::uint32_t enough) {
  std::uint32_t const fit = cached_neighbors_within(info, in_file, bytes);
  return fit == in_file ? fit : std::min(fit, enough);
}

// Computes cached neighbors that save_graph writes with the graph. errc::input if a directed graph lacks in-edges. `or_as_degrees`: three
// (same size as four) if a search would choose three.
void keep_cached_neighbors(graph& g, execution_device where, std::uint32_t per_vertex, bool or_as_degrees = false);
// The number that a search of this graph would choose on a device by default, so that the stored ones are all usable; 0 if the device
// budget is too small for one.
std::uint32_t cached_neighbors_worth_keeping(graph_info const& info, packed_words const& words);

// Compression and cached neighbors of a graph that is written to a file, whole or in parts.
class packed_beside : public beside_lists {
 public:
  explicit packed_beside(pack_options const& options, execution_device where = {}) : options_(options), where_(where) {}
  std::uint32_t per_vertex(graph const& g, packed_words const& words) override;
  pack_report finish(graph& g) override;
  void make(graph const& g, std::uint64_t first, std::uint64_t count, std::uint64_t const* offsets, void const* targets,
            std::uint32_t* to) override;

 private:
  pack_options options_;
  execution_device where_;
  std::uint32_t per_vertex_ = 0;
  bool spread_ = false;
};

// Those stored in the file, now in host memory.
inline buffer<std::uint32_t> kept_cached_neighbors(job_setting& job) {
  buffer<std::uint32_t> cached_neighbors(job.x.near(), job.g.cached_neighbors.size(), job.x.device(), "cached_neighbors");
  auto const start = steady::now();
  job.x.copy(cached_neighbors.data(), job.g.cached_neighbors.data(), cached_neighbors.bytes());
  job.x.wait();
  job.took(fmt::format("{} best neighbors of every vertex, from the file", job.g.cached_per_vertex), cached_neighbors.bytes(),
           ms_since(start));
  return cached_neighbors;
}

// With adjacency in a file, only the stored ones are used: computing others would read all of it.
inline std::uint32_t cached_in_file(job_setting& job, std::optional<std::uint32_t> asked) {
  graph const& g = job.g;
  if (asked && *asked && *asked != g.cached_per_vertex)
    fail(errc::usage,
         "{}: {} cached neighbors per vertex are requested, and for edges that stay in a file there are those that it keeps, {}; leave "
         "the number open, or use 0",
         g.name, *asked, g.cached_per_vertex);
  if (asked.value_or(1) == 0 || (job.x.on_device() && cached_neighbor_bytes(g.info, g.cached_per_vertex) > job.left())) return 0;
  return g.cached_per_vertex;
}
// Whether they are read from host memory: with adjacency in a file, only a GPU makes a copy.
inline bool cached_lie_near(job_setting const& job) { return job.windows && !job.x.on_device(); }

// The default number. With hubs, the three best, best first, are worth more than the best of each class at the same size (Kronecker 26:
// 10.2 against 12.3 ms); spread cached neighbors are all equally good.
inline std::uint32_t default_cached_neighbors(job_setting& job) {
  graph_info const& info = job.g.info;
  std::uint32_t const fit = cached_neighbors_within(info, job.g.cached_per_vertex, job.left());
  if (job.at) return job.at->cached_neighbors(fit);
  bool const free_to_choose = fit != job.g.cached_per_vertex && cached_neighbors_view::is_narrow(info.vertices, fit);
  return free_to_choose && !detail::spreads(job) ? fit - 1 : fit;
}

// Computed now, or copied from the file; charged to the device cache.
template <class Id>
buffer<std::uint32_t> make_cached_neighbors(job_setting& job, std::uint32_t per_vertex) {
  graph_info const& info = job.g.info;
  if (per_vertex > most_cached_neighbors)
    fail(errc::usage, "{} cached neighbors per vertex: use 0 to {}", per_vertex, most_cached_neighbors);
  if (per_vertex && (job.at ? job.at->vertices() : info.vertices) >= cached_neighbors_view::none)
    fail(errc::usage, "{}: {} vertices; cached neighbors are made of fewer than 2^32 - 1; use none", job.g.name, info.vertices);
  executor& x = job.x;
  if (per_vertex && job.g.cached_per_vertex == per_vertex) return kept_cached_neighbors(job);
  buffer<std::uint32_t> cached_neighbors(x.near(), cached_neighbors_view::words_of(info.vertices, per_vertex), x.device(),
                                         "cached_neighbors");
  if (cached_neighbors.empty()) return cached_neighbors;
  phase const timed{"cached_neighbors"};
  job.start_afresh();
  auto const start = steady::now();
  bool const spread = detail::spreads(job);
  // For a shard's vertices. The degrees of their neighbors, possibly in other shards, are needed as well.
  placed_lists all;
  if (job.at) all = {x, job.at->whole(), job.at->whole().out, "offsets of all vertices"};
  auto const find = [&](auto narrow) {
    for_each_item<32>(
        x, info.vertices,
        detail::find_cached_neighbors<Id, decltype(narrow)::value>{job.in_view<Id>(), job.at ? all.offsets() : job.offsets(), per_vertex,
                                                                   spread, cached_neighbors.data(), job.at ? job.at->first() : 0},
        access_mode::aligned, true);
  };
  if (cached_neighbors_view::is_narrow(info.vertices, per_vertex)) find(std::true_type{});
  else find(std::false_type{});
  x.wait();
  job.model.take();
  std::uint32_t const kept = job.g.cached_per_vertex;
  job.took(fmt::format("{} best neighbors of every vertex{}", per_vertex,
                       kept ? fmt::format(" (not the {} of the file, {} bytes)", kept, cached_neighbor_bytes(info, kept)) : ""),
           cached_neighbors.bytes(), ms_since(start));
  return cached_neighbors;
}

}  // namespace garner
