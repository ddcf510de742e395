// What `garner info --drives` measures of one.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "storage/measure.hpp"

namespace garner {

struct drive_times {
  std::string how;                                   // it is read
  std::uint64_t bytes = 0;                           // of the file that was read
  double latency_us = 0;                             // the median of 4 KiB, one at a time
  double requests_a_second = 0, bytes_a_second = 0;  // the most that was reached, with 4 KiB and with any size
  std::uint64_t gap_bytes = 0;                       // reader_options::gap_bytes that pays there
  std::vector<read_rate> reads;
};
// Times reads of a file, a block device, or a folder (in which it makes an unnamed file). quick: a tenth of the time.
drive_times measure_drive(std::string const& path, bool quick);

}  // namespace garner
