// A training without a model: a loader's mini-batches are taken one after the other, each is held for a while, and what happened is told
// an epoch. What the first epoch took (of one alone: the first windows) is not counted in the times, since rooms are made then.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/executor.hpp"
#include "garner/load.hpp"
#include "memory/buffer.hpp"

namespace garner::bench {

// Stands for a model: takes so long on the stream of `x` (at the host and simulated: of the caller's time). On a device arithmetic on all
// its multiprocessors, whose length is measured first.
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
  // A mini-batch; stages overlap. A fetch counts with the first mini-batch of its group.
  double sample_ms = 0, fetch_ms = 0, gather_ms = 0;
  double vertices = 0, edges = 0;
  double near_rows = 0, peer_rows = 0, far_rows = 0;  // by where the table has them ...
  double window_rows = 0, fetched_rows = 0;           // ... of the far ones: had been fetched, were fetched
  double far_bytes = 0;
  double file_rows = 0, file_hit_rows = 0;                    // of tables that stay in a file: asked for; that were there
  double file_reads = 0, file_bytes = 0, file_waited_ms = 0;  // that were read
  double caller_waited_ms = 0, loader_waited_ms = 0;

  double each_ms() const { return batches ? ms / static_cast<double>(batches) : 0; }
  double hits() const { return window_rows + fetched_rows > 0 ? window_rows / (window_rows + fetched_rows) : 0; }
  double file_hits() const { return file_rows > 0 ? file_hit_rows / file_rows : 0; }
  double file_gbs() const { return each_ms() > 0 ? file_bytes / each_ms() / 1e6 : 0; }  // over the epoch
  double far_gbs() const { return each_ms() > 0 ? far_bytes / each_ms() / 1e6 : 0; }    // over the epoch
  double fetch_gbs() const { return fetch_ms > 0 ? far_bytes / fetch_ms / 1e6 : 0; }    // while rows are fetched
};

struct dry_options {
  std::uint64_t epochs = 1;              // ends before this one begins
  std::optional<std::uint64_t> batches;  // ends after so many mini-batches
  std::uint64_t stretch = 8;             // mini-batches whose mean is one time of the median
  double compute_ms = 0;
  std::function<void(mini_batch const&, executor&)> each = {};
  std::function<void(dry_epoch const&)> told = {};
};
struct dry_result {
  std::vector<dry_epoch> epochs;
  std::uint64_t batches = 0, timed = 0;  // handed over; of these counted in the times
  bool warm = false;                     // false: too few for a warm-up, so all are counted
  double mean_ms = 0, median_ms = 0;     // a mini-batch, the median of stretches
  dry_epoch all;                         // of what was timed
  std::vector<batch_times> times;        // what the loader kept, in order
};
// What a loader throws comes through, after the mini-batches before it.
dry_result train_dry(loader& l, place where, dry_options const& options);

}  // namespace garner::bench
