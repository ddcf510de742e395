// What this process holds: its open files and its threads, as Linux lists them.
#pragma once
#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>

namespace garner::testing {

inline std::ptrdiff_t entries(char const* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator{});
}
// Threads, once their number stood three times: Linux lists a joined thread for a moment.
inline std::ptrdiff_t threads_now() {
  std::ptrdiff_t n = entries("/proc/self/task");
  for (int alike = 0, tries = 0; alike < 3 && tries < 200; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::ptrdiff_t const now = entries("/proc/self/task");
    alike = now == n ? alike + 1 : 0, n = now;
  }
  return n;
}

}  // namespace garner::testing
