// The clock that waits and work are timed by.
#pragma once
#include <chrono>

namespace garner {

using steady = std::chrono::steady_clock;
inline double ms_since(steady::time_point begun) { return std::chrono::duration<double, std::milli>(steady::now() - begun).count(); }

}  // namespace garner
