// Breadth-first search, level by level, over edges that lie far (chapter 2.4 of the dissertation; EMOGI, PVLDB 14(2) 2020).
// What it gives: the depth of every vertex, and a parent on some shortest path.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/executor.hpp"
#include "garner/traverse.hpp"
#include "graph/graph.hpp"

namespace garner {

struct job_setting;

// When a search turns: bottom-up once the frontier's arcs outweigh a part of those not looked at yet, back when it is small again.
// Measured on an H200: turning at 1 % instead of 1/15 costs 16 times as much on a uniform graph.
// Where lists are far and a level is long (as long as the link needs a millisecond for), what each way would ask for is told beforehand,
// and the shorter one is taken: a frontier of few hubs has so many arcs that it would turn, and nearly nobody has one of these few beside
// them (Kronecker 26: 28 ms bottom-up, 11 top-down).
struct bfs_turns {
  static constexpr std::uint64_t over_above = 15, back_below = 24;
  template <class N>
  static bool turns(N frontier_arcs, N arcs_left) {
    return frontier_arcs > arcs_left / over_above;
  }
  // Where lists are in the device's own memory, walking them costs less beside looking for parents: equal at 290 M of 1.9 G arcs (an H200).
  static constexpr std::uint64_t over_above_near = 6;
  static bool turns_near(std::uint64_t frontier_arcs, std::uint64_t arcs_left) { return frontier_arcs > arcs_left / over_above_near; }
  template <class N>
  static bool stays(N frontier_vertices, N vertices) {
    return frontier_vertices > vertices / back_below;
  }
  // Sectors of a list that a bottom-up level asks for at once, where one arc in 1 / p leads into the frontier: a request of four takes the
  // link's machinery no longer than one of one, so who would ask again asks for more.
  static std::uint32_t sectors_at_once(double p, std::uint32_t id_bytes, bool packed) {
    return packed || p > 0.3 ? 1 : p > 0.12 ? 2 : 16 / id_bytes;
  }
};

// One graph, many sources: the state (a few bytes a vertex, near the place that runs) is made once. Throws errc::usage where access, tier
// and place do not go together, errc::memory where the state does not fit. The graph must outlive the job, its edges must lie in the tier
// that the options say.
class bfs_job {
 public:
  bfs_job(graph const& g, bfs_options const& options);
  ~bfs_job();
  bfs_job(bfs_job&&) noexcept;

  bfs_run run(std::uint64_t source);  // the user's id; errc::input when there is no such vertex

  job_setting const& setting() const;       // what is kept near, and what it took to make
  std::uint32_t cached_neighbours() const;  // a vertex

  // Of the last run, by internal id.
  std::vector<std::uint32_t> depths();
  std::vector<std::uint64_t> parents();  // internal ids; the source is its own; ~0 where unreached

  // errc::usage where options do not go together, errc::input where the graph lacks what they ask for: all that can be said of a job
  // before its graph, `name`, is loaded.
  static void require_runnable(std::string const& name, graph_info const& info, bfs_options const& options);
  static std::uint64_t state_bytes(graph_info const& info, bfs_options const& options);  // near memory, without copies of far data
  static bfs_variant default_variant(graph_info const& info, bfs_options const& options);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
  double prepare_ms_ = 0;  // until the first run
};

std::string_view to_string(bfs_variant v);
bfs_variant parse_bfs_variant(std::string_view text);  // errc::usage names the variants

// `count` sources among the vertices with out-edges, a pure function of the seed: user ids, may repeat. Empty if no vertex has edges.
std::vector<std::uint64_t> pick_sources(graph const& g, std::uint64_t count, std::uint64_t seed);

}  // namespace garner
