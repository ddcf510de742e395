// A training without a model: takes a loader's mini-batches, holds each for a while, and reports statistics per epoch. The first epoch (of
// a single epoch: the first windows) is excluded from the times, since buffers are allocated then.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/executor.hpp"
#include "garner/load.hpp"
#include "memory/buffer.hpp"

namespace garner::cli {

// Emulates a model: occupies the stream of `x` for this time (CPU and simulated: the calling thread). On a GPU it runs arithmetic on all
// multiprocessors, calibrated first.
class held_model {
 public:
  held_model(executor& x, double ms);
  void hold();
  double ms() const { return ms_; }

 private:
  executor& x_;
  double ms_;
  std::uint64_t lanes_ = 0;
  std::uint32_t steps_ = 0;
  buffer<std::uint32_t> wrong_;
};

struct dry_epoch {
  std::uint64_t epoch = 0, batches = 0, seeds = 0;
  double ms = 0;  // from the first next() to the end of all work
  // Per mini-batch; stages overlap. A fetch counts for the first mini-batch of its group.
  double sample_ms = 0, fetch_ms = 0, gather_ms = 0;
  double vertices = 0, edges = 0;
  double near_rows = 0, peer_rows = 0, far_rows = 0;  // by the table's tiers
  double window_rows = 0, fetched_rows = 0;           // of the remote ones: already fetched, newly fetched
  double remote_bytes = 0;
  double file_rows = 0, file_hit_rows = 0;                    // tables in a file: requested rows; rows in memory
  double file_reads = 0, file_bytes = 0, file_waited_ms = 0;  // read from the file
  double caller_waited_ms = 0, loader_waited_ms = 0;

  double each_ms() const { return batches ? ms / static_cast<double>(batches) : 0; }
  double hits() const { return window_rows + fetched_rows > 0 ? window_rows / (window_rows + fetched_rows) : 0; }
  double file_hits() const { return file_rows > 0 ? file_hit_rows / file_rows : 0; }
  double file_gbs() const { return each_ms() > 0 ? file_bytes / each_ms() / 1e6 : 0; }   // over the epoch
  double far_gbs() const { return each_ms() > 0 ? remote_bytes / each_ms() / 1e6 : 0; }  // over the epoch
  double fetch_gbs() const { return fetch_ms > 0 ? remote_bytes / fetch_ms / 1e6 : 0; }  // during fetches
};

struct dry_options {
  std::uint64_t epochs = 1;              // end before this epoch
  std::optional<std::uint64_t> batches;  // end after this many mini-batches
  std::uint64_t stretch = 8;             // mini-batches that are averaged for one sample of the median
  double compute_ms = 0;
  std::function<void(mini_batch const&, executor&)> each = {};
  std::function<void(dry_epoch const&)> told = {};
};
struct dry_result {
  std::vector<dry_epoch> epochs;
  std::uint64_t batches = 0, timed = 0;  // delivered; of these, timed
  bool warm = false;                     // false: too few for a warm-up, so all are timed
  double mean_ms = 0, median_ms = 0;     // per mini-batch, the median of averages
  dry_epoch all;                         // of the timed mini-batches
  std::vector<batch_times> times;        // recorded by the loader, in order
};
// Exceptions of the loader propagate, after the mini-batches before them.
dry_result train_dry(loader& l, execution_device where, dry_options const& options);

}  // namespace garner::cli
