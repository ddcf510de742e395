// Weak connected components over edges that lie far, in two ways: Afforest (Sutton, Ben-Nun, Barak, IPDPS 2018), and label propagation as
// in EMOGI (PVLDB 14(2) 2020). What it gives: for every vertex the smallest internal id of its component, so both give the same bits.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/executor.hpp"
#include "garner/components.hpp"
#include "graph/graph.hpp"

namespace garner {

struct job_setting;

// One graph, as many runs as one likes: the state is made once. Throws errc::usage where options do not go together, errc::memory where
// the state does not fit. The graph must outlive the job, its edges must lie in the tier that the options say.
class components_job {
 public:
  components_job(graph const& g, components_options const& options);
  ~components_job();
  components_job(components_job&&) noexcept;

  components_run run();
  job_setting const& setting() const;   // what is kept near, and what it took to make
  std::vector<std::uint64_t> labels();  // of the last run: internal ids, by internal id

  static void require_runnable(std::string const& name, graph_info const& info, components_options const& options);  // as bfs_job's
  static std::uint64_t state_bytes(graph_info const& info, components_options const& options);                       // near memory

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
  double prepare_ms_ = 0;  // until the first run
};

// The labels as the user's ids, by internal id: of each component the smallest.
std::vector<std::uint64_t> smallest_ids(graph const& g, std::vector<std::uint64_t> labels);

// What linking the first `most` neighbours of every vertex looks at, and asks for in closed form: a lane a vertex, the lanes of a warp at
// neighbouring vertices, each holding its last sector.
struct first_reads {
  std::uint64_t vertices = 0, edges = 0;
  traffic link;
};
first_reads measure_first_reads(executor& x, graph_info const& info, std::uint64_t const* offsets, std::uint64_t most);

}  // namespace garner
