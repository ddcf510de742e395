// Keys of 64 bits, each perhaps with a weight, sorted in less memory than they take. They are gathered and sorted a part at a time; each
// part becomes a run in a file without a name, and runs are merged, in several passes where there are more than one pass can hold.
// Invariant: equal keys come out in the order in which they were added; nothing is written where one part holds all.
// Merging: what is at hand of all runs below the smallest last key at hand is sorted together, by the same sort that made the runs; so it
// is a loop of all threads, and a run that lies alone is passed on as it is. Cost: a write and a read of all keys a pass, two sorts.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/executor.hpp"
#include "core/scratch_file.hpp"
#include "memory/buffer.hpp"

namespace garner {

class arc_sorter {
 public:
  using taker = std::function<void(std::span<std::uint64_t const> keys, std::span<std::uint32_t const> weights)>;

  // Takes about so many bytes of host memory, both while it gathers and while it merges.
  arc_sorter(executor& x, scratch_folder& folder, bool weighted, std::uint64_t bytes)
      : x_(x), folder_(folder), weighted_(weighted), bytes_(bytes) {}

  void add(std::span<std::uint64_t const> added, std::span<std::uint32_t const> weights);
  // Weights so far were whole numbers; they become floats, as those that follow are.
  void weights_become_real();
  // Ends the part at hand, so that its memory is free.
  void cut();
  // All keys, in no order. After cut().
  void each_run(taker const& take);
  // Keys so far become others, in the same order. After cut().
  void renumber(std::function<void(std::span<std::uint64_t>)> change);
  // Nothing more is added; merges until one pass is left, which takes so many bytes. A part that is in memory stays there.
  void finish(std::uint64_t bytes);
  void in_order(taker const& take);  // as often as wanted

  std::uint64_t count() const { return count_; }
  std::uint64_t runs() const { return runs_made_; }  // that were written: 0 where one part held all
  std::uint64_t passes() const { return passes_; }   // over files, but for the last

 private:
  struct run {
    std::shared_ptr<scratch_file> file;
    std::uint64_t at = 0, count = 0;  // keys from `at` on, weights behind them
    bool real = false;                // its weights are floats, if any are
    bool renumbered = false;          // not, where renumber() was called since
  };
  struct at_hand;
  std::uint64_t record_bytes() const { return weighted_ ? 12 : 8; }
  bool grow();
  void sort_part();
  void write_part();
  void read(run const& from, std::uint64_t first, std::uint64_t n, std::uint64_t* keys, std::uint32_t* weights) const;
  void merge(std::span<run const> group, taker const& take) const;

  executor& x_;
  scratch_folder& folder_;
  bool weighted_;
  std::uint64_t bytes_;
  buffer<std::uint64_t> keys_, spare_;
  buffer<std::uint32_t> weights_, spare_weights_;
  std::span<std::uint64_t> part_;  // after sort_part()
  std::span<std::uint32_t> part_weights_;
  std::uint64_t gathered_ = 0, count_ = 0, runs_made_ = 0, passes_ = 0;
  bool real_ = false;  // weights added now are floats
  std::function<void(std::span<std::uint64_t>)> change_;
  std::vector<run> runs_;
};

}  // namespace garner
