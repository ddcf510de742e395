// Reads of files by both engines: every layout, every alignment, and every fault of a file.
#include "storage/reader.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <thread>

#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "memory/buffer.hpp"
#include "refused.hpp"
#include "sanitized.hpp"
#include "storage/engines.hpp"
#include "storage_support.hpp"
#include "support.hpp"

namespace garner {
namespace {

using namespace testing;

// The reason why io_uring is missing here; "": it is available.
std::string no_uring() {
  std::string why;
  make_uring_engine({{}}, 8, why);
  return why;
}

struct reading : in_folder, ::testing::WithParamInterface<engine_kind> {
  void SetUp() override {
    in_folder::SetUp();
    if (std::string const why = no_uring(); GetParam() == engine_kind::uring && !why.empty()) GTEST_SKIP() << "needs io_uring: " << why;
  }
  reader_options with(direct_reads direct = direct_reads::automatic) const {
    reader_options o;
    o.engine = GetParam();
    o.direct = direct;
    return o;
  }
};

// Requests at random positions, of many sizes, some twice, some empty; every byte is compared.
void read_everywhere(reader& files, std::uint64_t requests, std::uint64_t most, std::uint64_t seed) {
  std::vector<std::byte> to(requests * most + 64);
  std::vector<read_request> asked;
  for (std::uint64_t k = 0; k < requests; ++k) {
    std::uint64_t const bytes = std::min(random_bits(seed, 0, k) % (most + 1), files.size());
    std::uint64_t const at = k % 7 == 6 ? asked.back().offset : random_bits(seed, 1, k) % (files.size() - bytes + 1);
    asked.push_back({at, std::min(bytes, files.size() - at), to.data() + k * most + random_bits(seed, 2, k) % 64, k});
    if (k + 1 < requests) asked.back().bytes = std::min<std::uint64_t>(asked.back().bytes, most - 64);
  }
  read_queue queue(files);
  queue.submit(asked);
  std::vector<int> told(requests, 0);
  while (queue.under_way())
    for (read_done const& d : queue.wait(100)) {
      ASSERT_EQ(d.problem, 0) << files.error_of(d).what();
      ++told[d.tag];
      read_request const& r = asked[d.tag];
      ASSERT_TRUE(holds(static_cast<std::byte const*>(r.to), r.offset, r.bytes)) << "request " << d.tag;
    }
  EXPECT_EQ(std::count(told.begin(), told.end(), 1), static_cast<std::ptrdiff_t>(requests));
}

TEST_P(reading, one_file_of_any_length_at_any_place) {
  for (std::uint64_t const bytes : {1ull, 511ull, 4096ull, 4097ull, 1234567ull}) {
    std::string const file = made("one", bytes);
    for (direct_reads const direct : {direct_reads::automatic, direct_reads::no}) {
      reader files({file}, with(direct));
      EXPECT_EQ(files.size(), bytes);
      read_everywhere(files, 300, 20000, bytes);
    }
  }
}

TEST_P(reading, stripes_and_replicas) {
  for (std::uint64_t const unit : {512u, 4096u, 5000u, 65536u}) {
    std::vector<std::string> const names = striped("s", 3, unit, 900001);
    reader_options o = with();
    o.unit_bytes = unit;
    o.size = 900001;
    reader files(names, o);
    read_everywhere(files, 300, 30000, unit);
  }
  std::string const a = made("a", 300000), b = made("b", 300000);
  reader_options o = with();
  o.files = arrangement::replicated;
  reader files({a, b}, o);
  EXPECT_EQ(files.size(), 300000u);
  read_everywhere(files, 300, 30000, 5);
}

TEST_P(reading, a_queue_of_few_places_lets_thousands_wait) {
  std::string const file = made("one", 1 << 20);
  for (unsigned const depth : {1u, 2u, 5u}) {
    reader_options o = with();
    o.depth = depth;
    o.gap_bytes = 0;
    reader files({file}, o);
    read_everywhere(files, 4000, 200, depth);
  }
}

TEST_P(reading, requests_that_touch_or_nearly_do_are_one_read) {
  std::string const file = made("f", 1 << 20);
  reader_options o = with();
  o.gap_bytes = 4096;
  reader files({file}, o);
  buffer<std::byte> to(tier::host, 10 * 4096, -1, "a test");
  auto const page = [&](std::uint64_t p, std::uint64_t slot) { return read_request{p * 4096, 4096, to.data() + slot * 4096, p}; };
  // Unordered: 3 that touch, one after a gap of a page, one after a gap of two.
  std::vector<read_request> const asked{page(12, 4), page(2, 2), page(0, 0), page(1, 1), page(4, 3), page(7, 5)};
  read_all(files, asked);
  for (read_request const& r : asked) EXPECT_TRUE(holds(static_cast<std::byte*>(r.to), r.offset, r.bytes)) << r.tag;
  read_counters const c = files.counters();
  EXPECT_EQ(c.requests, 6u);
  EXPECT_EQ(c.bytes_asked, 6u * 4096);
  EXPECT_EQ(c.reads, 3u);
  EXPECT_EQ(c.joined, 4u);
  EXPECT_EQ(c.bytes_read, 7u * 4096);
  EXPECT_EQ(c.copied_bytes, 0u);
  EXPECT_EQ(c.latency.count(), 3u);
  // A page requested twice is read once.
  std::vector<read_request> const twice{page(100, 0), page(100, 1)};
  read_all(files, twice);
  EXPECT_EQ(files.counters().reads, 4u);
  EXPECT_TRUE(holds(to.data(), 409600, 4096));
  EXPECT_TRUE(holds(to.data() + 4096, 409600, 4096));
}

TEST_P(reading, registered_memory_and_several_threads) {
  std::string const file = made("f", 3 << 20);
  reader files({file}, with());
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 3; ++t)
      threads.emplace_back([&, t] {
        buffer<std::byte> to(tier::host, 64 * 4096, -1, "a test");
        read_queue queue(files);
        queue.register_memory(to.data(), to.bytes());
        for (int round = 0; round < 20; ++round) {
          std::vector<read_request> asked;
          for (std::uint64_t k = 0; k < 64; ++k)
            asked.push_back({random_bits(t, static_cast<std::uint64_t>(round), k) % 768 * 4096, 4096, to.data() + k * 4096, k});
          read_all(queue, files, asked);
          for (read_request const& r : asked) wrong += !holds(static_cast<std::byte*>(r.to), r.offset, r.bytes);
        }
      });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(files.counters().requests, 3u * 20 * 64);
  EXPECT_NE(files.about().find(GetParam() == engine_kind::uring ? "io_uring" : "threads that read"), std::string::npos) << files.about();
}

TEST_P(reading, a_file_that_is_cut_while_it_is_read) {
  std::string const file = made("f", 100000);
  reader files({file}, with());
  std::filesystem::resize_file(file, 50000);
  std::vector<std::byte> to(8192);
  std::vector<read_request> const asked{{48000, 8192, to.data(), 0}};
  errc code{};
  EXPECT_EQ(error_of([&] { read_all(files, asked); }, &code),
            file + ": 8192 bytes at byte 48000: the file ends before; was it cut just now?");
  EXPECT_EQ(code, errc::input);
  EXPECT_NE(error_of([&] { files.require_unchanged(); }).find("was written to since it was opened"), std::string::npos);
  // Reads what is still there.
  std::vector<read_request> const before{{1000, 8192, to.data(), 0}};
  read_all(files, before);
  EXPECT_TRUE(holds(to.data(), 1000, 8192));
}

TEST_P(reading, a_file_that_is_replaced_is_read_as_it_was) {
  std::string const file = made("f", 100000);
  reader files({file}, with());
  files.require_unchanged();
  std::filesystem::rename(made("other", 100000, 7), file);
  EXPECT_EQ(error_of([&] { files.require_unchanged(); }), file + ": was replaced or removed since it was opened; open it again");
  read_everywhere(files, 50, 5000, 1);
}

TEST_P(reading, requests_outside_of_the_file_take_none_with_them) {
  std::string const file = made("f", 5000);
  reader files({file}, with());
  read_queue queue(files);
  std::vector<std::byte> to(6000);
  std::vector<read_request> const asked{{0, 100, to.data(), 0}, {4000, 1001, to.data() + 100, 1}};
  errc code{};
  EXPECT_EQ(error_of([&] { queue.submit(asked); }, &code), "1001 bytes at byte 4000 are requested of " + file + ", which has 5000");
  EXPECT_EQ(code, errc::usage);
  EXPECT_EQ(queue.under_way(), 0u);
  EXPECT_TRUE(queue.wait(10).empty());
}

TEST_P(reading, an_interrupt_takes_back_thousands_of_reads) {
  std::string const file = made("f", 4 << 20);
  reader files({file}, with());
  std::vector<std::byte> to(4 << 20);
  read_queue queue(files);
  std::vector<read_request> asked;
  for (std::uint64_t k = 0; k < 5000; ++k) asked.push_back({random_bits(1, 0, k) % 8000 * 512, 512, to.data() + k * 512, k});
  queue.submit(asked);
  request_interrupt();
  EXPECT_TRUE(refused(errc::interrupted, [&] {
    while (queue.under_way()) queue.wait(10);
  }));
  EXPECT_EQ(queue.under_way(), 0u);
  std::vector<std::byte> const then = to;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(then, to);  // no writer is left
  clear_interrupt();
  read_all(queue, files, asked);  // and the queue continues
  for (read_request const& r : asked) ASSERT_TRUE(holds(static_cast<std::byte*>(r.to), r.offset, r.bytes));
}

INSTANTIATE_TEST_SUITE_P(by, reading, ::testing::Values(engine_kind::uring, engine_kind::threads),
                         [](auto const& info) { return info.param == engine_kind::uring ? "uring" : "threads"; });

struct opening : in_folder {};

TEST_F(opening, what_cannot_be_read_is_named) {
  std::string const none = (folder / "none").string();
  EXPECT_EQ(error_of([&] { reader({none}, {}); }), none + ": cannot be opened: No such file or directory");
  EXPECT_EQ(error_of([&] { reader({folder.string()}, {}); }), folder.string() + ": is neither a regular file nor a block device; name one");
  EXPECT_NE(error_of([&] { reader(std::vector<std::string>{}, {}); }).find("no file to read is named"), std::string::npos);
  std::string const a = made("a", 1000), b = made("b", 999);
  reader_options o;
  o.files = arrangement::replicated;
  EXPECT_EQ(error_of([&] { reader({a, b}, o); }), b + ": has 999 bytes and " + a + " has 1000; replicas are the same");
  o.files = arrangement::striped;
  o.unit_bytes = 512;
  o.size = 2000;
  EXPECT_EQ(error_of([&] { reader({a, b}, o); }), a + ": has 1000 bytes where 1024 are due; is it a whole copy?");
  o = {};
  o.begin = 1001;
  EXPECT_EQ(error_of([&] { reader({a}, o); }), a + ": ends at byte 1000, and what is read of it begins at 1001");
  o = {};
  o.depth = 0;
  EXPECT_NE(error_of([&] { reader({a}, o); }).find("each must be 1 or more"), std::string::npos);
  o = {};
  o.direct = direct_reads::yes;
  EXPECT_NE(error_of([&] { reader({"/proc/version"}, o); }).find("reads through the page cache only"), std::string::npos);
}

TEST_F(opening, no_file_handles_left) {
  if (sanitized) GTEST_SKIP() << "a sanitizer wants file handles of its own";
  if (std::string const why = no_uring(); !why.empty()) GTEST_SKIP() << "needs io_uring: " << why;
  std::string const a = made("a", 1000);
  ::rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  int const next = ::dup(0);
  ::close(next);
  ::rlimit few = before;
  few.rlim_cur = static_cast<::rlim_t>(next) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::string const said = error_of([&] { reader({a, a}, {}); });
  // Handles for the file but none for a ring: threads read.
  few.rlim_cur = static_cast<::rlim_t>(next) + 2;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<std::byte> to(1000);
  std::vector<read_request> const asked{{0, 1000, to.data(), 0}};
  reader files({a}, {});
  read_all(files, asked);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(said, a + ": cannot be opened: Too many open files; no file handles are left: raise `ulimit -n`");
  EXPECT_TRUE(holds(to.data(), 0, 1000));
  EXPECT_NE(files.about().find("threads that read (no io_uring: Too many open files)"), std::string::npos) << files.about();
}

// As in a Docker container: this thread, and its children, may not call io_uring.
TEST_F(opening, where_io_uring_is_refused_threads_read) {
  if (std::string const why = no_uring(); !why.empty()) GTEST_SKIP() << "needs io_uring: " << why;
  std::string const a = made("a", 50'000);
  std::string about, refused;
  bool right = false;
  std::jthread([&] {
    ::sock_filter deny[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(::seccomp_data, nr)),
                            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    ::sock_fprog const program{std::size(deny), deny};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return;
    std::vector<std::byte> to(50'000);
    std::vector<read_request> const asked{{0, 50'000, to.data(), 0}};
    reader files({a}, {});
    read_all(files, asked);
    right = holds(to.data(), 0, 50'000);
    about = files.about();
    reader_options o;
    o.engine = engine_kind::uring;
    reader strict({a}, o);
    refused = error_of([&] { read_all(strict, asked); });
  }).join();
  if (about.empty()) GTEST_SKIP() << "this system filters no system calls";
  EXPECT_TRUE(right);
  EXPECT_NE(about.find("16 threads that read (no io_uring: Operation not permitted)"), std::string::npos) << about;
  EXPECT_EQ(refused, "io_uring is not to be had: Operation not permitted; leave the choice of the engine to Garner");
}

TEST(latencies, buckets_cover_all_times) {
  for (std::uint64_t ns : {0ull, 1ull, 3ull, 4ull, 7ull, 8ull, 1000ull, 123456789ull, ~0ull >> 1}) {
    std::size_t const b = latency_histogram::bucket_of(ns);
    ASSERT_LT(b, latency_histogram::buckets);
    EXPECT_LE(latency_histogram::begin_of(b), ns);
    if (b + 1 < 248) {
      EXPECT_GT(latency_histogram::begin_of(b + 1), ns) << ns;
    }
  }
  latency_histogram h;
  EXPECT_EQ(h.quantile(0.5), 0);
  for (std::uint64_t us = 1; us <= 1000; ++us) ++h.counts[latency_histogram::bucket_of(us * 1000)];
  EXPECT_NEAR(h.quantile(0.5), 5e5, 1e5);
  EXPECT_EQ(gap_that_pays(176e3, 2.07e9), 11761u);
}

}  // namespace
}  // namespace garner
