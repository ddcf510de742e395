// How fast a reader reads: random places, so many requests of one size under way on each of several threads.
#pragma once
#include <cstdint>

#include "storage/reader.hpp"

namespace garner {

struct read_rate {
  std::uint64_t bytes = 0;  // of a request
  unsigned depth = 0, threads = 0;
  std::uint64_t requests = 0;  // completed in that time
  double seconds = 0;
  double requests_a_second() const { return seconds > 0 ? static_cast<double>(requests) / seconds : 0; }
  double bytes_a_second() const { return requests_a_second() * static_cast<double>(bytes); }
  latency_histogram latency;  // of reads, from submission to the drive until their completion is seen
};

// Offsets are multiples of `bytes`, random by `seed`; depth: requests in flight per thread. errc::input where the files are shorter than a
// request, errc::io for the first read that fails. Open `files` with a depth that allows as many.
read_rate measure_reads(reader& files, std::uint64_t bytes, unsigned depth, unsigned threads = 1, double seconds = 1,
                        std::uint64_t seed = 1);

}  // namespace garner
