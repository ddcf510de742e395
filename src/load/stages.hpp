// The stages of a mini-batch, in the order of the functions here. The loader's thread calls them. Sampler, windows and gathers have one
// stream each; the thread waits for counts alone.
// Cost: the rows of `prefetch` + 1 mini-batches in the ring, the sampler's results of two groups, and the windows.
#pragma once
#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "features/gather.hpp"
#include "features/window.hpp"
#include "load/checks.hpp"
#include "load/loader_access.hpp"
#include "load/order.hpp"
#include "load/ring.hpp"

namespace garner {

class load_stages {
 public:
  load_stages(load_terms& t, load_ring& ring, std::uint64_t seed_bytes, loader_access::rows_source const& source);

  // --- a group ---
  void sample(load_group& g);        // submits it to the sampler
  void finish(load_group& g);        // waits for its counts
  void enter(load_group& g);         // the file caches may read its rows
  void enter_no_more();              // no group follows for now
  void fetch(load_group& g);         // its missing remote rows into the windows; once
  void choose(load_group const& g);  // the size of later groups, from what the first one sampled and fetched
  void drop(load_group& g);
  // --- a mini-batch ---
  bool hand_over(load_job& j, load_group& of);  // gathers its rows into a slot of the ring; false: the loader is stopping
  void tell(mini_batch::parts& r);              // adds its costs to the report, once its work has completed

  bool changed() const;         // rows of a table have been put since renew()
  void renew();                 // before the thread starts: windows forget rows that have changed
  void wait();                  // for gathers and windows; their errors were reported
  std::exception_ptr forget();  // the file caches forget their mini-batches; the error of one of them
  void require_peers() const;   // errc::device where a process that holds rows has ended
  bool from_files() const { return from_files_; }
  bool window_full() const;                           // a window had no room for a group's rows
  std::uint32_t window() const { return window_; }    // mini-batches per group
  std::uint32_t largest() const { return largest_; }  // of all groups so far
  std::uint64_t bytes_now() const;                    // by the thread, or while it is stopped
  std::uint64_t bytes_then() const { return used_; }  // bytes_now(), as the thread last computed it
  void note_bytes() { used_ = bytes_now(); }

 private:
  std::uint64_t window_bytes() const;
  id_span ids_of(load_job const& j, std::size_t table) const;
  bool counts_rows() const;
  bool gather(mini_batch::parts& r, load_job& j, load_group& of);
  bool gather_table(mini_batch::parts& r, load_job& j, load_group& of, std::size_t k);
  batch_times::stage stage_of(event const& begin, event const& end, double began, double ms) const;

  load_terms& t_;
  load_ring& ring_;
  std::uint64_t const seed_bytes_;
  std::vector<std::optional<tier>> tier_of_;          // one per table: the tier of all its rows; none: several tiers
  std::vector<std::unique_ptr<row_window>> windows_;  // one per table; null: no window
  std::vector<std::unique_ptr<file_rows>> caches_;    // one per table; null: its rows do not stay in a file
  std::vector<std::uint64_t> puts_;                   // of each table, at the last renew()
  bool from_files_ = false, chooses_window_ = false;
  std::uint32_t largest_ = 0;             // of the thread, or while it is stopped
  std::atomic<std::uint32_t> window_{0};  // the thread may change it once
  std::atomic<std::uint64_t> used_{0};
  event made_;  // zero of the device's clock; ring_.made is that of the host's
};

}  // namespace garner
