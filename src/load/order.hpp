// The order of mini-batches: of the loader's own seeds, epoch by epoch, or of an epoch that the caller defines. It yields them in groups,
// which the stages sample and fetch together. The caller's epoch is replaced while the thread is stopped, and extended under the ring's
// lock.
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/lease.hpp"
#include "features/row_view.hpp"
#include "load/checks.hpp"
#include "load/ring.hpp"
#include "memory/buffer.hpp"
#include "sample/order.hpp"

namespace garner {

// A mini-batch on its way through the stages.
struct load_job {
  std::shared_ptr<epoch_order const> order;  // null: the caller defined the epoch
  own_batch const* own = nullptr;            // seeds of the caller's epoch
  std::uint64_t number = 0;                  // keys its samples
  std::uint64_t epoch = 0, index = 0, first = 0, count = 0;
  bool ends = false;  // last of its epoch
  std::unique_ptr<sampled_subgraph> drawn = {};
  std::vector<std::shared_ptr<fetch_span>> fetched = {};  // one per table, in the group's first mini-batch
  double began = 0, ended = 0;                            // in the first: when sampling of the group was submitted, by the host's clock
  batch_times::stage sampled = {};
  bool asked_for = false;  // in the first: fetch() has seen the group
};
struct load_group : std::vector<load_job> {
  std::vector<lease<row_view>> rows;  // one per table; empty: no window
};

class load_order {
 public:
  // `seeds`: none if the caller defines every epoch.
  load_order(load_terms& t, load_ring& ring, std::optional<std::vector<std::int64_t>> const& seeds);

  std::uint64_t seeds() const { return seed_count_; }
  std::uint64_t bytes() const { return seeds_.bytes(); }
  std::uint64_t batches() const;  // per epoch; of the caller's: so far
  // Of what defines all mini-batches, or those before `next`.
  std::uint64_t fingerprint() const { return fingerprint_; }
  std::uint64_t fingerprint_at(std::uint64_t next) const;

  // --- the caller's epoch ---
  bool own() const { return own_.has_value(); }
  void require_more(std::uint64_t next) const;  // errc::usage if mini-batch `next` was not given and the epoch is open
  void open(std::uint64_t number);
  void close() { own_.reset(); }
  void give(own_batch&& seeds);
  void end();

  // Mini-batches from (epoch, index) on.
  class reader {
   public:
    reader(load_order& of, std::uint64_t epoch, std::uint64_t index) : of_(of), epoch_(epoch), index_(index) {}
    // A group of at most `window`. Until the caller starts an epoch, waits if `waits`, else returns nothing.
    load_group next(bool waits, std::uint32_t window);

   private:
    load_group next_own(bool waits, std::uint32_t window);
    load_order& of_;
    std::uint64_t epoch_, index_, begun_ = 0;
    std::shared_ptr<epoch_order const> order_;
  };

 private:
  struct own_epoch {
    std::deque<own_batch> batches;            // addresses stay valid as it grows; all are kept for resume()
    std::vector<std::uint64_t> fingerprints;  // element k: of the batches before batch k; the last: of all
    std::uint64_t number = 0;                 // of the first of them
    bool ended = false;
  };
  load_terms& t_;
  load_ring& ring_;
  buffer<std::int64_t> seeds_;
  std::uint64_t seed_count_ = 0, fingerprint_ = 0;
  std::uint64_t share_ = 0, per_epoch_ = 0;  // seeds and mini-batches of an epoch
  std::optional<own_epoch> own_;
};

}  // namespace garner
