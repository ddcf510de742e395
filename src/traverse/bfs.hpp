// Breadth-first search, level by level, over edges outside GPU memory (chapter 2.4 of the dissertation; EMOGI, PVLDB 14(2) 2020). Result:
// the depth of every vertex, and a parent on some shortest path.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/executor.hpp"
#include "graph/graph.hpp"
#include "traverse/asked.hpp"

namespace garner {

struct job_setting;

// When the search changes direction: bottom-up once the frontier's edges exceed a fraction of the unexplored ones, top-down again when the
// frontier is small. Measured on an H200: switching at 1 % instead of 1/15 is 16 times as slow on a uniform graph. If adjacency is remote
// and a level is long (a millisecond of link time), the requests of both directions are predicted and the cheaper one runs. A frontier of
// few hubs has enough edges to switch, although hardly any vertex has another neighbor in it (Kronecker 26: 28 ms bottom-up, 11 ms
// top-down).
struct bfs_turns {
  static constexpr std::uint64_t over_above = 15, back_below = 24;
  template <class N>
  static bool turns(N frontier_arcs, N arcs_left) {
    return frontier_arcs > arcs_left / over_above;
  }
  // With adjacency in device memory, top-down is cheaper relative to bottom-up: break-even at 290 M of 1.9 G edges (an H200).
  static constexpr std::uint64_t over_above_near = 6;
  static bool turns_near(std::uint64_t frontier_arcs, std::uint64_t arcs_left) { return frontier_arcs > arcs_left / over_above_near; }
  template <class N>
  static bool stays(N frontier_vertices, N vertices) {
    return frontier_vertices > vertices / back_below;
  }
  // Sectors that a bottom-up level requests at once, if a fraction p of the edges leads into the frontier. A request of four sectors costs
  // the link no more than one of a single sector, so requesting more saves a later request.
  static std::uint32_t sectors_at_once(double p, std::uint32_t id_bytes, bool packed) {
    return packed || p > 0.3 ? 1 : p > 0.12 ? 2 : 16 / id_bytes;
  }
};

// One graph, many sources: the state (a few bytes per vertex, in local memory of the device) is allocated once. Throws errc::usage if
// access, tier and device are incompatible, errc::memory if the state does not fit. The graph must outlive this object, and its edges must
// be in the tier that the options specify.
class bfs_job {
 public:
  bfs_job(graph const& g, bfs_asked const& options);
  ~bfs_job();
  bfs_job(bfs_job&&) noexcept;

  bfs_run run(std::uint64_t source);  // the user's id; errc::input if the vertex does not exist

  job_setting const& setting() const;      // the device cache, and the cost of building it
  std::uint32_t cached_neighbors() const;  // per vertex

  // Results of the last run, by internal id.
  std::vector<std::uint32_t> depths();
  std::vector<std::uint64_t> parents();  // internal ids; the source is its own; ~0 if unreached

  // Validates options before the graph, `name`, is loaded. Throws errc::usage if options are incompatible, errc::input if the graph lacks
  // what they require.
  static void require_runnable(std::string const& name, graph_info const& info, bfs_asked const& options);
  static std::uint64_t state_bytes(graph_info const& info, bfs_asked const& options);  // local memory, without the device cache
  static bfs_variant default_variant(graph_info const& info, bfs_asked const& options);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
  double prepare_ms_ = 0;  // reported by the first run
};

// `count` sources among the vertices with out-edges, a pure function of the seed: user ids, may repeat. Empty if the graph has zero edges.
std::vector<std::uint64_t> pick_sources(graph const& g, std::uint64_t count, std::uint64_t seed);

}  // namespace garner
