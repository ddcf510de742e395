// Weakly connected components: options and results.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "garner/device.hpp"
#include "garner/shards.hpp"
#include "garner/traffic.hpp"

namespace garner {

enum class components_variant {
  afforest,  // link the first neighbors of every vertex, then only vertices outside the largest component
  emogi,     // the smallest label spreads round by round, as in the paper, without splitting or joining lists
};

struct components_options {
  execution_device device;
  components_variant variant = components_variant::afforest;
  std::optional<tier> edges;  // the memory tier of the edge list; unset: where the graph has it
  // Bytes of remote data cached on the device: block directories of compressed adjacency, the best neighbors per vertex (afforest), the
  // first edges, in this order. Unset: 10 % of the uncompressed edge list. The CPU and emogi cache nothing.
  std::optional<std::uint64_t> graph_cache;
  std::uint32_t first_neighbors = 2;      // afforest: neighbors per vertex linked before the search for the largest component; at most 64
  std::uint64_t seed = 1;                 // afforest: for the sample that finds the largest component; the result does not depend on it
  bool verify = false;                    // check the result of each run by an independent verifier; errc::internal if it is wrong
  std::vector<execution_device> devices;  // as in bfs_options; afforest only
};

// A round of emogi, or a step of afforest.
struct components_phase {
  enum class kind { round, first_neighbors, remaining, all } what = kind::round;
  std::uint64_t vertices = 0;  // vertices whose adjacency was read
  std::uint64_t edges = 0;     // edges read
  traffic link;
  double ms = 0;
  file_reads file;                    // if the adjacency lies in a file
  std::uint64_t bytes_exchanged = 0;  // read from other shards
};

struct components_run {
  std::uint64_t components = 0;  // weak components: edge direction does not matter; an isolated vertex is its own component
  std::uint64_t largest = 0;     // vertices in the largest
  std::uint64_t edges = 0;       // edges read
  double ms = 0;                 // until every vertex has its label; excludes allocating state and counting components
  double prepare_ms = 0;         // first run of a search: time for state and the device cache, before `ms` starts; later runs: 0
  traffic link;                  // simulated: counted; device: the same model in closed form; CPU: no link traffic
  file_reads file;               // if the adjacency lies in a file
  bool verified = false;
  std::vector<components_phase> phases;
  std::vector<shard_run> shards;  // of several devices those that ran; empty: one device
};

}  // namespace garner
