// The jobs: options in, results out. Entry k of a result belongs to the vertex graph.ids()[k], the k-th by ascending user id, whatever the
// order of the vertices inside; what names a vertex is a user's id. Errors are garner::error: errc::usage where options contradict each
// other or the graph does not lie where the job would read it, errc::input where a vertex does not exist or the graph lacks what the job
// needs, errc::memory where the state does not fit, errc::device, errc::interrupted.
// A call with `check_certificate` throws errc::internal rather than give a wrong result.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "garner/components.hpp"
#include "garner/detail/held.hpp"
#include "garner/handle.hpp"
#include "garner/pagerank.hpp"
#include "garner/sssp.hpp"
#include "garner/traverse.hpp"

namespace garner {

inline constexpr std::uint64_t no_vertex = ~std::uint64_t{0};           // the parent of what the source does not reach ...
inline constexpr std::uint64_t unreached_distance = ~std::uint64_t{0};  // ... and its distance over u32 weights

// --- breadth-first search (EMOGI, PVLDB 14(2) 2020; the direction switch: Beamer, Asanovic, Patterson, SC 2012) ---
struct bfs_result {
  bfs_run run;                        // counts, time, traffic, levels
  std::vector<std::uint32_t> depth;   // `unreached` where the source does not lead
  std::vector<std::uint64_t> parent;  // a vertex before it on some shortest path; the source is its own; no_vertex where unreached
};
bfs_result bfs(graph_handle const& g, std::uint64_t source, bfs_options const& options = {});

// The same for many sources: the state (a few bytes a vertex, where the job runs) is made once.
class bfs_search {
 public:
  explicit bfs_search(graph_handle const& g, bfs_options const& options = {});
  ~bfs_search();
  bfs_search(bfs_search&&) noexcept;

  bfs_run run(std::uint64_t source);
  // Of the last run.
  std::vector<std::uint32_t> depths();
  std::vector<std::uint64_t> parents();

 private:
  struct impl;
  detail::held<impl> impl_;
};

// `count` vertices with edges that leave them, a pure function of graph, count and seed, whatever the order inside; may repeat. Empty
// where no vertex has edges.
std::vector<std::uint64_t> pick_sources(graph_handle const& g, std::uint64_t count, std::uint64_t seed = 1);

// --- shortest paths over weights of 0 and more (near and far piles: Davidson et al., IPDPS 2014) ---
struct sssp_result {
  sssp_run run;
  std::vector<std::uint64_t> distance;  // u32 weights, exact; unreached_distance where the source does not lead
  std::vector<float> real_distance;     // f32 weights; infinity where unreached
};
// errc::input names an edge whose weight is negative or no number, or says that there are no weights.
sssp_result sssp(graph_handle const& g, std::uint64_t source, sssp_options const& options = {});

class sssp_search {
 public:
  explicit sssp_search(graph_handle const& g, sssp_options const& options = {});
  ~sssp_search();
  sssp_search(sssp_search&&) noexcept;

  sssp_run run(std::uint64_t source);
  // Of the last run. The kind that the weights are not is empty.
  std::vector<std::uint64_t> distances();
  std::vector<float> real_distances();
  std::vector<std::uint64_t> parents();  // as of bfs; one more read of the edges

 private:
  struct impl;
  detail::held<impl> impl_;
};

// --- weak connected components (Afforest: Sutton, Ben-Nun, Barak, IPDPS 2018) ---
struct components_result {
  components_run run;                // their number, the largest
  std::vector<std::uint64_t> label;  // the smallest id of its component
};
components_result components(graph_handle const& g, components_options const& options = {});

// --- PageRank (power iteration by pulling; or the paper's push) ---
struct pagerank_result {
  pagerank_run run;
  std::vector<float> rank;  // pull: shares that sum to 1
};
// A directed graph is pulled along its in-lists: errc::input where it has none.
pagerank_result pagerank(graph_handle const& g, pagerank_options const& options = {});

struct ranked_vertex {
  std::uint64_t id;
  float rank;
};
// Highest first, of equal ranks the smaller id; as many as there are, at most `count`.
std::vector<ranked_vertex> highest_ranks(graph_handle const& g, pagerank_result const& result, std::size_t count);

}  // namespace garner
