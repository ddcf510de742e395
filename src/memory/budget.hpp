// How many bytes Garner may take in host memory and on each device. A budget is a number at run time that can refuse.
// Invariant: used() never exceeds limit(). The refusal names the bytes asked, used and allowed, and what to try.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

namespace garner {

class budget {
 public:
  static constexpr std::uint64_t unlimited = ~std::uint64_t{0};
  // `name` ("host", "device 0") and `remedy` ("--host-budget") go into the message.
  explicit budget(std::string name, std::string remedy, std::uint64_t limit = unlimited);

  void take(std::uint64_t bytes, char const* what);  // errc::memory when it would pass the limit
  void give_back(std::uint64_t bytes) noexcept;
  void set_limit(std::uint64_t limit);
  std::uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  std::uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  std::string name_, remedy_;
  std::atomic<std::uint64_t> limit_, used_{0}, peak_{0};
};

budget& host_budget();              // limit at start: the control group's, if it sets one (never MemTotal: memory may grow as it is touched)
budget& device_budget(int index);   // limit at start: unlimited (the device itself refuses)

std::uint64_t parse_bytes(std::string const& text);   // "8GiB", "512M", "1.5e9", "4096"; errc::usage shows examples
std::string format_bytes(std::uint64_t bytes);        // "8.0 GiB"

}  // namespace garner
