// The algorithms: options in, results out. Entry k of a result belongs to the vertex graph.ids()[k], the k-th by ascending user id. The
// internal order of the vertices does not matter: every vertex is named by its user id. Errors are garner::error. errc::usage: options
// contradict each other, or the graph is not in memory that the algorithm can read. errc::input: a vertex does not exist or the graph lacks
// data that the algorithm needs. errc::memory: the state does not fit. Also errc::device and errc::interrupted.
// Each algorithm has the same parts: X_options, X_run (counts and times), X_result (the run and its arrays), the function X() for one run,
// and the class X_solver for several: it allocates the state (a few bytes per vertex, on the device that runs it) once.
// With options.verify a call throws errc::internal instead of returning a wrong result.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "garner/bfs.hpp"
#include "garner/components.hpp"
#include "garner/detail/held.hpp"
#include "garner/handle.hpp"
#include "garner/pagerank.hpp"
#include "garner/sssp.hpp"

namespace garner {

inline constexpr std::uint64_t no_vertex = ~std::uint64_t{0};           // the parent of an unreached vertex
inline constexpr std::uint64_t unreached_distance = ~std::uint64_t{0};  // the distance of an unreached vertex over u32 weights

// --- breadth-first search (EMOGI, PVLDB 14(2) 2020; the direction switch: Beamer, Asanovic, Patterson, SC 2012) ---
struct bfs_result {
  bfs_run run;                        // counts, time, traffic, levels
  std::vector<std::uint32_t> depth;   // `unreached` for vertices that the source does not reach
  std::vector<std::uint64_t> parent;  // the predecessor on a shortest path; the source is its own parent; no_vertex if unreached
};
bfs_result bfs(graph_handle const& g, std::uint64_t source, bfs_options const& options = {});

class bfs_solver {
 public:
  explicit bfs_solver(graph_handle const& g, bfs_options const& options = {});
  ~bfs_solver();
  bfs_solver(bfs_solver&&) noexcept;

  bfs_run run(std::uint64_t source);
  // Results of the last run.
  std::vector<std::uint32_t> depths();
  std::vector<std::uint64_t> parents();

 private:
  struct impl;
  detail::held<impl> impl_;
};

// `count` vertices with out-edges, a pure function of graph, count and seed, independent of the internal order; may repeat. Empty
// if the graph has no edges.
std::vector<std::uint64_t> pick_sources(graph_handle const& g, std::uint64_t count, std::uint64_t seed = 1);

// --- shortest paths over non-negative weights (near and far piles: Davidson et al., IPDPS 2014) ---
struct sssp_result {
  sssp_run run;
  std::vector<std::uint64_t> distance;  // u32 weights, exact; unreached_distance if unreached
  std::vector<float> real_distance;     // f32 weights; infinity if unreached
};
// errc::input names an edge whose weight is negative or NaN, or reports a graph without weights.
sssp_result sssp(graph_handle const& g, std::uint64_t source, sssp_options const& options = {});

class sssp_solver {
 public:
  explicit sssp_solver(graph_handle const& g, sssp_options const& options = {});
  ~sssp_solver();
  sssp_solver(sssp_solver&&) noexcept;

  sssp_run run(std::uint64_t source);
  // Results of the last run. Only the vector for the graph's weight type is filled.
  std::vector<std::uint64_t> distances();
  std::vector<float> real_distances();
  std::vector<std::uint64_t> parents();  // as for bfs; reads the edges once more

 private:
  struct impl;
  detail::held<impl> impl_;
};

// --- weak connected components (Afforest: Sutton, Ben-Nun, Barak, IPDPS 2018) ---
struct components_result {
  components_run run;                // number of components, size of the largest
  std::vector<std::uint64_t> label;  // the smallest id of the vertex's component
};
components_result components(graph_handle const& g, components_options const& options = {});

class components_solver {
 public:
  explicit components_solver(graph_handle const& g, components_options const& options = {});
  ~components_solver();
  components_solver(components_solver&&) noexcept;

  components_run run();
  std::vector<std::uint64_t> labels();  // of the last run

 private:
  struct impl;
  detail::held<impl> impl_;
};

// --- PageRank (power iteration by pulling; or the paper's push) ---
struct pagerank_result {
  pagerank_run run;
  std::vector<float> rank;  // pull: shares that sum to 1
};
// A directed graph is pulled along its in-edges: errc::input if it has none.
pagerank_result pagerank(graph_handle const& g, pagerank_options const& options = {});

class pagerank_solver {
 public:
  explicit pagerank_solver(graph_handle const& g, pagerank_options const& options = {});
  ~pagerank_solver();
  pagerank_solver(pagerank_solver&&) noexcept;

  pagerank_run run();
  std::vector<float> ranks();  // of the last run

 private:
  struct impl;
  detail::held<impl> impl_;
};

struct ranked_vertex {
  std::uint64_t id;
  float rank;
};
// Highest rank first, ties by the smaller id; at most `count`.
std::vector<ranked_vertex> highest_ranks(graph_handle const& g, pagerank_result const& result, std::size_t count);

}  // namespace garner
