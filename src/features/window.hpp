// The prefetch window: remote rows of the next mini-batches, fetched once for all of them, in the order of the table, and cached on the
// device until the last of them has been consumed. Rows that repeat soon stay. Groups of mini-batches follow each other. For a group, the
// missing remote rows are found (an entry per row of the table has the slot of each), sorted, and read into slots of rows that no group
// reads and whose lease has ended. One group thus reads the window while rows of the next are fetched. A group that needs more slots gets
// another window, which takes over; open leases keep the old one.
// Invariant: leased rows have arrived when their reader runs, and their slots are not overwritten before it ends.
// Cost: 4 bytes per row of the table, and a row and 12 bytes per slot; while a larger window takes over, both.
// Source: GIDS' window buffering (PVLDB 17(6) 2024) pins rows that will be read again; reading all of them once, ahead and in order is
// ours. Eviction by next use: Belady, 1966, within the window.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "core/executor.hpp"
#include "core/lease.hpp"
#include "features/gather.hpp"
#include "features/row_view.hpp"
#include "memory/buffer.hpp"

namespace garner {

// Internals of a tensor, for Garner's own modules.
struct tensor_access {
  static row_view const& view(tiered_tensor const& t);
  static float const* scales(tiered_tensor const& t);
  static std::uint64_t puts(tiered_tensor const& t);  // how many calls have changed rows of the table
  static void require_peers(tiered_tensor const& t);  // errc::device where a process that holds rows has ended
  static element written(tiered_tensor const& t, std::optional<element> to);
  // For a table that stays in a file; null, or unused, for others.
  static std::shared_ptr<stored_rows const> file(tiered_tensor const& t);
  static std::uint64_t file_cache_bytes(tiered_tensor const& t);
  static std::span<float const> file_scores(tiered_tensor const& t);
  static std::span<float const> host_factors(tiered_tensor const& t);
};

class row_window {
 public:
  struct group_run {
    std::uint64_t ids = 0, far = 0;           // requested; of these not on the device or on peers
    std::uint64_t fetched = 0, left_far = 0;  // rows fetched now; rows that found no slot
  };
  struct fetched_rows {
    group_run run;
    lease<row_view> rows;  // the table and what is in the window
  };

  // `most_bytes`: of the rows it may hold.
  row_window(execution_device where, row_view const& table, element kind, std::uint64_t most_bytes, unsigned multiprocessors);

  executor& at() { return x_; }
  // The remote rows of a group: ids of each of its mini-batches, on the device, all valid. Work submitted to at() has completed when this
  // waits for counts; the rows arrive later. errc::internal where the group before left rows uncached and its lease is open: they could get
  // a slot now, while that group reads them.
  fetched_rows fetch(std::span<id_span const> batches);
  void expire() { now_->torn = true; }            // rows of the table have changed: the next group fetches all of its rows
  bool full() const { return full_; }             // the last group had rows that found no slot
  std::uint64_t bytes() const { return bytes_; }  // by any thread

 private:
  // A window of some slots: the slot of each row of the table, the row of each slot, and its last request.
  struct places {
    memory_block rows;
    buffer<std::uint32_t> window_of, used, numbers, free;
    buffer<std::uint64_t> owner;
    buffer<std::uint8_t> unused;
    bool torn = false;  // a fetch ended in an error, or rows changed: nothing is known of what is here
    std::uint64_t bytes() const;
  };
  std::shared_ptr<places> make(std::uint64_t count);
  void make_room(std::uint64_t ids);
  void forget(places& p);
  void bring(places& p, std::uint64_t missing, group_run& run);

  executor x_;
  element kind_;
  std::uint64_t most_bytes_;
  unsigned multiprocessors_;
  row_view table_;
  std::shared_ptr<places> now_;
  leases<row_view> given_;  // by group
  buffer<std::uint32_t> far_;
  buffer<std::uint64_t> ids_, fresh_ids_, spare_ids_, far_before_;
  buffer<std::uint8_t> fresh_;
  std::uint32_t group_ = 1;
  bool full_ = false;
  std::atomic<std::uint64_t> bytes_{0};
  wait_at_end settled_{x_};
};

// Rows of checked ids from wherever they are, one after the other to `out`; asynchronous.
void gather_from(executor& x, row_view const& from, id_span ids, void* out, gather_how const& how);

}  // namespace garner
