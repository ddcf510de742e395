// Breadth-first search, level by level, over edges that lie far (chapter 2.4 of the dissertation; EMOGI, PVLDB 14(2) 2020).
// What it gives: the depth of every vertex, and a parent on some shortest path.
#pragma once
#include <memory>
#include <vector>

#include "core/executor.hpp"
#include "garner/traverse.hpp"
#include "graph/graph.hpp"

namespace garner {

// One graph, many sources: the state (a few bytes a vertex, near the place that runs) is made once. Throws errc::usage where access, tier
// and place do not go together, errc::memory where the state does not fit. The graph must outlive the job, its edges must lie in the tier
// that the options say.
class bfs_job {
 public:
  bfs_job(graph const& g, bfs_options const& options);
  ~bfs_job();
  bfs_job(bfs_job&&) noexcept;

  bfs_run run(std::uint64_t source);  // the user's id; errc::input when there is no such vertex

  double hints_ms() const;  // what making the hints took, once; 0 without

  // Of the last run, by internal id.
  std::vector<std::uint32_t> depths();
  std::vector<std::uint64_t> parents();  // internal ids; the source is its own; ~0 where unreached

  static std::uint64_t state_bytes(graph_info const& info, bfs_options const& options);  // near memory

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

// `count` sources among the vertices with out-edges, a pure function of the seed: user ids, may repeat. Empty if no vertex has edges.
std::vector<std::uint64_t> pick_sources(graph const& g, std::uint64_t count, std::uint64_t seed);

}  // namespace garner
