// Shortest paths from one source over edges and weights outside GPU memory: Bellman-Ford with active flags as in the paper's program
// (chapter 2.4 of the dissertation; EMOGI, PVLDB 14(2) 2020), or near and far piles (Davidson et al., IPDPS 2014).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/executor.hpp"
#include "graph/graph.hpp"
#include "traverse/asked.hpp"

namespace garner {

struct job_setting;

// One graph, many sources, as bfs_job. The constructor reads all weights once. errc::input names an edge whose weight is negative or NaN,
// or reports missing weights, or f32 weights so large that a path could sum to infinity.
class sssp_job {
 public:
  sssp_job(graph const& g, sssp_asked const& options);
  ~sssp_job();
  sssp_job(sssp_job&&) noexcept;

  job_setting const& setting() const;  // the device cache, and the cost of building it
  sssp_run run(std::uint64_t source);  // the user's id; errc::input if the vertex does not exist

  // Results of the last run, by internal id. Use the function for the graph's type of weight; the other one throws errc::usage.
  std::vector<std::uint64_t> distances();  // ~0 if unreached
  std::vector<float> real_distances();     // infinity if unreached
  // The predecessor on some shortest path; the source is its own; ~0 if unreached. Computed by the certificate, with one more read of the
  // edges.
  std::vector<std::uint64_t> parents();

  double delta() const;                        // of near_far: as set, or its initial value
  static bool joins_lists(sssp_asked const&);  // as set or chosen
  static void require_runnable(std::string const& name, graph_info const& info, sssp_asked const& options);  // see bfs_job
  static std::uint64_t state_bytes(graph_info const& info, sssp_asked const& options);                       // local memory

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
  double prepare_ms_ = 0;  // reported by the first run
};

}  // namespace garner
