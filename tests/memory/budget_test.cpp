// Budgets, the host's memory as /proc and /sys report it, and the syntax of byte counts.
#include "memory/budget.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <thread>
#include <vector>

#include "support.hpp"

namespace garner {
namespace {

using testing::error_of;
constexpr std::uint64_t gib = std::uint64_t{1} << 30;

TEST(budget, takes_up_to_its_limit_and_no_byte_more) {
  budget b("host memory", "--memory-limit", 100);
  b.take(60, "one");
  b.take(40, "two");
  EXPECT_EQ(b.used(), 100u);
  errc code{};
  EXPECT_EQ(error_of([&] { b.take(1, "the edges"); }, &code),
            "host memory: 1 bytes (1 B) for the edges are over the budget: 100 of 100 bytes are in use; raise --memory-limit or use less");
  EXPECT_EQ(code, errc::memory);
  EXPECT_EQ(b.used(), 100u);
  b.give_back(60);
  b.take(1, "again");
  EXPECT_EQ(b.used(), 41u);
  EXPECT_EQ(b.peak(), 100u);
}

TEST(budget, gigantic_requests_do_not_wrap) {
  budget b("x", "y", budget::unlimited - 1);
  b.take(1000, "some");
  EXPECT_THROW(b.take(budget::unlimited, "all"), error);
  for (std::uint64_t less : {1000u, 999u, 500u, 1u}) EXPECT_THROW(b.take(budget::unlimited - less, "all but some"), error) << less;
  EXPECT_EQ(b.used(), 1000u);
}

TEST(budget, a_limit_below_what_is_in_use_refuses_whatever_comes_next) {
  budget b("x", "y");
  b.take(1000, "some");
  b.set_limit(500);
  EXPECT_THROW(b.take(1, "more"), error);
  b.give_back(600);
  b.take(100, "more");
  EXPECT_THROW(b.take(1, "more"), error);
}

TEST(budget, holds_among_threads) {
  budget b("x", "y", 1000);
  std::atomic<std::uint64_t> over{0}, refused{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 2000; ++i) try {
            b.take(300, "x");
            if (b.used() > 1000) ++over;
            std::this_thread::yield();
            b.give_back(300);
          } catch (error const&) {
            ++refused;
          }
      });
  }
  EXPECT_EQ(over, 0u);
  EXPECT_EQ(b.used(), 0u);
  EXPECT_LE(b.peak(), 1000u);
}

TEST(budget, one_each_for_the_host_and_every_gpu) {
  EXPECT_EQ(&host_budget(), &host_budget());
  EXPECT_GT(host_budget().limit(), 0u);
  budget* const first = &device_budget(0);
  device_budget(9);
  EXPECT_EQ(&device_budget(0), first);
  EXPECT_NE(&device_budget(1), first);
  EXPECT_EQ(device_budget(3).limit(), budget::unlimited);
  EXPECT_THROW(device_budget(-1), error);
}

// A machine made of files.
class host_memory_test : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / ("garner_budget_" + std::to_string(::getpid()));
    std::filesystem::remove_all(root_);
    put("proc/meminfo", "MemTotal:       4194304 kB\nMemFree: 1 kB\nMemAvailable:    1048576 kB\nSwapTotal:             0 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void put(std::string const& file, std::string const& text) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  void put_zones(std::uint64_t bytes) {
    put("proc/zoneinfo", "Node 0, zone   Normal\n        spanned  99999999\n        present  " +
                             std::to_string(bytes / static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))) +
                             "\n        managed  1\nNode 0, zone  Movable\n        present  0\n");
  }
  host_memory now() const { return host_memory_now(root_); }
  std::filesystem::path root_;
};

TEST_F(host_memory_test, a_total_that_may_grow_is_no_limit) {
  host_memory const m = now();
  EXPECT_EQ(m.total, 4 * gib);
  EXPECT_EQ(m.available, gib);
  EXPECT_EQ(m.limit(), budget::unlimited);
  EXPECT_EQ(m.free(), gib);
}

TEST_F(host_memory_test, what_is_installed_limits_though_less_is_set_up) {
  put_zones(256 * gib);
  host_memory const m = now();
  EXPECT_EQ(m.limit(), 256 * gib);
  EXPECT_EQ(m.free(), 253 * gib);  // 3 of the 4 huge pages are in use
}

TEST_F(host_memory_test, a_control_group_of_version_2_limits_without_its_page_cache) {
  put_zones(256 * gib);
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/memory.max", std::to_string(8 * gib) + "\n");
  put("sys/fs/cgroup/memory.current", std::to_string(3 * gib) + "\n");
  put("sys/fs/cgroup/memory.stat", "anon 5\ninactive_file " + std::to_string(gib) + "\nactive_file " + std::to_string(gib / 2) + "\n");
  EXPECT_EQ(now().limit(), 8 * gib - 3 * gib / 2);
  put("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(now().limit(), 256 * gib);
}

TEST_F(host_memory_test, the_tightest_of_the_ancestors_counts) {
  put("proc/self/cgroup", "0::/a/b/c\n");
  put("sys/fs/cgroup/a/b/c/memory.max", std::to_string(10 * gib));
  put("sys/fs/cgroup/a/b/memory.max", std::to_string(6 * gib));
  put("sys/fs/cgroup/a/b/memory.current", std::to_string(gib));
  put("sys/fs/cgroup/a/memory.max", "max");
  EXPECT_EQ(now().limit(), 5 * gib);
}

TEST_F(host_memory_test, a_control_group_of_version_1_limits) {
  put("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/jobs/1\n0::/\n");
  put("sys/fs/cgroup/memory/jobs/1/memory.limit_in_bytes", std::to_string(2 * gib));
  put("sys/fs/cgroup/memory/jobs/1/memory.usage_in_bytes", std::to_string(gib));
  put("sys/fs/cgroup/memory/jobs/1/memory.stat", "inactive_file 7\ntotal_inactive_file " + std::to_string(gib / 4) + "\n");
  EXPECT_EQ(now().limit(), gib + gib / 4);
  put("sys/fs/cgroup/memory/jobs/1/memory.limit_in_bytes", "9223372036854771712\n");  // means "none"
  EXPECT_EQ(now().limit(), budget::unlimited);
}

TEST_F(host_memory_test, a_container_sees_its_group_as_the_root) {
  put("proc/self/cgroup", "4:memory:/docker/0123\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(gib));
  EXPECT_EQ(now().limit(), gib);
}

TEST_F(host_memory_test, a_group_that_is_full_leaves_nothing) {
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/memory.max", "1000");
  put("sys/fs/cgroup/memory.current", "2000");
  EXPECT_EQ(now().limit(), 0u);
}

TEST_F(host_memory_test, a_system_that_tells_nothing_does_not_limit) {
  std::filesystem::remove_all(root_);
  EXPECT_EQ(now().limit(), budget::unlimited);
  EXPECT_EQ(now().total, 0u);
}

TEST(host_memory, of_this_machine_makes_sense) {
  host_memory const m = host_memory_now();
  EXPECT_GT(m.total, 64u << 20);
  EXPECT_LE(m.available, m.total);
  EXPECT_GE(m.installed, m.total);
  EXPECT_LE(m.free(), m.limit());
}

TEST(bytes, are_parsed) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("4096B"), 4096u);
  EXPECT_EQ(parse_bytes("1k"), 1024u);
  EXPECT_EQ(parse_bytes("512M"), 512u << 20);
  EXPECT_EQ(parse_bytes("512MB"), 512'000'000u);
  EXPECT_EQ(parse_bytes("512 MB"), 512'000'000u);
  EXPECT_EQ(parse_bytes("8GB"), 8'000'000'000u);
  EXPECT_EQ(parse_bytes("8 GiB"), 8 * gib);
  EXPECT_EQ(parse_bytes("1.5 GiB"), 3 * gib / 2);
  EXPECT_EQ(parse_bytes("8GiB"), 8 * gib);
  EXPECT_EQ(parse_bytes("8gib"), 8 * gib);
  EXPECT_EQ(parse_bytes("8Gi"), 8 * gib);
  EXPECT_EQ(parse_bytes("1.5G"), 3 * gib / 2);
  EXPECT_EQ(parse_bytes("1.5e9"), 1'500'000'000u);
  EXPECT_EQ(parse_bytes("2T"), 2048 * gib);
  EXPECT_EQ(parse_bytes("9007199254740993"), 9007199254740993u);  // not a double
}

TEST(bytes, that_are_none_are_refused_with_examples) {
  for (char const* text : {"",      " ",   "G",   "GiB", "-1",  "-1G",  "8X",   "8GiBs",     "8 Gi B", "8i",
                           "8 B B", "8iB", "8GG", "nan", "inf", "1e30", "0x10", "99999999T", "1,5G",   "+8"}) {
    errc code{};
    std::string const said = error_of([&] { parse_bytes(text); }, &code);
    EXPECT_EQ(code, errc::usage) << text;
    EXPECT_NE(said.find("8GiB"), std::string::npos) << said;
  }
}

TEST(bytes, are_written) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes((1u << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(8 * gib), "8.0 GiB");
  EXPECT_EQ(format_bytes(2048 * gib), "2.0 TiB");
  EXPECT_EQ(format_bytes(budget::unlimited), "unlimited");
}

}  // namespace
}  // namespace garner
