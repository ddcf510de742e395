// Host functions that exec/system.hpp uses.
#include <chrono>
#include <thread>

#include "core/exec/system.hpp"

namespace garner::at_host {

void back_off(unsigned tries) {
  if (tries < 16) std::atomic_signal_fence(std::memory_order_seq_cst);
  else if (tries < 256) std::this_thread::yield();
  else std::this_thread::sleep_for(std::chrono::microseconds(20));
}
std::uint64_t nanoseconds_now() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace garner::at_host
