// Simulated drives: their timing, and the reader's response to all their faults.
#include "lab/drives/simulated.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/progress.hpp"
#include "core/random.hpp"
#include "memory/budget.hpp"
#include "memory/buffer.hpp"
#include "refused.hpp"
#include "sanitized.hpp"
#include "storage/measure.hpp"
#include "storage/reader.hpp"
#include "storage_support.hpp"
#include "support.hpp"

namespace garner {
namespace {

using namespace testing;
using namespace lab;

constexpr std::uint64_t page = 512;

// A random number per page, in each of its words another. (By words if they are whole: it makes a million pages.)
void words_at(std::uint64_t offset, std::uint64_t n, std::byte* to) {
  auto const word = [](std::uint64_t of_page, std::uint64_t at) { return of_page + (at / 8 + 1) * 0x9e3779b97f4a7c15ull; };
  for (std::uint64_t k = 0; k < n;) {
    std::uint64_t const at = offset + k, of_page = mix(at / page + 1), end = std::min((at / page + 1) * page - offset, n);
    if (at % 8 == 0 && reinterpret_cast<std::uintptr_t>(to + k) % 8 == 0)
      for (std::uint64_t w = of_page + (at / 8 + 1) * 0x9e3779b97f4a7c15ull; k + 8 <= end; k += 8, w += 0x9e3779b97f4a7c15ull)
        *reinterpret_cast<std::uint64_t*>(to + k) = w;
    for (; k < end; ++k) {
      std::uint64_t const w = word(of_page, offset + k);
      to[k] = reinterpret_cast<std::byte const*>(&w)[(offset + k) % 8];
    }
  }
}

simulated_drive drive_of(std::uint64_t size, std::vector<drive_fault> faults = {}) {
  simulated_drive d;
  d.size = size;
  d.bytes = words_at;
  d.latency_us = 100;
  d.shape = latency_shape::exponential;
  d.faults = std::move(faults);
  return d;
}
drive_fault fault(drive_fault::kind what, double probability, int problem = EIO) {
  drive_fault f;
  f.what = what;
  f.probability = probability;
  f.problem = problem;
  return f;
}
simulation counted(std::uint64_t seed = 1) {
  simulation s;
  s.counted_time = true;
  s.seed = seed;
  return s;
}
std::vector<read_request> pages(std::vector<std::byte>& to, std::uint64_t n, std::uint64_t of, std::uint64_t seed) {
  to.assign(n * page, std::byte{0});
  std::vector<read_request> asked;
  for (std::uint64_t k = 0; k < n; ++k) asked.push_back({random_bits(seed, 0, k) % of * page, page, to.data() + k * page, k});
  return asked;
}
bool right(read_request const& r) {
  static thread_local std::vector<std::byte> due;
  due.resize(r.bytes);
  words_at(r.offset, r.bytes, due.data());
  return std::memcmp(due.data(), r.to, r.bytes) == 0;
}

TEST(simulated, paces_are_those_of_the_drive) {
  struct row {
    simulated_drive drive;
    std::uint64_t bytes;
    unsigned depth;
    double requests_a_second;
  };
  simulated_drive few = optane(1 << 30);
  few.depth = 4;
  for (row const& r :
       {row{optane(1 << 30), 4096, 1, 1e6 / 11}, row{optane(1 << 30), 4096, 8, 8e6 / 11}, row{optane(1 << 30), 512, 128, 1.5e6},
        row{optane(1 << 30), 65536, 128, 6e9 / 65536}, row{samsung_980_pro(1 << 30), 4096, 1, 1e6 / 324},
        row{samsung_980_pro(1 << 30), 4096, 1024, 0.7e6}, row{few, 4096, 64, 4e6 / 11}}) {
    reader_options o;
    o.depth = r.depth;
    o.gap_bytes = 0;
    reader files(simulate({r.drive}, counted()), o);
    read_rate const rate = measure_reads(files, r.bytes, r.depth, 1, 0.02);
    EXPECT_NEAR(rate.requests_a_second() / r.requests_a_second, 1, 0.05) << r.drive.name << ' ' << r.bytes << ' ' << r.depth;
  }
}

TEST(simulated, several_drives_are_faster_until_their_link_is_full) {
  auto const rate = [](unsigned drives, double link) {
    simulation s = counted();
    s.link_bytes_a_second = link;
    reader_options o;
    o.depth = 1024;
    o.gap_bytes = 0;
    reader files(simulate(std::vector<simulated_drive>(drives, samsung_980_pro(1 << 30)), s), o);
    return measure_reads(files, 4096, 1024 * drives, 1, 0.02).requests_a_second();
  };
  EXPECT_GE(rate(4, 0) / rate(1, 0), 3.8);
  EXPECT_NEAR(rate(4, 4096 * 1e6) / 1e6, 1, 0.05);
}

TEST(simulated, latencies_are_drawn_as_told) {
  auto const drawn = [](latency_shape shape) {
    simulated_drive d = drive_of(1 << 30);
    d.shape = shape;
    d.latency_us = 200;
    d.least_us = shape == latency_shape::exponential ? 50 : 0;
    d.table_us = {100, 300};
    reader_options o;
    o.depth = 1;
    reader files(simulate({d}, counted()), o);
    return measure_reads(files, 512, 1, 1, sanitized ? 0.2 : 2);
  };
  for (latency_shape const shape : {latency_shape::fixed, latency_shape::uniform, latency_shape::exponential, latency_shape::table}) {
    read_rate const r = drawn(shape);
    EXPECT_NEAR(r.seconds / static_cast<double>(r.requests) * 1e6, 200, sanitized ? 30 : 8);
    double const low = r.latency.quantile(0.01) / 1e3, high = r.latency.quantile(0.99) / 1e3;
    switch (shape) {
      case latency_shape::fixed:
        EXPECT_NEAR(low, high, 1);
        break;
      case latency_shape::uniform:
        EXPECT_LT(low, 10);
        EXPECT_NEAR(high, 400, 50);
        break;
      case latency_shape::exponential:
        EXPECT_NEAR(low, 52, 10);
        EXPECT_GT(high, 500);
        break;
      case latency_shape::table:
        EXPECT_NEAR(low, 100, 15);
        EXPECT_NEAR(high, 300, 40);
        break;
    }
  }
}

TEST(simulated, the_same_seed_gives_the_same_answers) {
  auto const order = [](std::uint64_t seed) {
    reader files(simulate({drive_of(1 << 24, {fault(drive_fault::kind::fails, 0.01)})}, counted(seed)), {});
    std::vector<std::byte> to;
    read_queue queue(files);
    std::vector<read_request> const asked = pages(to, 2000, 1 << 15, 3);
    queue.submit(asked);
    std::vector<std::pair<std::uint64_t, int>> told;
    while (queue.under_way())
      for (read_done const& d : queue.wait(7)) told.emplace_back(d.tag, d.problem);
    return told;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

// A million pages with all faults at once: each is right, or its request is reported as failed.
TEST(faults, a_million_pages_come_right_or_not_at_all) {
  constexpr std::uint64_t all = sanitized ? 50'000 : 1'000'000, of = 1 << 16, at_once = 5'000;
  using kind = drive_fault::kind;
  for (bool const direct : {false, true}) {
    std::vector<simulated_drive> drives;
    for (int k = 0; k < 3; ++k) {
      drives.push_back(drive_of(of * page, {fault(kind::fails, 1e-4), fault(kind::fails, 1e-3, EINTR), fault(kind::fails, 1e-3, EAGAIN),
                                            fault(kind::short_read, 1e-2), fault(kind::twice, 1e-3), fault(kind::late, 1e-5)}));
      drives.back().direct = direct;
      drives.back().bytes = [k](std::uint64_t offset, std::uint64_t n, std::byte* to) {
        words_at(offset + static_cast<std::uint64_t>(k) * of * page, n, to);
      };
    }
    reader_options o;
    o.files = arrangement::striped;
    o.unit_bytes = of * page;
    o.gap_bytes = page;
    auto const simulated = simulate(std::move(drives), counted(direct));
    reader files(simulated, o);
    read_queue queue(files);
    std::uint64_t failed = 0, came = 0, wrong = 0;
    std::vector<std::byte> to;
    for (std::uint64_t done = 0; done < all / 2; done += at_once) {
      std::vector<read_request> const asked = pages(to, at_once, 3 * of, done);
      std::vector<int> told(at_once, 0);
      // Some are submitted while others are in flight, so that queue slots are reused.
      for (std::size_t begin = 0; begin < at_once || queue.under_way();) {
        for (; begin < at_once && queue.under_way() < 1000; begin += 100) queue.submit(std::span(asked).subspan(begin, 100));
        for (read_done const& d : queue.wait(1000)) {
          ++told[d.tag];
          if (d.problem) {
            EXPECT_EQ(d.problem, EIO);
            ++failed;
          } else {
            ++came;
            wrong += !right(asked[d.tag]);
          }
        }
      }
      ASSERT_EQ(std::count(told.begin(), told.end(), 1), static_cast<std::ptrdiff_t>(at_once));
    }
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(came + failed, all / 2);
    EXPECT_GT(simulated->faults_met(), all / 200);
    read_counters const c = files.counters();
    EXPECT_EQ(c.failed, failed);
    EXPECT_LT(failed, all / 2000);  // a merged read that fails does not fail its neighbors
    EXPECT_GT(c.again, 0u);
    EXPECT_GT(c.strays, 0u);
    if (!sanitized) {
      EXPECT_GT(failed, 0u);
    }
  }
}

TEST(faults, another_replica_is_asked) {
  drive_fault bad = fault(drive_fault::kind::fails, 1);
  reader_options o;
  o.files = arrangement::replicated;
  reader files(simulate({drive_of(1 << 20, {bad}), drive_of(1 << 20)}, counted()), o);
  std::vector<std::byte> to;
  std::vector<read_request> const asked = pages(to, 1000, 2048, 1);
  read_all(files, asked);
  for (read_request const& r : asked) ASSERT_TRUE(right(r));
  // Replicas on drives with different blocks, read past the page cache.
  simulated_drive small = drive_of(1 << 20, {bad}), large = drive_of(1 << 20);
  small.direct = large.direct = true;
  large.offset_align = 4096;
  reader mixed(simulate({small, large}, counted()), o);
  std::vector<std::byte> again;
  std::vector<read_request> const asked_again = pages(again, 1000, 2048, 2);
  read_all(mixed, asked_again);
  for (read_request const& r : asked_again) ASSERT_TRUE(right(r));
  EXPECT_NE(mixed.about().find("past the page cache (blocks of 4096)"), std::string::npos) << mixed.about();

  reader both(simulate({drive_of(1 << 20, {bad}), drive_of(1 << 20, {bad})}, counted()), o);
  EXPECT_TRUE(refused(errc::io, "cannot be read: Input/output error", [&] { read_all(both, asked); }));
}

TEST(faults, an_error_names_file_place_length_and_reason) {
  drive_fault f = fault(drive_fault::kind::fails, 1);
  f.begin = 5000, f.end = 5001;
  simulated_drive d = drive_of(1 << 20, {f});
  d.name = "/mnt/x";
  reader files(simulate({d}, counted()), {});
  std::vector<std::byte> to(8192);
  // Four merged requests: the one with the bad byte fails.
  std::vector<read_request> asked;
  for (std::uint64_t k = 0; k < 4; ++k) asked.push_back({k * 2048, 2048, to.data() + k * 2048, k});
  read_queue queue(files);
  queue.submit(asked);
  std::vector<read_done> told;
  while (queue.under_way())
    for (read_done const& t : queue.wait(1)) told.push_back(t);
  ASSERT_EQ(told.size(), 4u);
  for (read_done const& t : told) {
    EXPECT_EQ(t.problem, t.tag == 2 ? EIO : 0);
    if (t.problem) {
      EXPECT_STREQ(files.error_of(t).what(), "/mnt/x: 2048 bytes at byte 4096: cannot be read: Input/output error");
    }
  }
}

TEST(faults, a_read_refused_for_ever_fails_in_the_end) {
  reader files(simulate({drive_of(1 << 20, {fault(drive_fault::kind::fails, 1, EAGAIN)})}, counted()), {});
  std::vector<std::byte> to(512);
  std::vector<read_request> const asked{{0, 512, to.data(), 0}};
  EXPECT_NE(error_of([&] { read_all(files, asked); }).find("Resource temporarily unavailable"), std::string::npos);
  EXPECT_EQ(files.counters().reads, 100u);
}

TEST(faults, a_file_system_that_takes_no_direct_reads_after_all) {
  simulated_drive d = drive_of(1 << 20, {fault(drive_fault::kind::fails, 1, EINVAL)});
  d.direct = true;
  d.faults[0].times = 1;
  reader files(simulate({d}, counted()), {});
  EXPECT_NE(files.about().find("past the page cache (blocks of 512)"), std::string::npos);
  std::vector<std::byte> to;
  std::vector<read_request> const asked = pages(to, 100, 2048, 1);
  read_all(files, asked);
  for (read_request const& r : asked) ASSERT_TRUE(right(r));
  EXPECT_NE(files.about().find("through the page cache"), std::string::npos) << files.about();
}

TEST(faults, no_memory_for_reads_that_are_not_aligned) {
  simulated_drive d = drive_of(1 << 20);
  d.direct = true;
  reader files(simulate({d}, counted()), {});
  read_queue queue(files);
  std::vector<std::byte> to(3000);
  std::vector<read_request> const asked{{512, 512, to.data(), 0}, {100'001, 777, to.data() + 512, 1}, {200'001, 777, to.data() + 1500, 2}};
  std::uint64_t const before = host_budget().limit();
  host_budget().set_limit(host_budget().used() + 5000);
  errc code{};
  std::string const said = error_of([&] { read_all(queue, files, asked); }, &code);
  host_budget().set_limit(before);
  EXPECT_EQ(code, errc::memory);
  EXPECT_NE(said.find("reads that are not aligned"), std::string::npos) << said;
  EXPECT_EQ(queue.under_way(), 0u);
  read_all(queue, files, asked);
  for (read_request const& r : asked) EXPECT_TRUE(right(r));
}

// Drives whose blocks are larger than a request, or differ from those of the next drive.
TEST(faults, drives_of_another_block_size) {
  for (std::uint32_t const block : {512u, 4096u, 16384u})
    for (std::uint32_t const memory : {4u, 512u, 4096u}) {
      constexpr std::uint64_t unit = 1 << 16;
      std::vector<simulated_drive> drives;
      for (std::uint64_t k = 0; k < 2; ++k) {
        drives.push_back(drive_of(1 << 20, {fault(drive_fault::kind::short_read, 1e-2)}));
        drives.back().direct = true;
        drives.back().offset_align = k ? 512 : block, drives.back().memory_align = memory;
        drives.back().bytes = [k](std::uint64_t offset, std::uint64_t n, std::byte* to) {
          for (std::uint64_t done = 0; done < n;) {
            std::uint64_t const here = offset + done, some = std::min(n - done, unit - here % unit);
            words_at((here / unit * 2 + k) * unit + here % unit, some, to + done);
            done += some;
          }
        };
      }
      reader_options o;
      o.files = arrangement::striped;
      o.unit_bytes = unit;
      reader files(simulate(std::move(drives), counted(block)), o);
      std::vector<std::byte> to(2000 * 900);
      std::vector<read_request> asked;
      for (std::uint64_t k = 0; k < 2000; ++k)
        asked.push_back({random_bits(1, 0, k) % ((2 << 20) - 900), 1 + random_bits(1, 1, k) % 900, to.data() + k * 900, k});
      read_all(files, asked);
      for (read_request const& r : asked) ASSERT_TRUE(right(r)) << block << " " << memory << " " << r.offset << " " << r.bytes;
    }
}

TEST(faults, a_drive_that_vanishes) {
  drive_fault f;
  f.what = drive_fault::kind::vanishes;
  f.every = 500;
  reader files(simulate({drive_of(1 << 24, {f})}, counted()), {});
  std::vector<std::byte> to;
  std::vector<read_request> const asked = pages(to, 2000, 1 << 15, 1);
  EXPECT_NE(error_of([&] { read_all(files, asked); }).find("cannot be read: No such device"), std::string::npos);
}

TEST(faults, a_drive_that_answers_after_ten_seconds) {
  simulated_drive d = drive_of(1 << 24);
  d.faults.push_back({drive_fault::kind::late});
  d.faults[0].every = 100;
  std::vector<std::byte> to;
  for (double const deadline : {0.0, 1.0, 60.0}) {
    reader_options o;
    o.deadline_seconds = deadline;
    reader files(simulate({d}, counted()), o);
    read_queue queue(files);
    std::vector<read_request> const asked = pages(to, 300, 1 << 15, 5);
    queue.submit(asked);
    std::uint64_t late = 0;
    while (queue.under_way())
      for (read_done const& t : queue.wait(300)) {
        late += t.problem == ETIMEDOUT;
        if (!t.problem) {
          ASSERT_TRUE(right(asked[t.tag]));
        }
        if (t.problem) {
          EXPECT_NE(std::string(files.error_of(t).what()).find("no answer within 1 s; look at the drive"), std::string::npos);
        }
      }
    EXPECT_EQ(late > 0, deadline == 1.0) << deadline;
    EXPECT_EQ(queue.lost(), 0u);
  }
}

TEST(faults, a_drive_that_never_answers) {
  drive_fault f;
  f.what = drive_fault::kind::never;
  f.every = 50;
  reader_options o;
  o.deadline_seconds = 0.05;
  auto const simulated = simulate({drive_of(1 << 20, {f})});  // in real time
  reader files(simulated, o);
  read_queue queue(files);
  std::vector<std::byte> to;
  std::vector<read_request> const asked = pages(to, 300, 2048, 5);
  queue.submit(asked);
  std::uint64_t told = 0, late = 0;
  while (queue.under_way())
    for (read_done const& t : queue.wait(300)) {
      ++told, late += t.problem == ETIMEDOUT;
      if (!t.problem) {
        ASSERT_TRUE(right(asked[t.tag]));
      }
    }
  EXPECT_EQ(told, 300u);
  EXPECT_GT(late, 0u);
  EXPECT_EQ(files.counters().expired, simulated->faults_met());
  EXPECT_EQ(error_of([&] { read_all(files, asked); }).find("no answer within 0.05 s") == std::string::npos, false);
}

// A drive that ignores cancellation: the request completes, and its memory stays until the drive returns it.
TEST(faults, a_drive_that_holds_on) {
  drive_fault f;
  f.what = drive_fault::kind::stuck;
  f.every = 2;
  f.times = 1;
  reader_options o;
  o.deadline_seconds = 0.05;
  o.gap_bytes = 0;
  auto const simulated = simulate({drive_of(1 << 20, {f})});
  auto memory = std::make_shared<std::vector<std::byte>>(4096);
  std::weak_ptr<void const> const watched = memory;
  {
    reader files(simulated, o);
    read_queue queue(files, memory);
    std::vector<read_request> const asked{{0, 512, memory->data(), 0}, {8192, 512, memory->data() + 512, 1}};
    queue.submit(asked);
    memory.reset();
    int problems[2] = {-1, -1};
    while (queue.under_way())
      for (read_done const& t : queue.wait(2)) problems[t.tag] = t.problem;
    EXPECT_EQ(problems[0], 0);
    EXPECT_EQ(problems[1], ETIMEDOUT);
    EXPECT_EQ(queue.lost(), 1u);
    std::vector<std::byte> other(512);
    std::vector<read_request> const next{{512, 512, other.data(), 0}};
    read_all(queue, files, next);  // the queue continues
    EXPECT_TRUE(right(next[0]));
  }
  EXPECT_FALSE(watched.expired());
  simulated->release_stuck();
  reader files(simulate({drive_of(512)}, counted()), {});
  read_queue{files};  // creating the next queue checks the abandoned ones
  EXPECT_TRUE(watched.expired());
}

TEST(faults, without_memory_of_its_own_a_queue_waits_for_what_holds_on) {
  drive_fault f;
  f.what = drive_fault::kind::stuck;
  f.every = 1;
  reader_options o;
  o.deadline_seconds = 0.02;
  auto const simulated = simulate({drive_of(1 << 20, {f})});
  std::vector<std::byte> to(512);
  std::jthread release;
  auto const begin = std::chrono::steady_clock::now();
  {
    reader files(simulated, o);
    std::vector<read_request> const asked{{0, 512, to.data(), 0}};
    read_queue queue(files);
    queue.submit(asked);
    EXPECT_EQ(queue.wait(1)[0].problem, ETIMEDOUT);
    release = std::jthread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      simulated->release_stuck();
    });
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(200));
}

TEST(faults, an_interrupt_with_thousands_under_way) {
  simulated_drive d = drive_of(1 << 24);
  d.latency_us = 5e6;
  reader_options o;
  o.depth = 8000;
  reader files(simulate({d}), o);
  std::vector<std::byte> to;
  std::vector<read_request> const asked = pages(to, 20'000, 1 << 15, 1);
  read_queue queue(files);
  queue.submit(asked);
  std::jthread const presses([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    request_interrupt();
  });
  auto const begin = std::chrono::steady_clock::now();
  errc code{};
  error_of(
      [&] {
        while (queue.under_way()) queue.wait(100, 100);
      },
      &code);
  clear_interrupt();
  EXPECT_EQ(code, errc::interrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(queue.under_way(), 0u);
  EXPECT_GT(files.counters().cancelled, 10'000u);
}

TEST(faults, several_queues_on_failing_drives) {
  using kind = drive_fault::kind;
  reader_options o;
  o.deadline_seconds = 5;
  reader files(simulate({drive_of(1 << 20, {fault(kind::fails, 1e-3), fault(kind::short_read, 0.05), fault(kind::twice, 0.01)}),
                         drive_of(1 << 20, {fault(kind::never, 1e-4)})},
                        counted()),
               o);
  std::vector<std::jthread> threads;
  std::atomic<std::uint64_t> told{0};
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      read_queue queue(files);
      std::vector<std::byte> to;
      for (std::uint64_t round = 0; round < 10; ++round) {
        std::vector<read_request> const asked = pages(to, 500, 4096, t * 100 + round);
        queue.submit(asked);
        while (queue.under_way()) told += queue.wait(50, 10).size();
      }
    });
  threads.clear();
  EXPECT_EQ(told, 4u * 10 * 500);
  EXPECT_EQ(files.counters().requests, told);
}

}  // namespace
}  // namespace garner
