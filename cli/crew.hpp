// The threads that work while the main one reports: each ends soon after another has failed. A thread that a device or a file blocks cannot
// be ended from outside: the caller is notified, and the program exits without it.
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace garner::cli {

class crew {
 public:
  template <class F>
  void start(F f) {
    {
      std::lock_guard const held(lock_);
      ++running_;
    }
    threads_.emplace_back([this, f] {
      f();
      std::lock_guard const held(lock_);
      --running_;
      ended_.notify_all();
    });
  }
  bool end_within(double seconds) {
    std::unique_lock held(lock_);
    return ended_.wait_for(held, std::chrono::duration<double>(seconds), [this] { return running_ == 0; });
  }

 private:
  std::mutex lock_;
  std::condition_variable ended_;
  int running_ = 0;
  std::vector<std::jthread> threads_;  // joined before the rest goes
};

}  // namespace garner::cli
