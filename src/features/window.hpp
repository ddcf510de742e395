// The prefetch window: far rows that the next mini-batches will read, fetched once for all of them, in the order of the table, and kept
// near until the last of them has been handed over. Rows that are asked for again soon stay. How: groups of mini-batches, one after the
// other. Of a group the far rows that are not here yet are found (an entry a row of the table says where each is), sorted, and read; they
// take the places of rows that neither this group nor the one before reads, so that rows can be taken from the window for one group while
// those of the next come. Invariant: a row that window_of names has come when the executor of fetch() has; while a group is handed over no
// place that it reads is written. Cost: 4 bytes a row of the table, and of the window a row and 12 bytes. Source: GIDS' window buffering
// (PVLDB 17(6) 2024) pins rows that will be read again; that all are read once, ahead and in order is ours. Eviction by next use: Belady,
// 1966, within the window.
#pragma once
#include <cstdint>
#include <span>

#include "core/event.hpp"
#include "core/executor.hpp"
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

  // `most_bytes`: of the rows it may hold.
  row_window(place where, row_view const& table, element kind, std::uint64_t most_bytes, unsigned multiprocessors);

  executor& at() { return x_; }
  // The far rows of a group: ids of each of its mini-batches, near, all of them rows of the table. What was given to at() before has
  // happened where this waits for counts; the rows come afterwards.
  group_run fetch(std::span<id_span const> batches);
  bool full() const { return full_; }             // the last group had rows that there was no place for
  row_view const& view() const { return view_; }  // the table and what is in the window
  std::uint64_t bytes() const;

 private:
  void make_room(std::uint64_t ids);
  void forget();

  executor x_;
  element kind_;
  std::uint64_t most_bytes_;
  unsigned multiprocessors_;
  row_view view_;
  memory_block rows_;
  buffer<std::uint32_t> window_of_, used_, numbers_, free_, far_;
  buffer<std::uint64_t> owner_, ids_, fresh_ids_, spare_ids_, far_before_;
  buffer<std::uint8_t> fresh_, unused_;
  std::uint32_t group_ = 1;
  bool full_ = false;
  wait_at_end settled_{x_};
};

// Rows of checked ids from wherever they are, one after the other to `out`; asynchronous.
void gather_from(executor& x, row_view const& from, id_span ids, void* out, gather_how const& how);

}  // namespace garner
