// The threads of the host. A thread pool runs a loop in chunks that free members take.
// Invariant: run() returns when every index was visited exactly once; what the calling thread wrote before is visible to the members, and
// what they wrote is visible to the caller afterwards. The first exception of a member stops the loop and is thrown by run().
// Cost: one wake-up of the thread pool, some 10 us; a loop of one chunk runs on the calling thread alone. Plain std::jthread and not OpenMP
// or TBB, because ThreadSanitizer cannot see into their synchronization.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

namespace garner {

class thread_pool {
 public:
  explicit thread_pool(unsigned threads = 0);  // 0: as many as this process may run on
  ~thread_pool();
  thread_pool(thread_pool const&) = delete;
  thread_pool& operator=(thread_pool const&) = delete;

  unsigned threads() const;

  // Calls chunk(begin, end) for chunks of at most `grain` indices that cover [0, n). A loop within a chunk, of any pool, runs on the thread
  // that calls it alone. Stops with errc::interrupted between two chunks on an interrupt of the user.
  void run(std::uint64_t n, std::uint64_t grain, std::function<void(std::uint64_t, std::uint64_t)> const& chunk);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

// The process's own, made at first use, in a child by fork anew; GARNER_THREADS sets its size. It is there until the process has ended:
// other threads may still run loops while main() returns.
thread_pool& shared_pool();

}  // namespace garner
