// Progress of long work (garner/progress.hpp), and how its caller stops it.
#pragma once
#include "garner/progress.hpp"

namespace garner {

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
