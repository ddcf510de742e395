// Request queues on every device, served by NVMe drives: the right pages, or the expected error.
#include <memory>

#include "emulated_controller.hpp"
#include "queue_pages.hpp"

namespace garner {
namespace {
using namespace garner::testing;

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
