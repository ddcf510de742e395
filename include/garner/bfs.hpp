// Traversal: options and results.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "garner/device.hpp"
#include "garner/shards.hpp"
#include "garner/traffic.hpp"

namespace garner {

inline constexpr std::uint32_t unreached = 0xffffffffu;  // the depth of a vertex that the source does not reach

// How BFS processes a level. `levels` reads every edge that leaves the frontier, as in the paper. `direction` goes bottom-up when the
// frontier is large: each unvisited vertex looks for one neighbor in the frontier and stops at the first (Beamer, Asanovic, Patterson,
// SC 2012); directed graphs need in-edges for it. `emogi`: the paper's program: levels, one list per team, without splitting, joining
// or caching.
enum class bfs_variant : std::uint8_t { levels, direction, emogi };

std::string_view to_string(bfs_variant v);
bfs_variant parse_bfs_variant(std::string_view text);  // errc::usage names the variants

struct bfs_options {
  execution_device device;
  std::optional<bfs_variant> variant;  // unset: direction if the graph supports it, else levels
  // Bytes of remote data cached on the device: block directories of compressed adjacency, cached neighbors, the first edges, in this
  // order. Unset: 10 % of the uncompressed edge list. The CPU caches nothing.
  std::optional<std::uint64_t> graph_cache;
  std::optional<std::uint32_t> cached_neighbors;  // direction: in-neighbors per vertex cached and tested first, at most 4; unset: as the
                                                  // budget allows; 3 plus the hubs if 4 fit (4: the best of each class u % 4)
  std::optional<tier> edges;                      // the memory tier of the edge list; unset: where the graph has it
  std::optional<std::uint32_t> max_depth;         // vertices farther from the source stay unreached; their edges are not read
  bool verify = false;                            // check the result of each run by an independent verifier; errc::internal if it is wrong
  // One shard of the vertices on each of these devices, instead of `device`: all of one kind; GPUs need peer access to each other. The
  // graph lies in host memory that the devices read; `edges`: host, or device: each shard copies its own adjacency. Budgets are per shard.
  // If these differ and the first alone is predicted to be faster, it runs alone unless `edges` is device: the run's `shards` names it.
  std::vector<execution_device> devices;
};

struct bfs_level {
  std::uint64_t frontier = 0;  // vertices at this depth
  std::uint64_t edges = 0;     // edges that leave them, all read
  std::uint64_t bytes_link = 0;
  double ms = 0;                      // time to read them and to build the next frontier
  file_reads file;                    // if the adjacency lies in a file
  bool bottom_up = false;             // unvisited vertices searched the frontier; then not all of `edges` were read
  std::uint64_t bytes_exchanged = 0;  // read from other shards
};

struct bfs_run {
  std::uint64_t source = 0;              // the user's id
  std::uint64_t reached = 0, edges = 0;  // vertices reached, including the source; edges that leave those less deep than max_depth
  std::uint32_t depth_max = 0;
  std::uint64_t depth_sum = 0;
  double ms = 0;          // all levels; excludes allocating and clearing state
  double prepare_ms = 0;  // first run of a search: time for state and the device cache, before `ms` starts; later runs: 0
  double gteps = 0;       // 1e9 edges per second; an undirected edge counts once
  traffic link;           // simulated: counted; device: the same model in closed form; CPU: no link traffic
  file_reads file;        // if the adjacency lies in a file
  bool verified = false;
  std::vector<bfs_level> levels;
  std::vector<shard_run> shards;  // of several devices those that ran; empty: one device
};

}  // namespace garner
