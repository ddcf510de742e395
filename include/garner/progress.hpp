// Progress of long work, for a listener of the caller (the program draws a bar); and what the library counted and timed so far. The library
// itself never prints. Cost per step: one relaxed atomic add.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace garner {

// Called from any thread, at most some 10 times/s and once at the end: what is done, how much of `total` (in units of `what`).
using progress_listener = std::function<void(std::string_view what, std::uint64_t done, std::uint64_t total)>;
void set_progress_listener(progress_listener listener);  // empty: nobody listens

class progress {
 public:
  progress(std::string_view what, std::uint64_t total);  // `what` must outlive it: a literal
  ~progress();                                           // reports "done" to the listener
  progress(progress const&) = delete;
  progress& operator=(progress const&) = delete;
  void advance(std::uint64_t n);

 private:
  void tell(bool last);
  std::string_view what_;
  std::uint64_t total_;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::int64_t> next_tell_{0};  // milliseconds of the steady clock
};

struct phase_total {
  std::string name;
  std::uint64_t times = 0;
  double seconds = 0;
};
struct counter_value {
  std::string name;
  std::uint64_t value = 0;
};
std::vector<phase_total> phase_totals();      // by name
std::vector<counter_value> counter_values();  // by name, those that are not zero

}  // namespace garner
