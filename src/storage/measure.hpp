// How fast a reader reads: random places, so many requests of one size under way on each of several threads.
#pragma once
#include <cstdint>

#include "storage/reader.hpp"

namespace garner {

struct read_rate {
  std::uint64_t bytes = 0;  // of a request
  unsigned depth = 0, threads = 0;
  std::uint64_t requests = 0;  // that were answered in the time
  double seconds = 0;
  double requests_a_second() const { return seconds > 0 ? static_cast<double>(requests) / seconds : 0; }
  double bytes_a_second() const { return requests_a_second() * static_cast<double>(bytes); }
  latency_histogram latency;  // of reads, from the drive being asked to its answer being seen
};

// Places are multiples of `bytes`, drawn by `seed`; depth: requests under way a thread. errc::input where the files are shorter than a
// request, errc::io for the first read that fails. `files` should have been opened with a depth that allows as many.
read_rate measure_reads(reader& files, std::uint64_t bytes, unsigned depth, unsigned threads = 1, double seconds = 1,
                        std::uint64_t seed = 1);

}  // namespace garner
