// What garner/link.hpp measures of links, in patterns, and its cache. Each figure counts only after the data read was compared with the
// data written.
#pragma once
#include "core/executor.hpp"
#include "garner/link.hpp"

namespace garner {

// How a table in host memory is read from one end to the other (figure 2.5 of the dissertation): a thread a stretch of 4 KiB; a warp a
// stretch, each step 32 B off a line; a warp a stretch, on lines; the same of UVM pages, cold.
enum class read_pattern : std::uint8_t { strided, off_32, aligned, paged };
// GB/s of it, over the requested bytes (bytes - 4 KiB). The data read is verified. On the simulated device there is one sweep, whose
// requests go to the executor's sink, and the rate is that of the simulation.
double read_gbs(executor& x, read_pattern how, std::uint64_t bytes);

// The cache file.
void save_link(link_calibration const& link, std::filesystem::path const& file);
std::optional<link_calibration> load_link(std::filesystem::path const& file);

}  // namespace garner
