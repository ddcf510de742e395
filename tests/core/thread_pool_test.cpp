#include "core/thread_pool.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "child.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/stats.hpp"
#include "sanitized.hpp"

namespace garner {
namespace {

TEST(thread_pool, visits_each_index_once) {
  for (unsigned threads : {1u, 2u, 7u}) {
    thread_pool c(threads);
    EXPECT_EQ(c.threads(), threads);
    for (std::uint64_t n : {0u, 1u, 63u, 64u, 65u, 10007u}) {
      std::vector<std::atomic<int>> visits(n);
      c.run(n, 64, [&](std::uint64_t begin, std::uint64_t end) {
        EXPECT_LE(end - begin, 64u);
        for (; begin < end; ++begin) ++visits[begin];
      });
      for (auto const& v : visits) EXPECT_EQ(v, 1);
    }
  }
}

TEST(thread_pool, child_by_fork_makes_its_own) {
#if GARNER_THREAD_SANITIZED
  GTEST_SKIP() << "ThreadSanitizer starts no thread in a child by fork of a process with threads";
#endif
  auto const sum = [] {
    std::atomic<std::uint64_t> all{0};
    shared_pool().run(1000, 1, [&](std::uint64_t begin, std::uint64_t) { all += begin; });
    return all.load();
  };
  ASSERT_EQ(sum(), 499500u);  // the parent's threads exist
  ::pid_t const child = ::fork();
  if (child == 0) {
    ::alarm(20);  // ends a child that waits for missing threads
    ::_exit(sum() == 499500 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(sum(), 499500u);
}

TEST(thread_pool, a_loop_within_a_loop_runs_on_the_thread_that_calls_it) {
  thread_pool c(3), other(2);
  std::atomic<std::uint64_t> all{0};
  ::alarm(60);  // ends a deadlock
  for (thread_pool* const inner : {&c, &other})
    c.run(20, 1, [&](std::uint64_t, std::uint64_t) {
      inner->run(50, 1, [&, here = std::this_thread::get_id()](std::uint64_t begin, std::uint64_t) {
        EXPECT_EQ(std::this_thread::get_id(), here);
        all += begin;
      });
    });
  EXPECT_THROW(c.run(20, 1, [&](std::uint64_t, std::uint64_t) { c.run(50, 1, [](auto, auto) { throw std::runtime_error("here"); }); }),
               std::runtime_error);
  c.run(20, 1, [&](std::uint64_t, std::uint64_t) { ++all; });
  ::alarm(0);
  EXPECT_EQ(all, 2u * 20 * 1225 + 20);
}

// main() returns while other threads run loops of the process's own pool, on it or within it.
TEST(thread_pool_process, DISABLED_child) {
  if (!std::getenv("GARNER_POOL_ENDS")) return;
  std::atomic<bool>& runs = *new std::atomic<bool>(false);
  for (int k = 0; k < 2; ++k)
    std::thread([&runs] {
      for (;;) shared_pool().run(200, 1, [&](std::uint64_t, std::uint64_t) { runs = true; });
    }).detach();
  while (!runs) std::this_thread::yield();
  ::alarm(20);
  std::exit(0);
}
TEST(thread_pool, outlasts_main) {
  for (int k = 0; k < 10; ++k) {
    testing::child c("thread_pool_process.DISABLED_child", {"GARNER_POOL_ENDS=1", "GARNER_THREADS=4"});
    EXPECT_EQ(c.end(), 0);
  }
}

TEST(thread_pool, what_was_written_is_seen) {  // for ThreadSanitizer
  thread_pool c(4);
  std::vector<int> data(1000, 0);
  for (int round = 1; round <= 200; ++round) {
    c.run(data.size(), 10, [&](std::uint64_t begin, std::uint64_t end) {
      for (; begin < end; ++begin) data[begin] += round;
    });
    EXPECT_EQ(data[round], round * (round + 1) / 2);
  }
}

TEST(thread_pool, the_first_exception_comes_out_and_the_pool_lives_on) {
  thread_pool c(3);
  EXPECT_THROW(c.run(1000, 1,
                     [](std::uint64_t i, std::uint64_t) {
                       if (i == 500) throw std::runtime_error("here");
                     }),
               std::runtime_error);
  std::atomic<int> n{0};
  c.run(1000, 1, [&](std::uint64_t, std::uint64_t) { ++n; });
  EXPECT_EQ(n, 1000);
}

TEST(thread_pool, two_threads_share_one) {
  thread_pool c(2);
  std::atomic<int> n{0};
  auto const use = [&] {
    for (int i = 0; i < 50; ++i) c.run(100, 1, [&](std::uint64_t, std::uint64_t) { ++n; });
  };
  {
    std::jthread const other(use);
    use();
  }
  EXPECT_EQ(n, 10000);
}

TEST(thread_pool, stops_when_asked_to) {
  thread_pool c(2);
  std::atomic<int> chunks{0};
  EXPECT_THROW(c.run(1000, 1,
                     [&](std::uint64_t, std::uint64_t) {
                       if (++chunks == 10) request_interrupt();
                     }),
               error);
  clear_interrupt();
  EXPECT_LT(chunks, 1000);
}

TEST(progress, tells_and_stops) {
  progress work("testing", 10);
  work.advance(1);
  request_interrupt();
  EXPECT_THROW(work.advance(1), error);
  clear_interrupt();
  work.advance(1);
}

TEST(stats, counters_and_phases_add_up) {
  static counter apples{"test.apples"};
  apples.add(3);
  apples.add();
  { phase const p{"test.phase"}; }
  { phase const p{"test.phase"}; }
  auto const named = [](auto const& all, char const* name) {
    return *std::find_if(all.begin(), all.end(), [&](auto const& one) { return one.name == name; });
  };
  EXPECT_EQ(named(counter_values(), "test.apples").value, 4u);
  EXPECT_EQ(named(phase_totals(), "test.phase").times, 2u);
}

TEST(random, labels_are_permuted_one_to_one) {
  for (int bits : {1, 2, 5, 12}) {
    std::vector<bool> hit(1u << bits);
    for (std::uint64_t v = 0; v < hit.size(); ++v) {
      std::uint64_t const to = permute_label(v, bits, 42);
      ASSERT_LT(to, hit.size());
      EXPECT_FALSE(hit[to]);
      hit[to] = true;
    }
  }
}

TEST(random, numbers_are_fixed_and_even) {
  // Pinned: graph files of generated graphs must not change between versions.
  EXPECT_EQ(random_bits(1, 0, 0), random_bits(1, 0, 0));
  EXPECT_NE(random_bits(1, 0, 0), random_bits(2, 0, 0));
  EXPECT_NE(random_bits(1, 0, 0), random_bits(1, 1, 0));
  EXPECT_EQ(edge_bits(3, 9, 5), edge_bits(9, 3, 5));
  int ones[64] = {};
  for (std::uint64_t i = 0; i < 4096; ++i)
    for (int b = 0; b < 64; ++b) ones[b] += random_bits(7, 3, i) >> b & 1;
  for (int n : ones) EXPECT_NEAR(n, 2048, 200);
}

}  // namespace
}  // namespace garner
