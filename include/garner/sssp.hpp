// Shortest paths from one source over weighted edges: options and results.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "garner/device.hpp"
#include "garner/traffic.hpp"

namespace garner {

enum class sssp_variant {
  near_far,  // processes vertices near the least open distance first, so few edges are read twice
  emogi,     // Bellman-Ford with active flags, as the paper's program: all changed vertices, one list per team, no splitting or joining
};

struct sssp_options {
  execution_device device;
  sssp_variant variant = sssp_variant::near_far;
  std::optional<tier> edges;  // the memory tier of edge list and weights; unset: where the graph has them
  // Bytes of remote data cached on the device: block directories of compressed adjacency and weights, then the shortest lists with
  // their weights (compressed: the first edges). Unset: 10 % of the uncompressed edge list. The CPU and emogi cache nothing.
  std::optional<std::uint64_t> graph_cache;
  std::optional<double> delta;  // near_far: width of the near pile beyond the least open distance; unset: from the weights, then adapted
  bool verify = false;          // check the result of each run by an independent verifier; errc::internal if it is wrong
};

struct sssp_round {
  std::uint64_t frontier = 0;  // vertices whose adjacency was read
  std::uint64_t edges = 0;     // edges that leave them
  std::uint64_t bytes_link = 0;
  double ms = 0;
  file_reads file;  // if the adjacency lies in a file
};

struct sssp_run {
  std::uint64_t source = 0;                          // the user's id
  std::uint64_t reached = 0, edges = 0;              // vertices reached, including the source; edges relaxed, some more than once
  std::uint64_t distance_max = 0, distance_sum = 0;  // u32 weights, exact; the sum saturates at 2^64 - 1
  double real_max = 0, real_sum = 0;                 // f32 weights
  std::uint64_t thresholds = 0;                      // number of times the threshold advanced
  double ms = 0;                                     // all rounds; excludes allocating and clearing state
  double prepare_ms = 0;  // first run of a search: time for state and the device cache, before `ms` starts; later runs: 0
  traffic link;           // simulated: counted; device: the same model in closed form; CPU: no link traffic
  file_reads file;        // if the adjacency lies in a file
  bool verified = false;
  std::vector<sssp_round> rounds;
};

}  // namespace garner
