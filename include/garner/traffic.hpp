// Link traffic: requests by size, bytes requested, bytes useful. docs/dev/traffic-model.md states the model.
#pragma once
#include <array>
#include <cstdint>

namespace garner {

struct traffic {
  std::array<std::uint64_t, 4> requests{};  // of 32, 64, 96 and 128 bytes
  std::uint64_t pages = 0;                  // of 4 KiB, migrated by UVM (access `paged` only, which sends no requests)
  std::uint64_t bytes_useful = 0;           // bytes of the elements that the lanes requested

  std::uint64_t bytes_link() const {
    std::uint64_t bytes = pages * 4096;
    for (std::uint64_t k = 0; k < 4; ++k) bytes += requests[k] * 32 * (k + 1);
    return bytes;
  }
  std::uint64_t request_count() const { return requests[0] + requests[1] + requests[2] + requests[3]; }
  // bytes over the link / bytes of the data set (the edge list)
  double amplification(std::uint64_t data_bytes) const {
    return data_bytes ? static_cast<double>(bytes_link()) / static_cast<double>(data_bytes) : 0;
  }
  // bytes over the link / bytes useful
  double overfetch() const { return bytes_useful ? static_cast<double>(bytes_link()) / static_cast<double>(bytes_useful) : 0; }

  traffic& operator+=(traffic const& o) {
    for (std::size_t k = 0; k < 4; ++k) requests[k] += o.requests[k];
    pages += o.pages;
    bytes_useful += o.bytes_useful;
    return *this;
  }
  bool operator==(traffic const&) const = default;
};

// Reads of an adjacency that lies in a file (tier `file`).
struct file_reads {
  std::uint64_t requests = 0;      // sent to the drive
  std::uint64_t bytes_read = 0;    // returned by the drive
  std::uint64_t bytes_asked = 0;   // of these, bytes of the requested adjacency
  std::uint64_t bytes_blocks = 0;  // of the drive's blocks (usually 512 bytes) that hold the requested adjacency: the least possible
  double waited_ms = 0;            // time spent only waiting for the drive

  // bytes read / bytes of the requested adjacency
  double overfetch() const { return bytes_asked ? static_cast<double>(bytes_read) / static_cast<double>(bytes_asked) : 0; }
  // bytes read / bytes of the blocks that hold the requested adjacency
  double overfetch_of_blocks() const { return bytes_blocks ? static_cast<double>(bytes_read) / static_cast<double>(bytes_blocks) : 0; }
  file_reads& operator+=(file_reads const& o) {
    requests += o.requests, bytes_read += o.bytes_read, bytes_asked += o.bytes_asked, bytes_blocks += o.bytes_blocks,
        waited_ms += o.waited_ms;
    return *this;
  }
};

}  // namespace garner
