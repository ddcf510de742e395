// Limits of the bytes that Garner may take in host memory and on each device. A budget is a run-time number that can refuse.
// Invariant: take() never brings used() past limit(); a limit set below the bytes in use refuses all later requests. The refusal names the
// bytes requested, used and allowed, and what to try.
// Cost: one compare-and-swap per block.
#pragma once
#include <algorithm>
#include <atomic>
#include <string>

#include "garner/memory.hpp"

namespace garner {

class budget {
 public:
  static constexpr std::uint64_t unlimited = unlimited_bytes;
  // `name` ("host", "device 0") and `remedy` ("--memory-limit") go into the message.
  explicit budget(std::string name, std::string remedy, std::uint64_t limit = unlimited);

  void take(std::uint64_t bytes, char const* what);  // errc::memory when it would pass the limit
  void give_back(std::uint64_t bytes) noexcept;
  void set_limit(std::uint64_t limit);
  std::uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  std::uint64_t left() const {
    std::uint64_t const most = limit();
    return most - std::min(most, used());
  }
  std::uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  std::string name_, remedy_;
  std::atomic<std::uint64_t> limit_, used_{0}, peak_{0};
};

budget& host_budget();  // limit at start: what the control group leaves, else what is installed (see host_memory); --memory-limit overrides
budget& device_budget(int index);  // limit at start: unlimited (the device itself refuses)
// Bytes that may be taken on the device now: what is free, within what its budget has left.
std::uint64_t left_on_device(int index);

// "8GiB", "1.5 GiB", "512M": powers of 1024; "8GB", "512 MB": of 1000; "1.5e9", "4096". errc::usage shows examples.
std::uint64_t parse_bytes(std::string const& text);
std::string format_bytes(std::uint64_t bytes);  // "8.0 GiB"

}  // namespace garner
