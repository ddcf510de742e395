// Request queues on every device, served by threads of the host: the right pages, or the expected error.
#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include "lab/bam/queue_service.hpp"
#include "lab/drives/simulated.hpp"
#include "queue_pages.hpp"
#include "refused.hpp"

namespace garner {
namespace {
using namespace garner::testing;

class served : public at_place {
 protected:
  void SetUp() override {
    at_place::SetUp();
    if (!IsSkipped()) files_.SetUp();
  }
  void TearDown() override {
    if (!IsSkipped()) files_.TearDown();
  }
  service_options service(unsigned threads, unsigned queues, std::uint32_t depth) const {
    return {threads, queues, depth, GetParam() == device_kind::cuda ? 0 : -1};
  }
  struct folder : in_folder {
    void TestBody() override {}
    using in_folder::SetUp, in_folder::TearDown;
  };
  folder files_;
};

TEST_P(served, pages_of_every_size) {
  executor x(where());
  reader files({files_.made("a", 3000000)}, {});
  for (std::uint32_t const page : {512u, 4096u, 12288u, 65536u}) {
    queue_service provider(files, service(2, 3, 64));
    request_queues queues(x, provider, with(page, 300));
    EXPECT_EQ(queues.pages(), (3000000 + page - 1) / page);
    read_and_compare(x, queues, some_pages(300, queues.pages() - 1, page));
    queue_report const r = queues.report(x);
    EXPECT_LE(r.commands, 300u);
    EXPECT_LE(r.doorbells, r.commands);
    EXPECT_EQ(r.strays + r.again + r.restarts, 0u);
  }
}

TEST_P(served, the_last_block_is_filled_up_with_zeroes) {
  executor x(where());
  reader files({files_.made("a", 10001)}, {});
  queue_service provider(files, service(1, 1, 4));
  request_queues queues(x, provider, with(4096, 4));
  EXPECT_EQ(queues.pages(), 3u);
  read_and_compare(x, queues, {2, 0, 1, 2},
                   [](std::uint64_t k) { return k < 10001 ? byte_at(k) : static_cast<std::byte>(k < 10240 ? 0 : 0xee); });
}

TEST_P(served, a_page_that_lanes_share_is_asked_for_once) {
  executor x(where());
  reader files({files_.made("a", 1 << 20)}, {});
  queue_service provider(files, service(1, 1, 64));
  request_queues queues(x, provider, with(4096, 320));
  std::vector<std::uint64_t> wanted(320);
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = i % 32 < 8 ? 5 : i / 32 * 4 + i % 4;  // 5 and four others per team
  read_and_compare(x, queues, wanted);
  std::uint64_t different = 0;
  for (std::size_t team = 0; team < 10; ++team) {
    std::vector<std::uint64_t> mine(wanted.begin() + static_cast<std::ptrdiff_t>(team) * 32,
                                    wanted.begin() + static_cast<std::ptrdiff_t>(team + 1) * 32);
    std::sort(mine.begin(), mine.end());
    different += static_cast<std::uint64_t>(std::unique(mine.begin(), mine.end()) - mine.begin());
  }
  EXPECT_EQ(queues.report(x).commands, different);
}

TEST_P(served, a_full_queue_lets_wait) {
  executor x(where());
  reader files({files_.made("a", 1 << 20)}, {});
  for (std::uint32_t const depth : {2u, 4u, 32u}) {
    queue_service provider(files, service(1, 2, depth));
    request_queues queues(x, provider, with(512, 1500));
    for (int round = 0; round < 2; ++round)
      read_and_compare(x, queues, some_pages(1500, queues.pages(), depth + static_cast<unsigned>(round)));
  }
}

TEST_P(served, several_files_are_one) {
  executor x(where());
  reader_options o;
  o.unit_bytes = 8192;
  reader files(files_.striped("s", 3, 8192, 24576 * 20), o);
  queue_service provider(files, service(2, 4, 16));
  request_queues queues(x, provider, with(4096, 300));
  read_and_compare(x, queues, some_pages(300, queues.pages(), 1));
}

TEST_P(served, a_file_that_was_cut_is_an_error) {
  executor x(where());
  std::string const name = files_.made("a", 1 << 20);
  reader files({name}, {});
  queue_service provider(files, service(1, 1, 16));
  request_queues queues(x, provider, with(4096, 8));
  std::filesystem::resize_file(name, 100 * 4096);
  errc code{};
  EXPECT_THAT(error_of(
                  [&] {
                    read_and_compare(x, queues, {7, 99, 200, 3});
                  },
                  &code),
              ::testing::AllOf(::testing::HasSubstr("page 200 (4096 bytes at byte 819200)"), ::testing::HasSubstr(name),
                               ::testing::HasSubstr("ends before")));
  EXPECT_EQ(code, errc::io);
  read_and_compare(x, queues, {7, 99, 3});  // continues to work
}

TEST_P(served, a_page_that_is_not_there) {
  executor x(where());
  reader files({files_.made("a", 40960)}, {});
  queue_service provider(files, service(1, 1, 16));
  request_queues queues(x, provider, with(4096, 8));
  EXPECT_TRUE(refused(errc::usage, "page 10 (4096 bytes at byte 40960): there are 10 pages", [&] {
    read_and_compare(x, queues, {1, 10});
  }));
}

// A drive in memory, with a fault.
std::shared_ptr<simulated_drives> faulty(drive_fault const& f, double latency_us = 0) {
  simulated_drive d;
  d.name = "d";
  d.size = 1 << 22;
  d.latency_us = latency_us;
  d.bytes = [](std::uint64_t offset, std::uint64_t n, std::byte* to) {
    for (std::uint64_t k = 0; k < n; ++k) to[k] = byte_at(offset + k);
  };
  d.faults = {f};
  return simulate({d});
}
drive_fault fault_of(drive_fault::kind what, std::uint64_t every, std::uint64_t times = ~std::uint64_t{0}) {
  drive_fault f;
  f.what = what, f.every = every, f.times = times;
  return f;
}
reader_options one_by_one() {
  reader_options o;
  o.gap_bytes = 0;
  o.most_bytes = 4096;
  return o;
}

TEST_P(served, a_drive_that_fails_says_where_and_why) {
  executor x(where());
  drive_fault f = fault_of(drive_fault::kind::fails, 1);
  f.begin = 40960, f.end = 40961;
  reader files(faulty(f), one_by_one());
  queue_service provider(files, service(2, 2, 64));
  request_queues queues(x, provider, with(4096, 300));
  std::vector<std::uint64_t> wanted = some_pages(300, 9, 1);
  read_and_compare(x, queues, wanted);
  wanted[177] = 10;
  std::string const said = error_of([&] { read_and_compare(x, queues, wanted); });
  EXPECT_THAT(said, ::testing::AllOf(::testing::HasSubstr("d: page 10 (4096 bytes at byte 40960): d: 4096 bytes at byte 40960"),
                                     ::testing::HasSubstr("Input/output error")));
  wanted[177] = 9;
  read_and_compare(x, queues, wanted);
}

TEST_P(served, what_is_late_short_or_twice_comes_right) {
  executor x(where());
  for (auto const what : {drive_fault::kind::late, drive_fault::kind::short_read, drive_fault::kind::twice}) {
    drive_fault f = fault_of(what, 7);
    f.seconds = 0.002;
    reader files(faulty(f, 50), one_by_one());
    queue_service provider(files, service(2, 4, 16));
    request_queues queues(x, provider, with(4096, 300));
    read_and_compare(x, queues, some_pages(300, queues.pages(), 1));
    EXPECT_EQ(queues.report(x).restarts, 0u);
  }
}

TEST_P(served, what_is_never_answered_is_taken_back_and_asked_again) {
  executor x(where());
  reader files(faulty(fault_of(drive_fault::kind::never, 100, 2)), one_by_one());
  queue_service provider(files, service(1, 2, 64));  // one thread for both, which retries what the other queue has
  request_queues queues(x, provider, with(4096, 300, 0.2));
  read_and_compare(x, queues, some_pages(300, queues.pages(), 1));
  EXPECT_GE(queues.report(x).restarts, 1u);
  EXPECT_GE(queues.report(x).again, 1u);
}

TEST_P(served, a_drive_that_does_not_let_go) {
  executor x(where());
  auto const drives = faulty(fault_of(drive_fault::kind::stuck, 100, 1));
  reader files(drives, one_by_one());
  queue_service provider(files, service(1, 1, 64));
  {
    request_queues queues(x, provider, with(4096, 300, 0.1));
    EXPECT_THAT(error_of([&] { read_and_compare(x, queues, some_pages(300, queues.pages(), 1)); }),
                ::testing::HasSubstr("d: 1 reads have not ended and cannot be taken back"));
    EXPECT_THAT(error_of([&] { read_and_compare(x, queues, {1}); }), ::testing::HasSubstr("these queues take nothing more"));
  }
  drives->release_stuck();
}

// Drives whose engine fails altogether, also on cancellation, while `fails` is set.
struct failing final : drive_set {
  struct engine_of : read_engine {
    engine_of(std::unique_ptr<read_engine> e, std::atomic<int>& fails) : inner(std::move(e)), fails(fails) {}
    void look() const {
      if (fails == 1) fail(errc::io, "the ring has failed");
      if (fails == 2) throw std::bad_alloc();
    }
    bool start(engine_read const& read) override { return inner->start(read); }
    void flush() override { look(), inner->flush(); }
    std::size_t reap(std::span<engine_answer> out, std::chrono::nanoseconds at_most) override { return look(), inner->reap(out, at_most); }
    void cancel(std::uint64_t id) override { look(), inner->cancel(id); }
    std::string about() const override { return inner->about(); }
    std::unique_ptr<read_engine> inner;
    std::atomic<int>& fails;
  };
  std::shared_ptr<drive_set> drives_of = faulty({});
  std::atomic<int> fails{0};
  std::vector<drive_facts> const& drives() const override { return drives_of->drives(); }
  std::unique_ptr<read_engine> engine(engine_options const& o) override { return std::make_unique<engine_of>(drives_of->engine(o), fails); }
};

TEST_P(served, an_engine_that_fails_is_an_error_and_no_end_of_the_process) {
  executor x(where());
  for (int const how : {1, 2}) {
    auto const drives = std::make_shared<failing>();
    reader files(drives, one_by_one());
    queue_service provider(files, service(2, 2, 64));
    request_queues queues(x, provider, with(4096, 300, 0.2));
    std::vector<std::uint64_t> const wanted = some_pages(300, queues.pages(), 1);
    read_and_compare(x, queues, wanted);
    drives->fails = how;
    EXPECT_ANY_THROW(read_and_compare(x, queues, wanted));
    drives->fails = 0;
    EXPECT_THAT(error_of([&] { read_and_compare(x, queues, wanted); }), ::testing::HasSubstr("these queues take nothing more"));
    drives->fails = how;  // also at its end
  }
}

TEST_P(served, an_interrupt) {
  executor x(where());
  reader files(faulty(fault_of(drive_fault::kind::never, 2)), one_by_one());
  queue_service provider(files, service(1, 1, 64));
  request_queues queues(x, provider, with(4096, 300, 0.3));
  request_interrupt();
  errc code{};
  error_of([&] { read_and_compare(x, queues, some_pages(300, queues.pages(), 1)); }, &code);
  clear_interrupt();
  EXPECT_EQ(code, errc::interrupted);
}

TEST_P(served, what_does_not_go_together) {
  reader files(faulty({}), {});
  EXPECT_EQ(error_of([&] { queue_service(files, service(0, 1, 16)); }), "0 threads for 1 queues; at least a thread, and a queue for each");
  EXPECT_EQ(error_of([&] { queue_service(files, service(4, 2, 16)); }), "4 threads for 2 queues; at least a thread, and a queue for each");
  EXPECT_EQ(error_of([&] { queue_service(files, service(1, 1, 100)); }), "queues of 100 entries; use a power of two from 2 to 4096");
}
GARNER_AT_EVERY_PLACE(served);

}  // namespace
}  // namespace garner
