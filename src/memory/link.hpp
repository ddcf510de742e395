// Measured rates of the link between host memory and a device: the ceilings against which every figure is printed. Measured once per
// machine and device (some seconds), kept in the user's cache folder; each figure counts only after the data read was compared with the
// data written. Rates in GB/s (1e9 bytes per second).
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/executor.hpp"

namespace garner {

struct row_rate {
  std::uint64_t row_bytes = 0, table_bytes = 0;
  double gbs = 0;
};

struct link_calibration {
  static constexpr int version = 2;
  std::string device, pci;
  int driver = 0;                                 // a calibration made under another driver does not count
  double to_device_gbs = 0, to_host_gbs = 0;      // cudaMemcpy of pinned memory, 64 MiB
  double zero_copy_gbs = 0;                       // all multiprocessors read whole lines of host memory
  double line_requests = 0, sector_requests = 0;  // 1e9 requests a second of 128 B, of 32 B
  int saturating_sms = 0;                         // fewest multiprocessors (blocks of 1,024 threads) that reach 95 % of zero_copy_gbs
  std::optional<double> paged_gbs;                // managed memory, cold, read in order; unset where it was not measured
  std::vector<row_rate> random_rows;
};

// From the cache, else measured now. `again`: measured now in any case (what the reference shows changes with it). `largest_table`: bytes
// of host memory for the random rows, if half of what is free allows; of more than 1 GiB tables of 1, 4, 16 ... GiB are measured, and
// paged_gbs too.
link_calibration const& link_of(int device, bool again = false, std::uint64_t largest_table = std::uint64_t{1} << 30);
std::optional<link_calibration> known_link(int device);  // measured by this process or from the cache; nothing is measured

// How a table in host memory is read from one end to the other (figure 2.5 of the dissertation): a thread a stretch of 4 KiB; a warp a
// stretch, each step 32 B off a line; a warp a stretch, on lines; the same of UVM pages, cold.
enum class read_pattern : std::uint8_t { strided, off_32, aligned, paged };
// GB/s of it, over the requested bytes (bytes - 4 KiB). The data read is verified. On the simulated device there is one sweep, whose
// requests go to the executor's sink, and the rate is that of the simulation.
double read_gbs(executor& x, read_pattern how, std::uint64_t bytes);

double host_copy_gbs();  // this machine's memory, read and written by all threads; measured at each call, some 300 ms

// The cache: a JSON file; what cannot be read or is of another version counts as absent. No file (empty) without a home folder.
std::filesystem::path link_cache_file(std::string const& pci, std::string const& device);
void save_link(link_calibration const& link, std::filesystem::path const& file);
std::optional<link_calibration> load_link(std::filesystem::path const& file);

}  // namespace garner
