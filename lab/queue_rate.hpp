// Pages per second through request queues (queue.hpp), compared with the same reads submitted by the host. Both read
// the same pages of a simulated drive without latency, with the same number of host threads, in the same run: only the rings differ.
#pragma once
#include <cstdint>

#include "garner/device.hpp"

namespace garner::lab {

struct queue_rate_options {
  execution_device where{};   // that requests pages
  unsigned threads = 4;       // host threads that read
  unsigned queues = 16;       // served by these threads
  std::uint32_t depth = 256;  // of each queue
  std::uint32_t page_bytes = 4096;
  std::uint32_t at_once = 32768;  // pages per loop, each into its own frame
  std::uint64_t pages = 1 << 20;  // read in all, per strategy
  unsigned trials = 3;            // the best counts
};

struct queue_rate {
  double by_rings = 0, by_host = 0;  // pages per second
  double commands_a_doorbell = 0;
  std::uint64_t pages = 0;  // per strategy and trial
};

// Compares the pages with the drive's contents before it returns; errc::internal if they differ.
queue_rate measure_queues(queue_rate_options const& options);

}  // namespace garner::lab
