// The time of day, for the files of `garner-lab`; and a clock.
#pragma once
#include <chrono>
#include <ctime>
#include <string>

namespace garner::lab {

inline std::string now_utc() {
  std::time_t const now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}
inline double now_ms() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// A setting that takes this long is not repeated: managed memory can thrash between devices for minutes.
inline constexpr double slow_enough_ms = 20'000;

}  // namespace garner::lab
