// A job over several places: contiguous parts of the vertices, with about as many edges each, a thread and a place each. Each reads the
// lists of its own vertices alone; what all must know (who was reached, what vertices give, which trees were hung) crosses between them in
// bulk, a bit or a number a vertex.
#pragma once
#include <cstdint>

#include "garner/place.hpp"
#include "garner/traffic.hpp"

namespace garner {

// What one shard had of a run.
struct job_shard {
  place where;
  std::uint64_t vertices = 0, edges = 0;  // of its part: its vertices, and the entries of their lists
  double ms = 0;                          // its own work; the rest of the run's time it took what others had, or waited for them
  traffic link;
  std::uint64_t bytes_exchanged = 0;  // that it read of the other shards
};

}  // namespace garner
