// The prefetch window: far rows that the next mini-batches will read, fetched once for all of them, in the order of the table, and kept
// near until the last of them has been handed over. Rows that are asked for again soon stay. How: groups of mini-batches, one after the
// other. Of a group the far rows that are not here yet are found (an entry a row of the table says where each is), sorted, and read; they
// take the places of rows that no group reads whose lease is out, so that rows are taken from the window for one group while those of the
// next come. A group that wants more places than there are gets another window, which takes over; leases that are out keep the one before.
// Invariant: what a lease names has come when its reader comes to it, and no place that it reads is written before it has gone. Cost: 4
// bytes a row of the table, and of the window a row and 12 bytes; while a larger one takes over, both. Source: GIDS' window buffering
// (PVLDB 17(6) 2024) pins rows that will be read again; that all are read once, ahead and in order is ours. Eviction by next use: Belady,
// 1966, within the window.
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

// The inside of a tensor, for Garner's own rooms.
struct tensor_access {
  static row_view const& view(tiered_tensor const& t);
  static float const* scales(tiered_tensor const& t);
  static void require_peers(tiered_tensor const& t);  // errc::device where a process that holds rows has ended
  static element written(tiered_tensor const& t, std::optional<element> to);
  // Of a table that stays in a file; null, or nothing, of others.
  static std::shared_ptr<stored_rows const> file(tiered_tensor const& t);
  static std::uint64_t file_cache_bytes(tiered_tensor const& t);
  static std::span<float const> file_scores(tiered_tensor const& t);
  static std::span<float const> host_factors(tiered_tensor const& t);
};

class row_window {
 public:
  struct group_run {
    std::uint64_t ids = 0, far = 0;           // asked for; of these not kept on the device or on peers
    std::uint64_t fetched = 0, left_far = 0;  // rows that came now; rows that there was no place for
  };
  struct fetched_rows {
    group_run run;
    lease<row_view> rows;  // the table and what is in the window
  };

  // `most_bytes`: of the rows it may hold.
  row_window(place where, row_view const& table, element kind, std::uint64_t most_bytes, unsigned multiprocessors);

  executor& at() { return x_; }
  // The far rows of a group: ids of each of its mini-batches, near, all of them rows of the table. What was given to at() before has
  // happened where this waits for counts; the rows come afterwards. errc::internal where rows of the group before were left far, and its
  // lease is out: they may get a place now, while that group reads them.
  fetched_rows fetch(std::span<id_span const> batches);
  bool full() const { return full_; }             // the last group had rows that there was no place for
  std::uint64_t bytes() const { return bytes_; }  // by any thread

 private:
  // A window of some places: where each row of the table is, who has a place, and when it was asked for last.
  struct places {
    memory_block rows;
    buffer<std::uint32_t> window_of, used, numbers, free;
    buffer<std::uint64_t> owner;
    buffer<std::uint8_t> unused;
    bool torn = false;  // a fetch ended in an error: nothing is known of what is here
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
