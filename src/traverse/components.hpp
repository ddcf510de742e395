// Weakly connected components over edges outside GPU memory: Afforest (Sutton, Ben-Nun, Barak, IPDPS 2018), and label propagation as in
// EMOGI (PVLDB 14(2) 2020). Result: for every vertex the smallest internal id of its component, so both results are identical.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/executor.hpp"
#include "graph/graph.hpp"
#include "traverse/asked.hpp"

namespace garner {

struct job_setting;

// One graph, any number of runs: the state is allocated once. Throws errc::usage if options are incompatible, errc::memory if the state
// does not fit. The graph must outlive this object, and its edges must be in the tier that the options specify.
class components_job {
 public:
  components_job(graph const& g, components_asked const& options);
  ~components_job();
  components_job(components_job&&) noexcept;

  components_run run();
  job_setting const& setting() const;   // the device cache, and the cost of building it
  std::vector<std::uint64_t> labels();  // of the last run: internal ids, by internal id

  static void require_runnable(std::string const& name, graph_info const& info, components_asked const& options);  // see bfs_job
  static std::uint64_t state_bytes(graph_info const& info, components_asked const& options);                       // local memory

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
  double prepare_ms_ = 0;  // reported by the first run
};

// The labels as user ids, by internal id: the smallest of each component.
std::vector<std::uint64_t> smallest_ids(graph const& g, std::vector<std::uint64_t> labels);

// Reads when linking the first `most` neighbors of every vertex, and the requests in closed form: one vertex per lane, the lanes of a warp
// at neighboring vertices, each holding its last sector.
struct first_reads {
  std::uint64_t vertices = 0, edges = 0;
  traffic link;
};
first_reads measure_first_reads(executor& x, graph_info const& info, std::uint64_t const* offsets, std::uint64_t most);

}  // namespace garner
