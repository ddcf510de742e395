// Shortest paths from one source over edges and weights that lie far: Bellman-Ford with active flags as the paper's program (chapter 2.4 of
// the dissertation; EMOGI, PVLDB 14(2) 2020), or near and far piles (Davidson et al., IPDPS 2014).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/executor.hpp"
#include "garner/sssp.hpp"
#include "graph/graph.hpp"

namespace garner {

struct job_setting;

// One graph, many sources, as bfs_job. Reads all weights once when it is made: errc::input names an edge whose weight is negative or no
// number, says when there are no weights, or when f32 weights are so large that a path could add up to infinity.
class sssp_job {
 public:
  sssp_job(graph const& g, sssp_options const& options);
  ~sssp_job();
  sssp_job(sssp_job&&) noexcept;

  job_setting const& setting() const;  // what is kept near, and what it took to make
  sssp_run run(std::uint64_t source);  // the user's id; errc::input when there is no such vertex

  // Of the last run, by internal id. Distances are those of the graph's kind of weight, the other kind is errc::usage.
  std::vector<std::uint64_t> distances();  // ~0 where unreached
  std::vector<float> real_distances();     // infinity where unreached
  // A vertex before it on some shortest path; the source is its own; ~0 where unreached. Found by the certificate, one more read of the
  // edges.
  std::vector<std::uint64_t> parents();

  double delta() const;                          // of near_far, as given, or what it starts at
  static bool joins_lists(sssp_options const&);  // as given or chosen
  static void require_runnable(std::string const& name, graph_info const& info, sssp_options const& options);  // as bfs_job's
  static std::uint64_t state_bytes(graph_info const& info, sssp_options const& options);                       // near memory

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
  double prepare_ms_ = 0;  // until the first run
};

}  // namespace garner
