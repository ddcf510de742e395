// Request queues on every device, served by host threads and by drives: the right pages, or the expected error.
#include "lab/bam/queue.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include "core/progress.hpp"
#include "core/random.hpp"
#include "emulated_controller.hpp"
#include "lab/bam/queue_service.hpp"
#include "lab/drives/simulated.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using namespace garner::lab;

std::vector<std::uint64_t> some_pages(std::uint64_t n, std::uint64_t pages, std::uint64_t seed) {
  std::vector<std::uint64_t> wanted(n);
  for (std::uint64_t i = 0; i < n; ++i) wanted[i] = mix(seed + i) % pages;
  return wanted;
}

// Reads into a frame each, and compares every byte with `byte` of its position.
template <class Byte>
void read_and_compare(executor& x, request_queues& queues, std::vector<std::uint64_t> const& wanted, Byte byte) {
  std::vector<std::uint32_t> frames(wanted.size());
  for (std::uint32_t k = 0; k < frames.size(); ++k) frames[k] = k;
  auto const pages = near_copy(x, wanted);
  auto const into = near_copy(x, frames);
  for (std::uint32_t k = 0; k < frames.size(); ++k) std::memset(queues.frame(k), 0xee, queues.page_bytes());
  queues.read(x, {pages.data(), wanted.size()}, {into.data(), wanted.size()});
  frames = host_copy(x, into.data(), frames.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::byte const* const at = queues.frame(frames[i]);
    for (std::uint64_t k = 0; k < queues.page_bytes(); ++k)
      if (at[k] != byte(wanted[i] * queues.page_bytes() + k))
        FAIL() << "request " << i << ", page " << wanted[i] << ", byte " << k << " is " << static_cast<int>(at[k]);
  }
}
void read_and_compare(executor& x, request_queues& queues, std::vector<std::uint64_t> const& wanted) {
  read_and_compare(x, queues, wanted, [](std::uint64_t place) { return byte_at(place); });
}
queue_options with(std::uint32_t page_bytes, std::uint32_t frames, double time_out = 20) {
  queue_options o;
  o.page_bytes = page_bytes, o.frames = frames, o.time_out_seconds = time_out;
  return o;
}

// --- threads of the host ---

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
  errc code{};
  EXPECT_THAT(error_of(
                  [&] {
                    read_and_compare(x, queues, {1, 10});
                  },
                  &code),
              ::testing::HasSubstr("page 10 (4096 bytes at byte 40960): there are 10 pages"));
  EXPECT_EQ(code, errc::usage);
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

// --- drives ---

class driven : public at_place {
 protected:
  int device() const { return GetParam() == device_kind::cuda ? 0 : -1; }
  // Each with its queues; the last is created first, so that it is destroyed last.
  struct rig {
    rig() = default;
    rig(rig&&) = default;
    std::shared_ptr<elsewhere_memory> memory;
    std::vector<std::unique_ptr<emulated_controller>> drives;
    std::vector<std::unique_ptr<nvme_controller>> controllers;
    std::unique_ptr<nvme_queues> provider;
    ~rig() {
      provider.reset();
      controllers.clear();
      if (memory) {
        EXPECT_EQ(memory->blocks(), left_behind);
      }
      for (auto const& d : drives) EXPECT_THAT(d->offences(), ::testing::IsEmpty());
    }
    std::size_t left_behind = 0;
  };
  rig make(std::vector<controller_shape> shapes, unsigned queues = 2, std::uint32_t depth = 16, double admin_seconds = 3) const {
    rig r;
    r.memory = std::make_shared<elsewhere_memory>(device());
    std::vector<nvme_controller*> all;
    nvme_options o;
    o.queues = queues, o.depth = depth, o.time_out_seconds = admin_seconds;
    for (auto& s : shapes) {
      r.drives.push_back(std::make_unique<emulated_controller>(r.memory, s, device()));
      r.controllers.push_back(
          std::make_unique<nvme_controller>(r.drives.back()->registers(), r.memory, "drive " + std::to_string(r.drives.size() - 1), o));
      all.push_back(r.controllers.back().get());
    }
    r.provider = std::make_unique<nvme_queues>(all);
    return r;
  }
};

TEST_P(driven, pages_of_every_size) {
  executor x(where());
  for (std::uint32_t const block : {512u, 4096u}) {
    controller_shape shape;
    shape.block_bytes = block;
    shape.blocks = (8u << 20) / block;
    shape.stride = block == 512 ? 0 : 1;
    auto const r = make({shape});
    for (std::uint32_t const page : {4096u, 8192u, 12288u, 65536u, 131072u}) {
      request_queues queues(x, *r.provider, with(page, 60));
      EXPECT_EQ(queues.pages(), (8u << 20) / page + ((8u << 20) % page ? 1 : 0));
      read_and_compare(x, queues, some_pages(60, queues.pages() - 1, page));
    }
  }
}

TEST_P(driven, striped_and_replicated_drives) {
  executor x(where());
  std::vector<controller_shape> shapes(3);
  for (std::uint64_t d = 0; d < 3; ++d) shapes[d].byte = [d](std::uint64_t k) { return byte_at((k / 4096 * 3 + d) * 4096 + k % 4096); };
  {
    auto const r = make(shapes);
    request_queues queues(x, *r.provider, with(4096, 300));
    EXPECT_EQ(queues.pages(), 3 * (std::uint64_t{1} << 16) / 8);
    read_and_compare(x, queues, some_pages(300, queues.pages(), 1));
  }
  std::vector<controller_shape> const same(2);
  auto const r = make(same);
  queue_options o = with(4096, 300);
  o.replicated = true;
  request_queues queues(x, *r.provider, o);
  EXPECT_EQ(queues.pages(), (std::uint64_t{1} << 16) / 8);
  read_and_compare(x, queues, some_pages(300, queues.pages(), 1));
  EXPECT_GT(r.drives[0]->reads, 100u);
  EXPECT_GT(r.drives[1]->reads, 100u);
  // The other drive reads what one cannot.
  r.drives[0]->faults = [](unsigned q, nvme_command const&) {
    return q ? fault{fault::answered, 0, nvme::read_error | nvme::final_bit} : fault{};
  };
  read_and_compare(x, queues, some_pages(300, queues.pages(), 2));
}

TEST_P(driven, answers_in_any_order_and_twice) {
  executor x(where());
  controller_shape shape;
  shape.reorders = true;
  auto const r = make({shape}, 2, 8);
  r.drives[0]->faults = [n = 0](unsigned q, nvme_command const&) mutable {
    if (q == 0) return fault{};
    switch (++n % 9) {
      case 2:
        return fault{fault::repeated};
      case 4:
        return fault{fault::repeated_late};
      case 6:
        return fault{fault::another_id};
      case 8:
        return fault{fault::late, 1.5};
      default:
        return fault{};
    }
  };
  request_queues queues(x, *r.provider, with(4096, 600));
  for (std::uint64_t round = 0; round < 3; ++round) read_and_compare(x, queues, some_pages(600, queues.pages(), round));
  queue_report const report = queues.report(x);
  EXPECT_GT(report.strays, 300u);
  EXPECT_EQ(report.again + report.restarts, 0u);
}

TEST_P(driven, statuses_that_may_be_tried_again) {
  executor x(where());
  auto const r = make({{}});
  r.drives[0]->faults = [n = 0](unsigned q, nvme_command const&) mutable {
    return q && ++n % 50 == 0 ? fault{fault::answered, 0, nvme::status(0, 0x22)} : fault{};
  };
  request_queues queues(x, *r.provider, with(4096, 300));
  read_and_compare(x, queues, some_pages(300, queues.pages(), 4));
  EXPECT_GE(queues.report(x).again, 1u);
  // Not for ever.
  r.drives[0]->faults = [](unsigned q, nvme_command const& c) {
    return q && c.words[5] == 80 ? fault{fault::answered, 0, nvme::status(2, 0x81)} : fault{};
  };
  EXPECT_EQ(
      error_of([&] {
        read_and_compare(x, queues, {1, 10, 3});
      }),
      "drive 0: page 10 (4096 bytes at byte 40960): Unrecovered Read Error (type 2, code 81h), 4 times; look at the drive, or read a copy");
  read_and_compare(x, queues, {1, 9, 3});
}

TEST_P(driven, statuses_that_may_not) {
  executor x(where());
  auto const r = make({{}});
  r.drives[0]->faults = [](unsigned q, nvme_command const& c) {
    return q && c.words[5] == 80 ? fault{fault::answered, 0, nvme::read_error | nvme::final_bit} : fault{};
  };
  request_queues queues(x, *r.provider, with(4096, 300));
  errc code{};
  EXPECT_EQ(
      error_of(
          [&] {
            read_and_compare(x, queues, {1, 10, 3});
          },
          &code),
      "drive 0: page 10 (4096 bytes at byte 40960): Unrecovered Read Error (type 2, code 81h, not to be tried again); look at the drive, "
      "or read a copy");
  EXPECT_EQ(code, errc::io);
  EXPECT_EQ(queues.report(x).again, 0u);
}

// Repeated losses: each time the queue is recreated and the rest is resubmitted.
TEST_P(driven, lost_answers_are_asked_again) {
  executor x(where());
  auto const r = make({{}});
  r.drives[0]->faults = [n = 0](unsigned q, nvme_command const&) mutable {
    return q && (++n == 40 || n == 200) ? fault{fault::lost} : fault{};
  };
  request_queues queues(x, *r.provider, with(4096, 300, 0.2));
  read_and_compare(x, queues, some_pages(300, queues.pages(), 5));
  queue_report const report = queues.report(x);
  EXPECT_GE(report.restarts, 1u);
  EXPECT_GE(report.again, 1u);
  EXPECT_EQ(r.controllers[0]->what_happened().resets, 0u);
  EXPECT_GE(r.controllers[0]->what_happened().queues_deleted, 3u);  // two at first
  EXPECT_GE(r.controllers[0]->what_happened().aborts, 1u);
}

TEST_P(driven, stuck_commands_are_aborted) {
  executor x(where());
  auto const r = make({{}});
  r.drives[0]->faults = [n = 0](unsigned q, nvme_command const&) mutable { return q && ++n == 17 ? fault{fault::stuck} : fault{}; };
  request_queues queues(x, *r.provider, with(4096, 300, 0.2));
  read_and_compare(x, queues, some_pages(300, queues.pages(), 6));
  EXPECT_GE(r.drives[0]->aborted, 1u);
  EXPECT_EQ(r.controllers[0]->what_happened().resets, 0u);
}

TEST_P(driven, a_queue_that_cannot_be_deleted_needs_a_reset) {
  executor x(where());
  auto const r = make({{}}, 2, 16, 0.5);
  r.drives[0]->faults = [n = 0](unsigned q, nvme_command const&) mutable {
    return q && ++n == 17 ? fault{fault::stuck_for_good} : fault{};
  };
  request_queues queues(x, *r.provider, with(4096, 300, 0.2));
  for (std::uint64_t round = 0; round < 2; ++round) read_and_compare(x, queues, some_pages(300, queues.pages(), round));
  EXPECT_EQ(r.controllers[0]->what_happened().resets, 1u);
}

TEST_P(driven, a_controller_that_hangs_is_reset) {
  executor x(where());
  for (bool const fatal : {false, true}) {
    auto const r = make({{}}, 2, 16, 0.5);
    emulated_controller& d = *r.drives[0];
    d.faults = [n = 0, &d, fatal](unsigned q, nvme_command const&) mutable {
      if (q && ++n == 17) (fatal ? d.fatal : d.hangs) = true;
      return fault{};
    };
    request_queues queues(x, *r.provider, with(4096, 300, 0.2));
    for (std::uint64_t round = 0; round < 2; ++round) read_and_compare(x, queues, some_pages(300, queues.pages(), round));
    EXPECT_EQ(r.controllers[0]->what_happened().resets, 1u);
    EXPECT_GE(d.resets, 1u);
  }
}

TEST_P(driven, never_answered_is_an_error) {
  executor x(where());
  auto const r = make({{}});
  r.drives[0]->faults = [](unsigned q, nvme_command const& c) { return q && c.words[5] == 80 ? fault{fault::lost} : fault{}; };
  queue_options o = with(4096, 300, 0.4);
  o.retries = 2;
  request_queues queues(x, *r.provider, o);
  EXPECT_EQ(error_of([&] {
              read_and_compare(x, queues, {1, 10, 3});
            }),
            "drive 0: page 10 (4096 bytes at byte 40960): no answer within 0.4 s, 3 times; look at the drive, or allow more time");
  r.drives[0]->faults = {};
  read_and_compare(x, queues, {1, 10, 3});
}

TEST_P(driven, a_controller_that_cannot_be_reset) {
  executor x(where());
  auto r = make({{}}, 2, 16, 0.5);
  r.left_behind = 4;  // its rings, and the frames, to which it may still write
  emulated_controller& d = *r.drives[0];
  d.faults = [n = 0, &d](unsigned q, nvme_command const&) mutable {
    if (q && ++n == 17) d.hangs = d.deaf = true;
    return fault{};
  };
  {
    request_queues queues(x, *r.provider, with(4096, 300, 0.1));
    EXPECT_EQ(error_of([&] { read_and_compare(x, queues, some_pages(300, queues.pages(), 1)); }),
              "drive 0: not reset within 1 s; power it off and on");
    EXPECT_EQ(error_of([&] { read_and_compare(x, queues, {1}); }),
              "these queues take nothing more: drive 0: not reset within 1 s; power it off and on");
  }
  r.left_behind += 1;
}

TEST_P(driven, a_drive_that_is_pulled_out) {
  executor x(where());
  auto r = make({{}});
  emulated_controller& d = *r.drives[0];
  d.faults = [n = 0, &d](unsigned q, nvme_command const&) mutable {
    if (q && ++n == 17) d.hangs = d.gone = true;
    return fault{};
  };
  request_queues queues(x, *r.provider, with(4096, 300, 0.1));
  EXPECT_EQ(error_of([&] { read_and_compare(x, queues, some_pages(300, queues.pages(), 1)); }),
            "drive 0: does not respond: its registers read as ones");
  r.left_behind = 1;  // the frames
}

TEST_P(driven, what_does_not_go_together) {
  executor x(where());
  auto const r = make({{}});
  auto const said = [&](queue_options const& o) { return error_of([&] { request_queues(x, *r.provider, o); }); };
  EXPECT_EQ(said(with(1000, 4)), "drive 0: pages of 1000 bytes on a drive whose blocks have 512; use a multiple");
  EXPECT_EQ(said(with(4 << 20, 4)), "pages of 4194304 bytes; at most 2 MiB are read by one command");
  EXPECT_EQ(said(with(1 << 20, 4)), "drive 0: pages of 1048576 bytes, and the drive reads at most 131072 at once");
  EXPECT_EQ(said(with(4096, 0)), "0 frames and 20 s for a request; each must be more than 0");
  EXPECT_EQ(said(with(4096, 4, 0)), "4 frames and 0 s for a request; each must be more than 0");
  request_queues queues(x, *r.provider, with(4096, 4));
  EXPECT_EQ(said(with(4096, 4)), "drive 0: these queues are in use; make others");
  auto const pages = near_copy(x, std::vector<std::uint64_t>{1, 2});
  auto const frames = near_copy(x, std::vector<std::uint32_t>{1});
  EXPECT_EQ(error_of([&] { queues.read(x, {pages.data(), 2}, {frames.data(), 1}); }), "2 pages into 1 frames");
}

TEST_P(driven, an_interrupt) {
  executor x(where());
  auto const r = make({{}});
  r.drives[0]->faults = [](unsigned q, nvme_command const&) { return q ? fault{fault::answered, 0, nvme::status(0, 0x22)} : fault{}; };
  queue_options o = with(4096, 300);
  o.retries = 1000000;
  request_queues queues(x, *r.provider, o);
  request_interrupt_after(100);
  errc code{};
  error_of([&] { read_and_compare(x, queues, {1, 2}); }, &code);
  clear_interrupt();
  EXPECT_EQ(code, errc::interrupted);
}
GARNER_AT_EVERY_PLACE(driven);

}  // namespace
}  // namespace garner
