// How many pages a second come through request queues (storage/queue.hpp), beside the same reads when the host asks for them itself. Both
// read the same pages of a simulated drive without latency, by as many threads of the host, in the same run: what differs is the rings.
#pragma once
#include <cstdint>

#include "garner/place.hpp"

namespace garner::bench {

struct queue_rate_options {
  place where{};              // that asks
  unsigned threads = 4;       // of the host, that read
  unsigned queues = 16;       // served by them
  std::uint32_t depth = 256;  // of each
  std::uint32_t page_bytes = 4096;
  std::uint32_t at_once = 32768;  // pages a loop, each into a frame of its own
  std::uint64_t pages = 1 << 20;  // read in all, each way
  unsigned trials = 3;            // the best counts
};

struct queue_rate {
  double by_rings = 0, by_host = 0;  // pages a second
  double commands_a_doorbell = 0;
  std::uint64_t pages = 0;  // each way and trial
};

// Compares what came with what the drive holds before it tells; errc::internal where it differs.
queue_rate measure_queues(queue_rate_options const& options);

}  // namespace garner::bench
