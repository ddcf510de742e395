// PageRank over edges outside GPU memory: power iteration by pulling, and the paper's residual push (chapter 2.4 of the dissertation).
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/executor.hpp"
#include "garner/algorithms.hpp"
#include "graph/graph.hpp"
#include "traverse/asked.hpp"

namespace garner {

struct job_setting;

// The state (some 12 bytes per vertex, in local memory) is allocated once. Throws errc::usage if access, tier and device are incompatible
// or an option is out of range, errc::input if in-edges are missing (pull on a directed graph) or a personal id does not exist,
// errc::memory if the state does not fit. The graph must outlive this object; its edges (pull: also its in-edges) must be in the tier that
// the options specify.
class pagerank_job {
 public:
  static constexpr std::uint64_t shard_grain = 2048;  // parts begin with a block of vertices that is reduced together

  pagerank_job(graph const& g, pagerank_asked const& options);
  ~pagerank_job();
  pagerank_job(pagerank_job&&) noexcept;

  job_setting const& setting() const;  // the device cache, and the cost of building it
  pagerank_run run();
  std::vector<float> ranks();  // of the last run, by internal id

  static void require_runnable(std::string const& name, graph_info const& info, pagerank_asked const& options);  // see bfs_job
  // Peak local memory, including the copy by degree if it is possible.
  static std::uint64_t state_bytes(graph_info const& info, pagerank_asked const& options);
  // Whether adjacency is copied by degree, as far as the header shows; by default degrees and free memory matter as well.
  static bool may_copy_by_degree(graph_info const& info, pagerank_asked const& options);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
  double prepare_ms_ = 0;  // reported by the first run
};

// The personal start, by internal id: shares that sum to 1. errc::input for a negative weight or an unknown id.
std::vector<float> personal_start(graph const& g, pagerank_options const& options);
// The best of ranks by internal id: highest first, ties by the smaller id; at most `count`.
std::vector<ranked_vertex> highest_ranks(graph const& g, std::vector<float> const& ranks, std::size_t count);

}  // namespace garner
