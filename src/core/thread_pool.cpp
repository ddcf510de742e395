#include "core/thread_pool.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "core/clock.hpp"
#include "core/progress.hpp"

namespace garner {

namespace {
unsigned threads_of_machine() {
  if (char const* text = std::getenv("GARNER_THREADS")) {
    int const n = std::atoi(text);
    if (n > 0) return static_cast<unsigned>(std::min(n, 1024));
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  return std::max(1u, std::thread::hardware_concurrency());
}
}  // namespace

namespace {
thread_local bool in_a_loop = false;  // of any pool: its members would be waited for by one that they wait for
}  // namespace

struct thread_pool::state {
  using chunk_fn = std::function<void(std::uint64_t, std::uint64_t)>;

  std::mutex one_run;  // serializes two threads that share a thread pool
  std::mutex mutex;
  std::condition_variable wake, done;
  // Both change under the mutex. `round` counts the loops, so that a member knows a new one from the one it just did; `working` counts the
  // members that began this loop before it was over: one that wakes later has nothing to do, and nobody waits for it.
  std::atomic<std::uint64_t> round{0};
  std::atomic<unsigned> working{0};
  bool open = false, stop = false;

  std::uint64_t n = 0, grain = 1;
  chunk_fn const* chunk = nullptr;
  std::atomic<std::uint64_t> next{0};
  std::exception_ptr failure;
  bool held = false;  // interrupts, by the thread that runs it

  std::vector<std::jthread> members;

  void work() {
    in_a_loop = true;
    try {
      for (std::uint64_t begin; (begin = next.fetch_add(grain, std::memory_order_relaxed)) < n;) {
        if (!held) check_interrupted();
        (*chunk)(begin, std::min(n, begin + grain));
      }
    } catch (...) {
      std::lock_guard const hold(mutex);
      if (!failure) failure = std::current_exception();
      next.store(n, std::memory_order_relaxed);
    }
    in_a_loop = false;
  }

  // Short loops follow each other. To sleep and be woken takes longer than many of them, so a thread looks for a while before it sleeps.
  template <class Done>
  static void look_for(Done done) {
    constexpr std::chrono::microseconds long_enough{50};
    for (auto const until = steady::now() + long_enough; !done() && steady::now() < until;) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  }

  void member() {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex, std::defer_lock);
    while (true) {
      look_for([&] { return round.load(std::memory_order_relaxed) != seen; });
      lock.lock();
      wake.wait(lock, [&] { return stop || round != seen; });
      if (stop) return;
      seen = round;
      bool const begins = open;
      if (begins) ++working;
      lock.unlock();
      if (!begins) continue;
      work();
      lock.lock();
      if (--working == 0) done.notify_one();
      lock.unlock();
    }
  }
};

thread_pool::thread_pool(unsigned threads) : state_(std::make_unique<state>()) {
  unsigned const n = threads ? threads : threads_of_machine();
  try {
    for (unsigned i = 1; i < n; ++i)
      state_->members.emplace_back([s = state_.get()] {
        pthread_setname_np(pthread_self(), "garner-pool");  // and not that of the thread that made the pool
        s->member();
      });
  } catch (std::system_error const&) {  // the system gives no more threads: go on with those there are
  } catch (std::bad_alloc const&) {
  }
}

thread_pool::~thread_pool() {
  {
    std::lock_guard const hold(state_->mutex);
    state_->stop = true;
  }
  state_->wake.notify_all();
}

unsigned thread_pool::threads() const { return static_cast<unsigned>(state_->members.size()) + 1; }

void thread_pool::run(std::uint64_t n, std::uint64_t grain, std::function<void(std::uint64_t, std::uint64_t)> const& chunk) {
  if (n == 0) return;
  grain = std::max<std::uint64_t>(1, grain);
  state& s = *state_;
  if (n <= grain || s.members.empty() || in_a_loop) {
    for (std::uint64_t begin = 0; begin < n; begin += grain) {
      check_interrupted();
      chunk(begin, std::min(n, begin + grain));
    }
    return;
  }
  std::lock_guard const turn(s.one_run);
  {
    std::lock_guard const hold(s.mutex);  // everything set here is visible to the members when they take the mutex to see `round`
    s.n = n;
    s.grain = grain;
    s.chunk = &chunk;
    s.next.store(0, std::memory_order_relaxed);
    s.failure = nullptr;
    s.held = interrupts_held::here();
    s.open = true;
    ++s.round;
  }
  s.wake.notify_all();
  s.work();
  std::unique_lock lock(s.mutex);
  s.open = false;
  lock.unlock();
  state::look_for([&] { return s.working.load(std::memory_order_relaxed) == 0; });
  lock.lock();
  s.done.wait(lock, [&] { return s.working == 0; });  // members' writes are visible through the same mutex
  if (s.failure) std::rethrow_exception(s.failure);
}

namespace {
std::atomic<thread_pool*> of_this_process{nullptr};
// A child by fork has none of its parent's threads, and its mutexes as they happened to be: it leaves that pool as it is and makes its own.
[[maybe_unused]] int const told_of_forks =
    ::pthread_atfork(nullptr, nullptr, [] { of_this_process.store(nullptr, std::memory_order_relaxed); });
}  // namespace

thread_pool& shared_pool() {
  if (thread_pool* const there = of_this_process.load(std::memory_order_acquire)) return *there;
  auto mine = std::make_unique<thread_pool>();
  thread_pool* first = nullptr;
  if (of_this_process.compare_exchange_strong(first, mine.get(), std::memory_order_acq_rel)) return *mine.release();
  return *first;  // another thread was quicker
}

}  // namespace garner
