// What the link between host memory and a device does, measured: the ceilings against which every figure is printed.
// Measured once a machine and device (some seconds), kept in the user's cache folder; each figure counts only after what was read was
// compared with what was written. Rates in GB/s (1e9 bytes a second).
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace garner {

struct row_rate {
  std::uint64_t row_bytes = 0, table_bytes = 0;
  double gbs = 0;
};

struct link_calibration {
  static constexpr int version = 1;
  std::string device, pci;
  double to_device_gbs = 0, to_host_gbs = 0;  // cudaMemcpy of pinned memory, 64 MiB
  double zero_copy_gbs = 0;                   // all multiprocessors read whole lines of host memory
  double line_requests = 0, sector_requests = 0;  // 1e9 requests a second of 128 B, of 32 B
  int saturating_sms = 0;                     // fewest multiprocessors (blocks of 1,024 threads) that reach 95 % of zero_copy_gbs
  std::vector<row_rate> random_rows;
};

// From the cache, else measured now. `again`: measured now in any case. `largest_table`: bytes of host memory for the random rows.
link_calibration const& link_of(int device, bool again = false, std::uint64_t largest_table = std::uint64_t{1} << 30);
std::optional<link_calibration> known_link(int device);  // from the cache; nothing is measured

double host_copy_gbs();  // this machine's memory, read and written by all threads; measured at each call, some 50 ms

// The cache: a JSON file; what cannot be read or is of another version counts as absent.
std::filesystem::path link_cache_file(std::string const& pci, std::string const& device);
void save_link(link_calibration const& link, std::filesystem::path const& file);
std::optional<link_calibration> load_link(std::filesystem::path const& file);

}  // namespace garner
