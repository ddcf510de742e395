#include "traverse/one_or_all.hpp"

#include <algorithm>
#include <cmath>

#include "shard/decide.hpp"
#include "traverse/bfs.hpp"
#include "traverse/job.hpp"
#include "traverse/pagerank.hpp"

namespace garner {

namespace {

// Measured on H200s, undirected Kronecker graphs (docs/benchmarks): [27] spread-h200-x2.json, [27, 0] spread-nothing-kept-h200-x2.json,
// [26] far-near-h200.json, [20] growth-h200.json; the number is the scale.
constexpr double start_ms = 0.3;                      // [20]: of a run of any size
constexpr double meeting_ms = 0.35;                   // [27]: per round; what BFS and components take beyond their share and their bytes
constexpr double of_links = 0.95;                     // [27]: BFS by levels over two links is 1.85 times as fast
constexpr double link_bytes_a_ms = 47e6;              // [27]: PageRank, 76.5 GB in 1,619 ms
constexpr double linked_vertex_ms = 15.9 / 134e6;     // [27]: components, near
constexpr double far_vertex_ms = 760 / 134e6;         // [27, 0]: components, first neighbors out of host memory
constexpr double found_vertex_ms = 5.7 / 67e6;        // [26]: BFS, near
constexpr double found_vertex_bytes = 261e6 / 134e6;  // [27]: BFS that turns, over the link
constexpr double pulled_edge_ms = 39.1 / 2.1e9;       // [26]: PageRank, near
constexpr double by_degree_edge_ms = 22 / 2.1e9;      // the same from the sixth iteration on
constexpr double rounds_of_components = 8;            // [27]: exchanges of linked roots, and the steps around them

// A graph of few edges per vertex, as a road network, has a far longer diameter than one that branches.
double levels_of(graph_info const& info, bfs_asked const& o) {
  double const n = std::max(2.0, static_cast<double>(info.vertices)), degree = static_cast<double>(info.edges) / n;
  double const levels = degree < 4 ? std::sqrt(n) : 3 + std::log(n) / std::log(degree);
  return o.max_depth ? std::min(levels, static_cast<double>(*o.max_depth) + 1) : levels;
}

struct work {
  double ms = 0, rounds = 1, exchanged = 0;  // on one device; between shards, by each of them
};

}  // namespace

bool may_take_first(job_options const& o) {
  std::vector<execution_device> const places = shards_of(o);
  return std::any_of(places.begin(), places.end(),
                     [&](execution_device p) { return p.kind != device_kind::cpu && p.index != places[0].index; });
}

spread_prediction predict_spread(graph_info const& info, std::uint64_t list_bytes, job_options const& o, tier one, tier all) {
  double const n = static_cast<double>(info.vertices), m = static_cast<double>(info.edges),
               shards = std::max<double>(1, static_cast<double>(shards_of(o).size()));
  std::uint64_t const cache = std::visit([&](auto const& job) { return job.graph_cache.value_or(default_device_budget(info)); }, o);
  bool const given = std::visit([](auto const& job) { return job.graph_cache.has_value(); }, o);  // to each shard
  auto const on = [&](tier edges, bool alone) {
    bool const near = edges == tier::device;
    double const kept = static_cast<double>(cache) * (alone || !given ? 1 : shards),
                 far = std::max(0.0, static_cast<double>(list_bytes) - kept) / link_bytes_a_ms,
                 lists = near ? 0 : std::max(m * pulled_edge_ms, far);
    work w;
    if (auto const* const bfs = std::get_if<bfs_asked>(&o)) {
      bool const turns = bfs->variant.value_or(bfs_job::default_variant(info, *bfs)) == bfs_variant::direction;
      w.ms = n * found_vertex_ms + (turns ? (near ? 0 : n * found_vertex_bytes / link_bytes_a_ms) : near ? m * pulled_edge_ms : lists);
      w.rounds = levels_of(info, *bfs);
      w.exchanged = w.rounds * n / 8 * 2;  // two bits per vertex: reached, and next
    } else if (std::holds_alternative<components_asked>(o)) {
      bool const cached = static_cast<double>(cache) >= n * 4;  // a neighbor of each vertex
      w.ms = n * (near || cached || info.directed ? linked_vertex_ms : far_vertex_ms) + (info.directed ? lists : 0);
      w.rounds = rounds_of_components;
      w.exchanged = w.rounds * n / 8;
    } else if (auto const* const ranks = std::get_if<pagerank_asked>(&o)) {
      pagerank_asked here = *ranks;
      here.devices.clear(), here.edges = edges;
      bool const by_degree = alone && near && pagerank_job::may_copy_by_degree(info, here);
      w.ms = near ? m * (by_degree ? by_degree_edge_ms : pulled_edge_ms) : lists;
      w.exchanged = n * 4;
    }
    return w;
  };
  work const single = on(one, true), spread = on(all, false);
  double const exchanged = spread.exchanged * (shards - 1) / shards / (h200_rates.link_gbs * 1e6);
  return {start_ms + single.ms, start_ms + spread.ms / shards / of_links + exchanged + spread.rounds * meeting_ms};
}

}  // namespace garner
