// The invariants of CSR: what offsets, targets and id tables must satisfy before any loop relies on them. Cost: one pass over each array,
// by all threads. If there are several faults, the one at the lowest index is reported, so that the message does not depend on thread
// timing.
#pragma once
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "graph/container.hpp"

namespace garner {

// Several threads report faults; keeps the one at the lowest index.
class first_fault {
 public:
  void note(std::uint64_t index, std::string what) {
    std::lock_guard const hold(mutex_);
    if (index < index_) index_ = index, what_ = std::move(what);
  }
  void tell(std::string const& where) const;  // throws errc::input if there is a fault

 private:
  std::mutex mutex_;
  std::uint64_t index_ = std::numeric_limits<std::uint64_t>::max();
  std::string what_;
};

// `s`: the file section that holds the array, for the byte in the message; null if it is in memory.
void check_offsets(graph_info const& info, std::uint64_t const* offsets, std::string const& where, container_section const* s);

// Checks targets block by block as they arrive, against offsets already validated.
class target_check {
 public:
  target_check(graph_info const& info, std::uint64_t const* offsets, container_section const* s, std::uint64_t block_bytes);
  void operator()(std::uint64_t index, void const* data, std::uint64_t bytes);  // block number `index`; thread-safe
  void finish(std::string const& where);                                        // throws errc::input if any block failed

 private:
  struct end_targets {
    std::uint64_t first = 0, last = 0;
  };
  template <class Id>
  void look(std::uint64_t index, Id const* t, std::uint64_t n);
  void unsorted(std::uint64_t edge);

  graph_info const& info_;
  std::uint64_t const* offsets_;
  container_section const* section_;
  std::uint64_t block_;
  std::vector<end_targets> ends_;  // ends of each block: block boundaries are checked last
  first_fault fault_;
};

// `by_id` (info.id_bytes per vertex) must order the ids strictly
// ascending. Then it is a permutation, and every id is unique.
void check_by_id(graph_info const& info, std::uint64_t const* ids, void const* by_id, std::string const& where, container_section const& s);
void check_ids(std::uint64_t const* ids, std::uint64_t n, std::string const& where, container_section const& s);

}  // namespace garner
