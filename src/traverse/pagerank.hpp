// PageRank over edges that lie far: power iteration by pulling, and the paper's residual push (chapter 2.4 of the dissertation).
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/executor.hpp"
#include "garner/pagerank.hpp"
#include "graph/graph.hpp"

namespace garner {

struct job_setting;

// The state (some 12 bytes a vertex, near the place that runs) is made once. Throws errc::usage where access, tier and place do not go
// together or an option is out of range, errc::input where the in-lists are missing (pull on a directed graph) or a personal id is none,
// errc::memory where the state does not fit. The graph must outlive the job, its edges (pull: and its in-lists) must lie in the tier that
// the options say.
class pagerank_job {
 public:
  static constexpr std::uint64_t shard_grain = 2048;  // parts begin with a block of vertices whose sums are added up

  pagerank_job(graph const& g, pagerank_options const& options);
  ~pagerank_job();
  pagerank_job(pagerank_job&&) noexcept;

  job_setting const& setting() const;  // what is kept near, and what it took to make
  pagerank_run run();
  std::vector<float> ranks();  // of the last run, by internal id

  static void require_runnable(std::string const& name, graph_info const& info, pagerank_options const& options);  // as bfs_job's
  // Near memory, at the most: with the copy by degree where there may be one.
  static std::uint64_t state_bytes(graph_info const& info, pagerank_options const& options);
  // Whether lists are copied by degree, as far as the header tells; a job that was not asked for it also looks at degrees and room.
  static bool may_copy_by_degree(graph_info const& info, pagerank_options const& options);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
  double prepare_ms_ = 0;  // until the first run
};

struct ranked {
  std::uint64_t vertex;  // the user's id
  float rank;
};
std::vector<ranked> highest_ranks(graph const& g, std::vector<float> const& ranks,
                                  std::size_t count);  // of equal ranks the smaller id first

std::string_view to_string(pagerank_variant v);                  // "pull", "emogi"
std::string_view to_string(dangling_mass d);                     // "redistribute", "drop"
pagerank_variant parse_pagerank_variant(std::string_view text);  // errc::usage with the choices otherwise
dangling_mass parse_dangling(std::string_view text);

}  // namespace garner
