// See queue_rate.hpp.
#include "lab/queue_rate.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include "core/fail.hpp"
#include "core/random.hpp"
#include "lab/bam/queue.hpp"
#include "lab/bam/queue_service.hpp"
#include "lab/drives/simulated.hpp"
#include "storage/reader.hpp"

namespace garner::lab {

namespace {

constexpr std::uint64_t drive_pages = 1 << 16;

// A page holds its number, repeated.
simulated_drive numbered(std::uint64_t page_bytes) {
  simulated_drive d;
  d.name = "a drive without latency";
  d.size = drive_pages * page_bytes;
  d.bytes = [page_bytes](std::uint64_t offset, std::uint64_t n, std::byte* to) {
    for (std::uint64_t k = 0; k < n; k += 8) {
      std::uint64_t const page = (offset + k) / page_bytes;
      std::memcpy(to + k, &page, std::min<std::uint64_t>(8, n - k));
    }
  };
  return d;
}
void compare(std::byte const* at, std::uint64_t page, std::uint64_t page_bytes) {
  for (std::uint64_t k = 0; k + 8 <= page_bytes; k += 8) {
    std::uint64_t there;
    std::memcpy(&there, at + k, 8);
    if (there != page) fail(errc::internal, "page {} came as page {}, from byte {} on", page, there, k);
  }
}
template <class F>
double seconds_of(F f) {
  auto const begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Host reads: each thread its share, with as many in flight as a thread's rings hold.
double read_by_host(reader& files, queue_rate_options const& o, std::vector<std::uint64_t> const& pages) {
  std::vector<std::exception_ptr> wrong(o.threads);
  std::size_t const at_once = std::size_t{o.depth} * std::max(1u, o.queues / o.threads);
  double const seconds = seconds_of([&] {
    std::vector<std::jthread> all;
    for (unsigned t = 0; t < o.threads; ++t)
      all.emplace_back([&, t] {
        try {
          buffer<std::byte> room(tier::host, at_once * o.page_bytes, -1, "pages that are read");
          read_queue queue(files);
          std::vector<read_request> asked;
          for (std::uint64_t done = 0; done < o.pages / o.threads;) {
            asked.clear();
            for (std::size_t k = 0; k < at_once && done + k < o.pages / o.threads; ++k) {
              std::uint64_t const page = pages[(t * (o.pages / o.threads) + done + k) % pages.size()];
              asked.push_back({page * o.page_bytes, o.page_bytes, room.data() + k * o.page_bytes, k});
            }
            queue.submit(asked);
            while (queue.under_way())
              for (read_done const& d : queue.wait(256))
                if (d.problem) throw files.error_of(d);
            done += asked.size();
          }
          for (read_request const& r : asked) compare(static_cast<std::byte const*>(r.to), r.offset / o.page_bytes, o.page_bytes);
        } catch (...) {
          wrong[t] = std::current_exception();
        }
      });
  });
  for (auto const& w : wrong)
    if (w) std::rethrow_exception(w);
  return static_cast<double>(o.pages / o.threads * o.threads) / seconds;
}

}  // namespace

queue_rate measure_queues(queue_rate_options const& o) {
  if (o.threads == 0 || o.at_once == 0 || o.trials == 0 || o.pages < o.at_once || o.pages < o.threads)
    fail(errc::usage, "{} threads, {} pages of which {} at once, {} trials; each at least 1, and no more at once than there are", o.threads,
         o.pages, o.at_once, o.trials);
  executor x(o.where);
  reader_options how;
  how.gap_bytes = 0;
  how.depth = o.depth * std::max(1u, o.queues / o.threads);
  reader files(simulate({numbered(o.page_bytes)}), how);
  queue_service provider(files, {o.threads, o.queues, o.depth, x.device()});
  queue_options q;
  q.page_bytes = o.page_bytes, q.frames = o.at_once;
  request_queues queues(x, provider, q);

  std::vector<std::uint64_t> pages(o.at_once);
  for (std::uint64_t k = 0; k < pages.size(); ++k) pages[k] = mix(k) % drive_pages;
  std::vector<std::uint32_t> frames(o.at_once);
  for (std::uint32_t k = 0; k < frames.size(); ++k) frames[k] = k;
  buffer<std::uint64_t> near_pages(x.near(), pages.size(), x.device(), "pages that are read");
  buffer<std::uint32_t> near_frames(x.near(), frames.size(), x.device(), "pages that are read");
  x.copy(near_pages.data(), pages.data(), near_pages.bytes());

  queue_rate best;
  best.pages = o.pages / o.at_once * o.at_once;
  for (unsigned trial = 0; trial < o.trials; ++trial) {
    x.copy(near_frames.data(), frames.data(), near_frames.bytes());
    x.wait();
    double const seconds = seconds_of([&] {
      for (std::uint64_t done = 0; done < best.pages; done += o.at_once) queues.read(x, near_pages.span(), near_frames.span());
    });
    best.by_rings = std::max(best.by_rings, static_cast<double>(best.pages) / seconds);
    best.by_host = std::max(best.by_host, read_by_host(files, o, pages));
  }
  std::vector<std::uint32_t> where(frames.size());
  x.copy(where.data(), near_frames.data(), near_frames.bytes());
  x.wait();
  for (std::size_t k = 0; k < pages.size(); ++k) compare(queues.frame(where[k]), pages[k], o.page_bytes);
  queue_report const r = queues.report(x);
  best.commands_a_doorbell = r.doorbells ? static_cast<double>(r.commands) / static_cast<double>(r.doorbells) : 0;
  return best;
}

}  // namespace garner::lab
