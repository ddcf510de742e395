// PageRank: options and results.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "garner/device.hpp"
#include "garner/shards.hpp"
#include "garner/traffic.hpp"

namespace garner {

enum class pagerank_variant : std::uint8_t {
  pull,   // power iteration: each vertex sums the ranks of its in-neighbors. Ranks sum to 1, with the same bits in every run on one
          // device
  emogi,  // the paper's: residuals pushed to out-neighbors while above a tolerance. Not normalized: ranks sum to about |V|
};
enum class dangling_mass : std::uint8_t {
  redistribute,  // the rank of vertices without out-edges is distributed like the jumps
  drop,          // it is dropped, so ranks sum to less than 1
};

std::string_view to_string(pagerank_variant v);                  // "pull", "emogi"
std::string_view to_string(dangling_mass d);                     // "redistribute", "drop"
pagerank_variant parse_pagerank_variant(std::string_view text);  // errc::usage lists the choices
dangling_mass parse_dangling(std::string_view text);

struct pagerank_options {
  execution_device device;
  std::optional<tier> edges;  // the memory tier of the edge list; unset: where the graph has it
  // Bytes of remote data cached on the device: block directories of compressed adjacency, the first edges. Unset: 10 % of the uncompressed
  // edge list. The CPU and emogi cache nothing.
  std::optional<std::uint64_t> graph_cache;
  pagerank_variant variant = pagerank_variant::pull;
  double damping = 0.85;
  // pull: on the L1 change per iteration, 1e-4; emogi: on a vertex's residual, absolute, 0.001
  std::optional<double> tolerance;
  std::optional<std::uint64_t> iterations;  // pull: exactly this number; emogi: at most
  // pull only:
  dangling_mass dangling = dangling_mass::redistribute;
  std::vector<std::pair<std::uint64_t, double>> personalization;  // user ids and weights of start and jumps; empty: uniform
  // A vertex distributes its rank in proportion to edge weights; false: evenly, even if the graph has weights. One device only.
  // errc::input if the graph has no weights.
  bool weighted = false;
  // pull, on uncompressed adjacency with 4-byte ids: a copy of the adjacency ordered by degree, for locality of the most frequent lookups.
  // Unset: if the adjacency lies in GPU memory, degrees are skewed, the iterations are likely to amortize the copy, and memory suffices. On
  // a GPU it needs adjacency in GPU memory.
  std::optional<bool> by_degree;
  bool verify = false;                    // check the result of each run by an independent verifier; errc::internal if it is wrong
  std::vector<execution_device> devices;  // as in bfs_options; pull only. Ranks are the same bits for any number of shards
};

struct pagerank_round {
  std::uint64_t vertices = 0, edges = 0;  // active in this iteration; pull: all
  double l1_change = 0;                   // pull only
  std::uint64_t bytes_link = 0;
  double ms = 0;
  file_reads file;                    // if the adjacency lies in a file
  std::uint64_t bytes_exchanged = 0;  // read from other shards
};

struct pagerank_run {
  std::uint64_t iterations = 0;
  bool converged = false;  // the tolerance was reached
  bool weighted = false;   // edge weights were used
  double rank_sum = 0;
  double l1_change = 0;     // pull: of the last iteration; emogi: the remaining residual, summed over the vertices
  std::uint64_t edges = 0;  // edges read
  double ms = 0;            // all iterations; excludes allocating and clearing state
  double prepare_ms = 0;    // first run of a search: time for state and the device cache, before `ms` starts; later runs: 0
  traffic link;             // simulated: counted; device: the same model in closed form; CPU: no link traffic
  file_reads file;          // if the adjacency lies in a file
  bool verified = false;
  std::vector<pagerank_round> rounds;
  std::vector<shard_run> shards;  // of several devices those that ran; empty: one device
};

}  // namespace garner
