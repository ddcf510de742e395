// Reads that kernels issue themselves: a page of a drive into a frame of memory, without the host.
//   request_queues queues(x, provider, {});
//   queues.read(x, pages, frames);                     // from the host: a loop whose teams request and wait
//   for_each_item<32>(x, n, body{queues.view(), ...});  // or a kernel of one's own, which calls view.read(team, ...)
// A team requests a page once if several of its lanes need it, waits with growing pauses, and checks each status. Errors are noted in
// device memory, which the host reads after the loop. A request that times out stops its queue: the host ends what is in flight
// (queue_provider::restart) and retries, as for a retryable status; else the error names drive, page, bytes and status.
// Invariant: after read() has returned or thrown, nothing writes to the frames, unless a drive could not be stopped: the error then reports
// it, the frames are kept forever, and the queues accept nothing more.
// Cost: per queue 0.4 KiB and 13 bytes per entry of device memory, 80 bytes per entry of mapped memory; 16 bytes per frame; none per page
// of the drive.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/exec.hpp"
#include "core/executor.hpp"
#include "lab/bam/queue_provider.hpp"
#include "lab/bam/queue_view.hpp"
#include "memory/buffer.hpp"

namespace garner::lab {

struct page_frame {  // as a command names it
  std::uint64_t prp1, prp2;
};

// The first thing that went wrong in a loop.
struct queue_failure {
  std::uint32_t noted = 0, status = 0, queue = 0, unused = 0;
  std::uint64_t page = 0;
};

struct queue_target {  // a queue and the drive behind it
  queue_view<> queue;
  std::uint32_t name_space = 1, blocks_a_page = 8;
  std::uint64_t blocks = 0;
};

struct request_queues_view {
  queue_target const* queues = nullptr;  // queue k is of drive k % drives
  page_frame const* frames = nullptr;
  queue_failure* failure = nullptr;
  std::uint32_t count = 0, drives = 1;
  std::uint32_t replicated = 0;  // 1: each drive has all pages; else page p is page p / drives of drive p % drives
  std::uint64_t pages = 0;

  static constexpr std::uint32_t unread = ~0u, follows = 1u << 31;  // results that are not available yet

  struct asked {
    queue_request request;
    nvme_command command;
    std::uint32_t queue = 0;
  };
  // Reads pages[i] into frames[i] for i of `mine`, at most 32 of them, where results[i] is not 0 (it becomes 0 or a status). If several
  // want one page, a single one requests it, and frames[i] is updated to its frame. `turn` spreads teams over queues.
  template <class Team>
  GARNER_HD void read(Team t, indices mine, std::uint64_t turn, std::uint64_t const* wanted, std::uint32_t* into,
                      std::uint32_t* results) const {
    t.alike(
        mine, [&](std::uint64_t i) { return wanted[i]; },
        [&](std::uint64_t i, std::uint64_t first) {
          if (results[i] == 0) return;
          results[i] = first == i ? unread : follows | static_cast<std::uint32_t>(first - mine.begin);
        });
    t.take_turns(
        mine,
        [&](std::uint64_t i) {
          asked a;
          a.request.at = results[i] == unread ? queue_request::asking : queue_request::done;
          if (results[i] == unread) choose(a, wanted[i], into[i], turn);
          return a;
        },
        [&](asked& a, std::uint64_t i) {
          if (a.request.at == queue_request::done) return true;
          queue_view<> const& queue = queues[a.queue].queue;
          if (wanted[i] >= pages) a.request.status = nvme::out_of_range | nvme::final_bit, a.request.at = queue_request::done;
          else if (!queue.step(a.request, a.command)) return false;
          else queue.give_back(a.request);
          results[i] = a.request.status;
          if (a.request.status) note(a, wanted[i]);
          return true;
        },
        [&](asked& a) { queues[a.queue].queue.work(); });
    t.each(mine, [&](std::uint64_t i) {
      if (results[i] != unread && results[i] & follows) {
        std::uint64_t const first = mine.begin + (results[i] & ~follows);
        into[i] = into[first];
        results[i] = results[first];
      }
    });
  }

 private:
  GARNER_HD void choose(asked& a, std::uint64_t page, std::uint32_t frame, std::uint64_t turn) const {
    auto const drive = static_cast<std::uint32_t>(replicated ? turn % drives : page % drives);
    a.queue = drive + drives * static_cast<std::uint32_t>((replicated ? turn / drives : turn) % (count / drives));
    queue_target const& target = queues[a.queue];
    std::uint64_t const first = (replicated ? page : page / drives) * target.blocks_a_page;
    std::uint64_t const blocks = first < target.blocks ? smaller<std::uint64_t>(target.blocks_a_page, target.blocks - first) : 1;
    a.command = nvme::transfer(nvme::io::read, target.name_space, first, static_cast<std::uint32_t>(blocks), frames[frame].prp1,
                               frames[frame].prp2);
  }
  GARNER_HD void note(asked const& a, std::uint64_t page) const {
    if (change_or(&failure->noted, 1)) return;
    failure->status = a.request.status;
    failure->queue = a.queue;
    failure->page = page;
  }
};

struct queue_options {
  std::uint32_t page_bytes = 4096;  // a multiple of the drive's blocks, at most 2 MiB
  std::uint32_t frames = 1024;      // room for so many pages
  double time_out_seconds = 10;     // of one request, from the doorbell of the drive
  unsigned retries = 3;
  bool replicated = false;  // each drive has all pages
};

struct queue_report {
  std::uint64_t commands = 0, doorbells = 0;  // requests sent to the drive, and doorbell writes for them
  std::uint64_t strays = 0;                   // completions that nobody waited for
  std::uint64_t again = 0, restarts = 0;      // how often a loop was run once more; queues made anew
};

class request_queues {
 public:
  // Makes the provider's rings anew, which are its own from here on. The provider must outlive it.
  request_queues(executor& x, queue_provider& provider, queue_options const& options);
  ~request_queues() { release(); }
  request_queues(request_queues const&) = delete;
  request_queues& operator=(request_queues const&) = delete;

  std::uint64_t pages() const { return pages_; }
  std::uint32_t page_bytes() const { return options_.page_bytes; }
  std::uint32_t frames() const { return options_.frames; }
  std::byte* frame(std::uint32_t k) const { return frames_ + std::size_t{k} * options_.page_bytes; }  // host and device
  request_queues_view view() const;

  // Reads pages[i] into frame frames[i] (both on x's device), and waits. If the last page is short, the rest of the frame is unchanged.
  // frames[i] is updated to the frame of the page: lanes that request the same page share one. errc::io names drive, page, bytes and
  // status.
  void read(executor& x, std::span<std::uint64_t const> pages, std::span<std::uint32_t> frames);
  // The same with a loop of one's own: loop(tries) launches what calls view().read, and is called again, with how often it was already, as
  // long as requests are left that may be tried again; those have results that are not 0.
  void run(executor& x, std::function<void(unsigned tries)> const& loop);
  queue_report report(executor& x) const;
  std::size_t near_bytes() const;

 private:
  // After a loop: handles its errors. True: it is to be run again. Throws the error if a retry is useless.
  bool settle(executor& x, unsigned tries);
  void open(executor& x);
  void release() noexcept;
  std::vector<std::uint16_t> under_way(executor& x, unsigned queue) const;
  void make_anew(executor& x, unsigned queue, bool first);
  error error_of(queue_failure const&, unsigned tries) const;

  queue_provider& provider_;
  std::shared_ptr<bus_memory> memory_;
  queue_options options_;
  std::uint64_t pages_ = 0;
  std::byte *frames_ = nullptr, *lists_ = nullptr;
  buffer<page_frame> near_frames_;
  buffer<queue_target> near_targets_;
  buffer<queue_failure> failure_;
  std::vector<queue_target> targets_;
  std::vector<buffer<std::byte>> words_;
  queue_report before_;  // of queues that were made anew
  std::string broken_;
};

// The device words of a queue in one block, with initial values; `slots`: of its predecessor, whose generations continue.
struct queue_words {
  explicit queue_words(std::uint32_t depth);
  std::size_t bytes = 0, marks = 0, slots = 0, used = 0, answers = 0;  // where each begins
  std::uint32_t depth = 0;
  void write(std::byte* image, std::uint32_t const* slots_before = nullptr) const;
  queue_view<> view(std::byte* block, queue_rings const& rings, double time_out_seconds, bool with_answers) const;
};

}  // namespace garner::lab
