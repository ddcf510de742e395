// What crosses the link: requests by size, bytes asked, bytes useful. docs/traffic.md states the model.
#pragma once
#include <array>
#include <cstdint>

namespace garner {

struct traffic {
  std::array<std::uint64_t, 4> requests{};  // of 32, 64, 96 and 128 bytes
  std::uint64_t pages = 0;                  // of 4 KiB, moved by UVM (access `paged` only, which sends no requests)
  std::uint64_t bytes_useful = 0;           // bytes of the elements that the lanes asked for

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

}  // namespace garner
