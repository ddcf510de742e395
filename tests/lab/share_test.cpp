// Shares of a device: the requirements of MPS, and on a GPU kernels that run in a partition and concurrently with it.
#include "lab/share/share.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "core/exec.hpp"
#include "core/random.hpp"
#include "far/bulk.hpp"
#include "refused.hpp"
#include "support.hpp"

namespace garner::lab {
namespace {
using namespace garner::testing;

class mps : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("garner_mps_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    for (char const* name : {"CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"}) {
      char const* const value = std::getenv(name);
      kept_.emplace_back(name, value ? std::optional<std::string>(value) : std::nullopt);
    }
    ::setenv("CUDA_MPS_PIPE_DIRECTORY", folder_.c_str(), 1);
    ::unsetenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  }
  void TearDown() override {
    for (auto const& [name, value] : kept_) value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
    std::filesystem::remove_all(folder_);
  }
  void put_pid(std::string const& text) { std::ofstream(folder_ / "nvidia-cuda-mps-control.pid") << text; }
  std::filesystem::path folder_;
  std::vector<std::pair<std::string, std::optional<std::string>>> kept_;
};

TEST_F(mps, that_does_not_run_is_said_with_how_to_start_it) {
  for (char const* pid : {"", "x", "0", "-5", "2147483646"}) {  // missing, invalid, a process that does not exist
    put_pid(pid);
    EXPECT_FALSE(mps_here().runs) << pid;
  }
  std::filesystem::remove(folder_ / "nvidia-cuda-mps-control.pid");
  errc code{};
  std::string const text = error_of([] { require_mps(mps_here()); }, &code);
  EXPECT_EQ(code, errc::device);
  for (std::string const& word :
       {folder_.string(), std::string("nvidia-cuda-mps-control -d"), std::string("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE")})
    EXPECT_NE(text.find(word), std::string::npos) << text;
}

TEST_F(mps, needs_a_percentage_that_is_one) {
  put_pid(std::to_string(::getpid()));
  EXPECT_TRUE(mps_here().runs);
  for (char const* bad : {"", "0", "-3", "101", "ten", "10 %", "nan"}) {
    ::setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", bad, 1);
    EXPECT_TRUE(refused(errc::device, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", [] { require_mps(mps_here()); })) << bad;
  }
  for (char const* good : {"10", "0.5", "100"}) {
    ::setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", good, 1);
    EXPECT_NO_THROW(require_mps(mps_here())) << good;
  }
}

struct count_up {
  std::uint32_t* counts;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    counts[i] += static_cast<std::uint32_t>(i % 7) + 1;
  }
};
void expect_counts(executor& x) {
  constexpr std::uint64_t n = 1 << 20;
  auto const counts = near_copy(x, std::vector<std::uint32_t>(n));
  for (int round = 0; round < 3; ++round) for_each_item<1>(x, n, count_up{counts.data()});
  auto const got = host_copy(x, counts.data(), n);
  for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(got[i], 3 * (i % 7 + 1));
}

TEST(shares, at_the_host_there_is_nothing_to_share) {
  shared_executor x({device_kind::cpu, 0}, sm_share{share_kind::partition, 8});
  EXPECT_EQ(x.share(), nullptr);
  EXPECT_EQ(x.multiprocessors(), 0);
  shared_executor y(x, shared_executor::beside{});
  expect_counts(x);
  expect_counts(y);
}

TEST(shares, without_a_gpu_are_refused) {
  if (device::count() > 0) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_TRUE(refused(errc::device, [] { device_share(0, {share_kind::partition, 8}); }));
}

class device_shares : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
    all_ = device::describe(0).multiprocessors;
  }
  int all_ = 0;
};

TEST_F(device_shares, of_every_kind_run_and_say_what_was_given) {
  for (sm_share const& wanted :
       {sm_share{}, sm_share{share_kind::grid, 4}, sm_share{share_kind::automatic, 8}, sm_share{share_kind::automatic, 100'000}}) {
    shared_executor x({device_kind::cuda, 0}, wanted);
    ASSERT_NE(x.share(), nullptr);
    SCOPED_TRACE(x.share()->about());
    if (wanted.multiprocessors == 0 || wanted.multiprocessors > 1000) {
      EXPECT_EQ(x.multiprocessors(), all_);
    } else {
      EXPECT_GE(x.multiprocessors(), static_cast<int>(wanted.multiprocessors));
    }
    expect_counts(x);
    shared_executor y(x, shared_executor::beside{});
    expect_counts(y);
  }
}

TEST_F(device_shares, a_partition_and_the_rest_run_side_by_side) {
  std::optional<shared_executor> x;
  try {
    x.emplace(execution_device{device_kind::cuda, 0}, sm_share{share_kind::partition, 3});
  } catch (error const& e) {
    EXPECT_NE(std::string(e.what()).find("grid:3"), std::string::npos) << e.what();
    GTEST_SKIP() << e.what();
  }
  EXPECT_EQ(x->share()->kind(), share_kind::partition);
  EXPECT_GE(x->multiprocessors(), 3);  // rounded up
  EXPECT_LE(x->multiprocessors(), 16);
  shared_executor rest(*x, shared_executor::beside{});
  EXPECT_GT(rest.multiprocessors(), 0);
  EXPECT_LE(x->multiprocessors() + rest.multiprocessors(), all_);
  for (int round = 0; round < 5; ++round) {
    expect_counts(*x);
    expect_counts(rest);
  }
  x.reset();  // the share lives as long as its last executor
  expect_counts(rest);
}

TEST_F(device_shares, of_nothing_are_refused) {
  for (share_kind kind : {share_kind::automatic, share_kind::grid, share_kind::partition}) {
    EXPECT_TRUE(refused(errc::usage, [&] { device_share(0, {kind, 0}); }));
  }
  if (mps_here().runs) return;
  EXPECT_TRUE(refused(errc::device, [&] { shared_executor({device_kind::cuda, 0}, sm_share{share_kind::mps, 0}); }));
}

// Not a test but a table of rates, to tune the kernel: --gtest_also_run_disabled_tests --gtest_filter=*rates*, GARNER_GIB=32.
TEST(bulk_rates, DISABLED_on_a_device) {
  if (!has_bulk_copies(0)) GTEST_SKIP() << "needs a GPU with bulk copies";
  char const* const gib = std::getenv("GARNER_GIB");
  std::uint64_t const words = (std::uint64_t{1} << 27) * static_cast<std::uint64_t>(gib ? std::atoi(gib) : 8);
  buffer<std::uint64_t> const table(tier::host, words, 0, "a table of rates");
  shared_pool().run(words, 1 << 20, [&](std::uint64_t a, std::uint64_t b) {
    for (std::uint64_t i = a; i < b; ++i) table[i] = i;
  });
  for (std::uint64_t row : {512, 1024, 2048, 2408, 4096, 16'384})
    for (bool sorted : {false, true})
      for (unsigned warps : {0u, 4u, 16u})
        for (sm_share const& share : {sm_share{share_kind::all}, sm_share{share_kind::partition, 8}}) {
          shared_executor x({device_kind::cuda, 0}, share);
          std::uint64_t const rows = words * 8 / row, count = (std::uint64_t{2} << 30) / row;
          buffer<std::uint64_t> const out(tier::device, count * row / 8, 0, "rates");
          std::string line = fmt::format("{:6} B {} {:2} warps {:9}:", row, sorted ? "sorted" : "random", warps, to_string(share.kind));
          for (unsigned multiprocessors : {1u, 2u, 4u, 8u}) {
            double best = 1e9;
            std::vector<std::uint64_t> ids(count);
            for (unsigned round = 0; round < 3; ++round) {
              for (std::uint64_t k = 0; k < count; ++k) ids[k] = random_bits(round, multiprocessors, k) % rows;
              if (sorted) std::sort(ids.begin(), ids.end());
              auto const near_ids = near_copy(x, ids);
              void *const a = device::make_event(0), *const b = device::make_event(0);
              device::record(0, x.stream(), a);
              gather_bulk(
                  x, {.table = table.data(), .rows = rows, .row_bytes = row, .ids = near_ids.data(), .count = count, .out = out.data()},
                  {multiprocessors, warps});
              device::record(0, x.stream(), b);
              x.wait();
              best = std::min(best, device::elapsed_ms(0, a, b));
              device::free_event(0, a);
              device::free_event(0, b);
            }
            auto const some = host_copy(x, out.data(), row / 8);
            for (std::uint64_t i = 0; i < some.size(); ++i) ASSERT_EQ(some[i], ids[0] * row / 8 + i);
            line += fmt::format(" {} SM {:5.1f} GB/s", multiprocessors, static_cast<double>(count * row) / best / 1e6);
          }
          fmt::print("{}\n", line);
        }
}

}  // namespace
}  // namespace garner::lab
