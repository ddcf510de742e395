// The thread pool over a read function of the test's own, which does what files rarely do.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "storage/engines.hpp"
#include "storage/reader.hpp"
#include "storage_support.hpp"
#include "support.hpp"

namespace garner {
namespace {

using namespace testing;

// A drive whose bytes are a function of their position, read by threads. Reads of [stuck_from, stuck_to) wait for let_go().
struct called final : drive_set {
  std::vector<drive_facts> facts{{"/a/drive", 1 << 20}};
  std::mutex mutex;
  std::condition_variable changed;
  bool gone_on = false;
  std::int64_t stuck_from = -1, stuck_to = -1;
  std::atomic<std::uint64_t> calls{0};
  unsigned threads = 4;

  std::vector<drive_facts> const& drives() const override { return facts; }
  std::unique_ptr<read_engine> engine(engine_options const&) override {
    return make_thread_engine({{}}, threads, "", [this](int, ::iovec const* parts, int count, std::int64_t offset) -> ::ssize_t {
      std::uint64_t const call = calls++;
      std::int64_t bytes = 0;
      for (int k = 0; k < count; ++k) bytes += static_cast<std::int64_t>(parts[k].iov_len);
      if (offset < stuck_to && offset + bytes > stuck_from) {
        std::unique_lock hold(mutex);
        changed.wait(hold, [&] { return gone_on; });
      } else if (call % 5 == 3) {
        errno = call % 2 ? EINTR : EAGAIN;
        return -1;
      }
      std::int64_t const given = call % 3 == 1 ? (bytes + 1) / 2 : bytes;  // short reads
      for (std::int64_t k = 0, part = 0, within = 0; k < given; ++k, ++within) {
        while (within == static_cast<std::int64_t>(parts[part].iov_len)) ++part, within = 0;
        static_cast<std::byte*>(parts[part].iov_base)[within] = byte_at(static_cast<std::uint64_t>(offset + k));
      }
      return given;
    });
  }
  void let_go() {
    std::lock_guard const hold(mutex);
    gone_on = true;
    changed.notify_all();
  }
};

TEST(thread_engine, finishes_what_is_short_or_interrupted) {
  auto const drive = std::make_shared<called>();
  reader files(drive, {});
  std::vector<std::byte> to(200 * 1000);
  std::vector<read_request> asked;
  for (std::uint64_t k = 0; k < 200; ++k) asked.push_back({random_bits(1, 0, k) % (1 << 19), 1 + k * 5, to.data() + k * 1000, k});
  read_all(files, asked);
  for (read_request const& r : asked) ASSERT_TRUE(holds(static_cast<std::byte*>(r.to), r.offset, r.bytes)) << r.tag;
  EXPECT_GT(files.counters().again, 0u);
}

TEST(thread_engine, what_a_thread_has_begun_is_told_late_and_kept) {
  auto const drive = std::make_shared<called>();
  drive->stuck_from = 70'000, drive->stuck_to = 70'001;
  reader_options o;
  o.deadline_seconds = 0.05;
  auto memory = std::make_shared<std::vector<std::byte>>(3000);
  std::weak_ptr<void const> const watched = memory;
  {
    reader files(drive, o);
    read_queue queue(files, memory);
    std::vector<read_request> const asked{{0, 1000, memory->data(), 0}, {69'500, 1000, memory->data() + 1000, 1}};
    queue.submit(asked);
    std::vector<std::byte> const& seen = *memory;
    bool first = false;
    while (queue.under_way())
      for (read_done const& d : queue.wait(1)) {
        EXPECT_EQ(d.problem, d.tag == 1 ? ETIMEDOUT : 0);
        first |= d.tag == 0;
      }
    EXPECT_TRUE(first && holds(seen.data(), 0, 1000));
    memory.reset();
    EXPECT_EQ(queue.lost(), 1u);
  }
  EXPECT_FALSE(watched.expired());
  drive->let_go();
  for (int tries = 0; tries < 1000 && !watched.expired(); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    reader files(drive, {});
    read_queue{files};
  }
  EXPECT_TRUE(watched.expired());
}

TEST(thread_engine, what_waits_for_a_thread_is_cancelled_at_once) {
  auto const drive = std::make_shared<called>();
  drive->threads = 1;
  drive->stuck_from = 0, drive->stuck_to = 1;
  reader_options o;
  o.gap_bytes = 0;
  reader files(drive, o);
  std::vector<std::byte> to(200 * 100);
  std::vector<read_request> asked;
  for (std::uint64_t k = 0; k < 200; ++k) asked.push_back({k * 1000, 100, to.data() + k * 100, k});
  read_queue queue(files);
  queue.submit(asked);
  while (!drive->calls) std::this_thread::yield();
  std::jthread const later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    drive->let_go();
  });
  queue.cancel();
  EXPECT_EQ(drive->calls, 1u);
  EXPECT_EQ(queue.under_way(), 0u);
  read_all(queue, files, asked);  // and it continues
  EXPECT_TRUE(holds(to.data() + 100, 1000, 100));
}

}  // namespace
}  // namespace garner
