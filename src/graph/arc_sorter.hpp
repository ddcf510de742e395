// External sort of 64-bit keys, each with an optional weight, in less memory than they take. Keys are collected and sorted one part at a
// time. Each part becomes a run in an unnamed temporary file. Runs are merged, in several passes where one pass cannot hold them all.
// Invariant: equal keys come out in insertion order; nothing is written if one part holds all keys. Collecting: a tree of ranges of keys,
// whose leaves are lists of pages; a leaf that grows beyond what fits a cache becomes 16 leaves, so each is sorted by itself, by one
// thread, and no key is copied as the memory grows. Merging: all buffered keys below the smallest last key of any run are sorted together.
// All threads take part, and a single run passes through unchanged. Cost: one write and one read of all keys per pass, and two sorts.
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

  // Uses about that many bytes of host memory, both while it collects keys and while it merges.
  arc_sorter(executor& x, scratch_folder& folder, bool weighted, std::uint64_t bytes);

  void add(std::span<std::uint64_t const> added, std::span<std::uint32_t const> weights);
  // Earlier weights were integers; converts them to floats, as the following ones are.
  void weights_become_real();
  // Ends the current part and frees its memory.
  void cut();
  // All keys, unordered. Call after cut().
  void each_run(taker const& take);
  // Replaces all keys so far by others in the same order. Call after cut().
  void renumber(std::function<void(std::span<std::uint64_t>)> change);
  // No more input. Merges until one pass remains, which uses that many bytes. A part in memory stays there.
  void finish(std::uint64_t bytes);
  void in_order(taker const& take);  // may be called repeatedly; by any thread, one at a time

  std::uint64_t count() const { return count_; }
  // Memory that in_order() takes besides, to sort the part that stays in memory.
  std::uint64_t sort_bytes() const { return runs_.empty() ? std::min(gathered_ * 6, to_sort_) * record_bytes() : 0; }
  std::uint64_t runs() const { return runs_made_; }  // written to disk: 0 if one part held all keys
  std::uint64_t passes() const { return passes_; }   // over the files, excluding the last

 private:
  struct run {
    std::shared_ptr<scratch_file> file;
    std::uint64_t at = 0, count = 0;  // keys start at `at`, weights follow them
    bool real = false;                // its weights, if any, are floats
    bool renumbered = false;          // false after a later renumber()
  };
  struct at_hand;
  // A range of keys from `low` on. Its keys are in pages, or in 16 ranges of equal width, of which the last one has no end.
  struct alignas(64) range {
    std::uint64_t low = 0, count = 0;
    std::uint64_t* keys = nullptr;  // of the last page
    std::uint32_t* weights = nullptr;
    std::uint32_t children = 0, first = 0, last = 0;  // the first child, or 0; pages
    std::uint8_t shift = 0;                           // of the children's width
    bool one_key = false;
  };
  struct page {
    std::uint64_t* keys;
    std::uint32_t* weights;
    std::uint32_t next;
  };
  std::uint64_t record_bytes() const { return weighted_ ? 12 : 8; }
  bool add_page(range& to);
  void make_pages();
  void split(std::uint32_t at);
  // Visits the keys of a range in insertion order, in parts.
  template <class Visit>
  void each_page(range const& of, Visit const& visit) const;
  // The part in memory: take(position, keys, weights) for ascending ranges, by all threads; `in_turn`: one at a time, in order.
  void each_sorted(bool in_turn,
                   std::function<void(std::uint64_t, std::span<std::uint64_t const>, std::span<std::uint32_t const>)> const& take);
  void write_part();
  void read(run const& from, std::uint64_t first, std::uint64_t n, std::uint64_t* keys, std::uint32_t* weights) const;
  void merge(std::span<run const> group, taker const& take) const;

  executor& x_;
  scratch_folder& folder_;
  bool weighted_;
  std::uint64_t bytes_;
  std::uint64_t page_ = 0, to_sort_ = 0, most_pages_ = 0;  // records of a page, and of all threads' room to sort; pages of a part
  std::vector<buffer<std::uint64_t>> keys_;                // memory of pages
  std::vector<buffer<std::uint32_t>> weights_;
  std::vector<page> pages_;
  std::vector<std::uint32_t> free_pages_;
  std::vector<range> ranges_{1};
  std::uint64_t gathered_ = 0, count_ = 0, runs_made_ = 0, passes_ = 0;
  bool real_ = false;  // new weights are floats
  std::function<void(std::span<std::uint64_t>)> change_;
  std::vector<run> runs_;
};

}  // namespace garner
