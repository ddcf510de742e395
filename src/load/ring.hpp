// The ring of mini-batches, and what the loader's thread, its caller and holders of mini-batches share. A mini_batch is the lease
// (core/lease.hpp) of a ring slot, with one reader per stream: use_on() orders a stream behind the event of the slot's rows, and release
// records the last use by each stream. Invariants: mini-batches are delivered in order. Buffers of a mini-batch are neither overwritten nor
// freed before its holder releases it and the work on its streams completes.
#pragma once
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/event.hpp"
#include "features/file_rows.hpp"
#include "features/window.hpp"
#include "garner/load.hpp"
#include "memory/buffer.hpp"
#include "sample/blocks.hpp"
#include "sample/order.hpp"

namespace garner {

struct load_ring;

// The fetch of one group's rows, with its times.
struct fetch_span {
  event begun, done;
  double ms = 0, began = 0;  // measured by the host's clock, if the device has none
  row_window::group_run run;
  std::uint64_t row_bytes = 0;
};

// A slot of the ring.
struct mini_batch::parts {
  batch_times times;
  std::optional<std::size_t> times_at;  // index in the report's times, which keep the first mini-batches; none: not kept
  double gather_began = 0;              // by the host's clock
  std::uint64_t epoch = 0, index = 0, seeds = 0;
  std::unique_ptr<sampled_subgraph> drawn;
  std::shared_ptr<epoch_order const> order;
  std::int64_t const* positions = nullptr;
  std::vector<memory_block> rooms;
  std::vector<mini_batch::rows> rows;
  event begun, ready;
  // Streams that read the mini-batch, each with its last use. The first `readers` of them belong to the current or last holder.
  struct reader {
    void* stream = nullptr;
    event done;
  };
  std::vector<reader> streams;
  std::size_t readers = 0;
  int device = -1;
  buffer<std::uint64_t> counts, counts_here;  // rows per table and tier
  bool handed = false, told = true;           // handed to the caller; already counted in the report
  std::mutex telling;
  std::vector<std::shared_ptr<fetch_span>> fetched;
  double gather_ms = 0, file_waited_ms = 0;
  std::vector<file_rows::figures> of_files;  // one per table
  std::weak_ptr<load_ring> home;

  void use_on(void* stream);  // orders the stream behind the arrival of the rows; without one, or on the host, waits for them
  template <class Use>
  void each_use(Use use) {
    for (reader& r : std::span(streams).first(readers)) use(r);
  }
  parts() = default;
  parts(parts const&) = delete;
  ~parts();  // waits for the readers, because the loader may have been destroyed first
};

struct load_ring : std::enable_shared_from_this<load_ring> {
  using slot = std::shared_ptr<mini_batch::parts>;

  pid_t const process = ::getpid();
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<slot> ready;  // null: the end of an epoch
  std::vector<slot> idle;
  std::vector<std::unique_ptr<sampled_subgraph>> idle_blocks;
  std::vector<slot> all;
  std::exception_ptr error;
  bool stop = false;
  std::uint64_t asked_epochs = 1;  // number of epochs that may begin
  load_report report;
  steady::time_point begun = steady::now(), made = steady::now();

  double since_made() const { return ms_since(made); }

  // Asks the thread to end.
  void halt() {
    std::lock_guard const hold(mutex);
    stop = true;
    changed.notify_all();
  }
  void resume() {
    std::lock_guard const hold(mutex);
    stop = false, error = nullptr, asked_epochs = 1;
  }
  // After the thread has ended.
  void empty() {
    std::lock_guard const hold(mutex);
    for (; !ready.empty(); ready.pop_front())
      if (auto const& r = ready.front()) idle.push_back(r);
  }
  void begin_report() {
    std::lock_guard const hold(mutex);
    for (auto const& r : all)
      if (r->handed) r->told = true;  // the new report leaves out earlier mini-batches
    report = {};
    begun = steady::now();
  }
  bool stopped() {
    std::lock_guard const hold(mutex);
    return stop;
  }
  // A free slot, once fewer than `prefetch` mini-batches are ready, in addition to those that the caller holds. Null: the loader is
  // stopping.
  slot free_slot(std::uint32_t prefetch) {
    slot r;
    auto const clock = steady::now();
    std::unique_lock hold(mutex);
    changed.wait(hold, [&] { return stop || ready.size() < prefetch; });
    if (stop) return r;
    report.loader_waited_ms += ms_since(clock);
    if (!idle.empty()) r = idle.front(), idle.erase(idle.begin());
    else all.push_back(r = std::make_shared<mini_batch::parts>()), r->home = weak_from_this();
    return r;
  }
  void give_back(slot const& r) {
    std::lock_guard const hold(mutex);
    idle.push_back(r);
  }
  void deliver(slot const& r, bool ends_epoch) {
    std::lock_guard const hold(mutex);
    ready.push_back(r);
    if (ends_epoch) ready.push_back(nullptr);
    changed.notify_all();
  }
  // An epoch of the caller ended without a further mini-batch.
  void end_epoch() {
    std::lock_guard const hold(mutex);
    if (!stop) ready.push_back(nullptr);
    changed.notify_all();
  }
  // The error is reported after all mini-batches that are ready.
  void fail_with(std::exception_ptr problem) {
    std::lock_guard const hold(mutex);
    error = std::move(problem);
    changed.notify_all();
  }
  std::unique_ptr<sampled_subgraph> free_blocks() {
    std::lock_guard const hold(mutex);
    if (idle_blocks.empty()) return std::make_unique<sampled_subgraph>();
    auto blocks = std::move(idle_blocks.back());
    idle_blocks.pop_back();
    return blocks;
  }
  void give_back(std::unique_ptr<sampled_subgraph>&& blocks) {
    std::lock_guard const hold(mutex);
    try {
      idle_blocks.push_back(std::move(blocks));
    } catch (std::bad_alloc const&) {  // is freed instead of reused
    }
  }
};

}  // namespace garner
