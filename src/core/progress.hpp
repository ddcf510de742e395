// Progress of long work, for a listener of the caller (the program draws a bar), which may also stop it. The library itself never prints.
// Cost per step: one relaxed atomic add.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>

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

// Ctrl-C: the handler sets the flag (async-signal-safe), long work calls check_interrupted() now and then.
void request_interrupt() noexcept;
void request_interrupt_after(std::uint64_t checks) noexcept;  // for tests: so many checks find none, the next does
void clear_interrupt() noexcept;
bool interrupt_requested() noexcept;
void check_interrupted();  // throws errc::interrupted
// During its lifetime this thread, and the thread pool on its behalf, ignore interrupts: for work that must be atomic.
class interrupts_held {
 public:
  interrupts_held() noexcept;
  ~interrupts_held();
  interrupts_held(interrupts_held const&) = delete;
  interrupts_held& operator=(interrupts_held const&) = delete;
  static bool here() noexcept;
};

}  // namespace garner
