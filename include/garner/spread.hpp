// An algorithm over several devices: contiguous parts of the vertices with about the same number of edges, one thread and device per part.
// Each shard reads only the adjacency of its own vertices. State that all shards need (reached vertices, ranks, linked trees) is exchanged
// in bulk, as one bit or one number per vertex.
#pragma once
#include <cstdint>

#include "garner/place.hpp"
#include "garner/traffic.hpp"

namespace garner {

// One shard's share of a run.
struct job_shard {
  place where;
  std::uint64_t vertices = 0, edges = 0;  // of its part: vertices, and adjacency entries
  double ms = 0;                          // its own work; for the rest of the run it waited for other shards
  traffic link;
  std::uint64_t bytes_exchanged = 0;  // read from other shards
};

}  // namespace garner
