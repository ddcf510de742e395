// Counters and phase timers, declared next to their use and shown by --stats.
//   static counter edges_read{"graph.edges_read"};  edges_read.add(n);
//   phase const timed{"bfs.levels"};                 // until the end of the scope; profilers of a device see it too
// Cost: a relaxed atomic add; a phase takes a mutex at its end.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

#include "garner/progress.hpp"

namespace garner {

class counter {
 public:
  explicit counter(char const* name);  // a literal; lives as long as the program
  void add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }
  char const* name() const { return name_; }

 private:
  char const* name_;
  std::atomic<std::uint64_t> value_{0};
};

class phase {
 public:
  explicit phase(char const* name);
  ~phase();
  phase(phase const&) = delete;
  phase& operator=(phase const&) = delete;

 private:
  char const* name_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace garner
