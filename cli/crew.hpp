// The threads that work beside the one that tells: each ends soon after another has failed. One that does not, since a device or a file
// keeps it, cannot be ended from outside: who asks learns that, and the program ends without it.
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
