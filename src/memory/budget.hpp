// Limits of the bytes that Garner may take in host memory and on each device. A budget is a run-time number that can refuse.
// Invariant: take() never brings used() past limit(); a limit set below the bytes in use refuses all later requests. The refusal names the
// bytes requested, used and allowed, and what to try.
// Cost: one compare-and-swap per block.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

namespace garner {

class budget {
 public:
  static constexpr std::uint64_t unlimited = ~std::uint64_t{0};
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
// The same of a budget of which nothing is used, as limits of a plan count what is taken.
std::uint64_t most_on_device(int index);

// The host's memory as the system reports it. MemTotal and MemAvailable are reported, never used as a limit: on machines that set their
// memory up as it is touched they start small and grow. `installed` is the size of all zones, set up or not, and swap.
struct host_memory {
  std::uint64_t total = 0, available = 0;
  std::uint64_t installed = budget::unlimited;
  std::uint64_t group_limit = budget::unlimited, group_used = 0;  // the tightest control group (v2 or v1); used: without its page cache
  std::uint64_t limit() const;                                    // of the host budget at start
  std::uint64_t free() const;                                     // what may be expected to be had now
};
host_memory host_memory_now(std::filesystem::path const& root = "/");  // the root of /proc and /sys; another one in tests

// Message for an allocation that cannot be satisfied, shared by a plan and the run itself; empty where it can be. `what` needs the bytes,
// `device` is the device's name, `instead` what else to try if it is too small.
struct bytes_needed {
  std::uint64_t host = 0, device = 0;
};
std::string why_not(std::string const& what, bytes_needed const& needed, bytes_needed const& allowed, std::string const& device,
                    std::string const& instead);

// "8GiB", "1.5 GiB", "512M": powers of 1024; "8GB", "512 MB": of 1000; "1.5e9", "4096". errc::usage shows examples.
std::uint64_t parse_bytes(std::string const& text);
std::string format_bytes(std::uint64_t bytes);  // "8.0 GiB"

}  // namespace garner
