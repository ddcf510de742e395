// The clock that waits and work are timed by.
#pragma once
#include <chrono>

namespace garner {

using steady = std::chrono::steady_clock;
inline double ms_between(steady::time_point from, steady::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}
inline double ms_since(steady::time_point begun) { return ms_between(begun, steady::now()); }

}  // namespace garner
