// Measured rates: of the link between host memory and a device, of host memory, of drives. GB/s are 1e9 bytes per second. A link is
// measured once per machine and device, in some seconds, and kept in the user's cache folder.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "garner/traffic.hpp"

namespace garner {

struct row_rate {
  std::uint64_t row_bytes = 0, table_bytes = 0;
  double gbs = 0;
};
struct link_calibration {
  std::string device, pci;
  int driver = 0;                                 // a calibration made under another driver does not count
  double to_device_gbs = 0, to_host_gbs = 0;      // copies of pinned memory, 64 MiB
  double zero_copy_gbs = 0;                       // all multiprocessors read whole lines of host memory
  double line_requests = 0, sector_requests = 0;  // 1e9 requests a second of 128 B, of 32 B
  int saturating_sms = 0;                         // fewest multiprocessors (blocks of 1,024 threads) that reach 95 % of zero_copy_gbs
  std::optional<double> paged_gbs;                // managed memory, cold, read in order; unset where it was not measured
  std::vector<row_rate> random_rows;
};
// From the cache, else measured now. `again`: measured now in any case (what the reference shows changes with it). `largest_table`: bytes
// of host memory for the random rows, if half of what is free allows; of more than 1 GiB tables of 1, 4, 16 ... GiB are measured, and
// paged_gbs too. errc::device names a device that is not there or reads wrong data, errc::memory what could not be allocated.
link_calibration const& link_of(int device, bool again = false, std::uint64_t largest_table = std::uint64_t{1} << 30);
std::optional<link_calibration> known_link(int device);  // measured by this process or from the cache; nothing is measured
// The cache: a JSON file; what cannot be read or is of another version counts as absent. No file (empty) without a home folder.
std::filesystem::path link_cache_file(std::string const& pci, std::string const& device);

// A request over a link takes a fixed time and a time per byte, in order and with enough of them in flight.
struct link_rates {
  double line_ns = 0, sector_ns = 0;  // of a request of 128 B, of 32 B
  std::optional<double> paged_gbs;    // of pages that a driver moves
  static link_rates of(double gbs);   // a link that carries whole lines at `gbs`; for pages the rate is unknown
};
link_rates rates_of(link_calibration const& link);
// The time the link needs for the requests; 0 without requests, or for pages whose rate is not known.
double predicted_ms(traffic const& asked, link_rates const& rates);

double host_copy_gbs();  // this machine's memory, read and written by all threads; measured at each call, some 300 ms

struct drive_read {  // random reads of one size
  std::uint64_t bytes = 0;
  unsigned in_flight = 0, threads = 0;  // in_flight: per thread
  double requests_per_second = 0, bytes_per_second = 0, median_us = 0, p99_us = 0;
};
struct drive_rates {
  std::string how;                                       // it is read
  std::uint64_t bytes = 0;                               // of the file that was read
  double latency_us = 0;                                 // the median of 4 KiB, one at a time
  double requests_per_second = 0, bytes_per_second = 0;  // the most that was reached, with 4 KiB and with any size
  std::uint64_t gap_bytes = 0;                           // a gap between two reads that costs as much as a request
  std::vector<drive_read> reads;
};
// Times reads of a file, a block device, or a folder (in which it makes an unnamed file). `quick`: a tenth of the time. errc::io if it
// cannot be read, or the folder has no room; errc::input if it is too small.
drive_rates measure_drive(std::string const& path, bool quick = false);

}  // namespace garner
