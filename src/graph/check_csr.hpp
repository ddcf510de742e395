// The invariants of CSR: what must hold of offsets, targets and tables of ids before any loop relies on them.
// Cost: each array is looked at once, by all threads; of several faults the one at the lowest index is told, so that the message does not
// depend on which thread was first.
#pragma once
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "graph/container.hpp"

namespace garner {

// Of what several threads find the fault at the lowest index.
class first_fault {
 public:
  void note(std::uint64_t index, std::string what) {
    std::lock_guard const hold(mutex_);
    if (index < index_) index_ = index, what_ = std::move(what);
  }
  void tell(std::string const& where) const;  // errc::input where there is one

 private:
  std::mutex mutex_;
  std::uint64_t index_ = std::numeric_limits<std::uint64_t>::max();
  std::string what_;
};

// `s`: the section that the array lies in, for the byte in the message; null where it lies in none.
void check_offsets(graph_info const& info, std::uint64_t const* offsets, std::string const& where, container_section const* s);

// Checks targets block by block as they pass, against offsets that are known to be good.
class target_check {
 public:
  target_check(graph_info const& info, std::uint64_t const* offsets, container_section const* s, std::uint64_t block_bytes);
  void operator()(std::uint64_t index, void const* data, std::uint64_t bytes);  // block number `index`; from any thread
  void finish(std::string const& where);                                        // errc::input where anything was wrong

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
  std::vector<end_targets> ends_;  // of each block: where two blocks meet is looked at last
  first_fault fault_;
};

// `by_id` (an entry of info.id_bytes a vertex) leads to ids that ascend, so no vertex stands in it twice, so all do, and no id is given
// twice.
void check_by_id(graph_info const& info, std::uint64_t const* ids, void const* by_id, std::string const& where, container_section const& s);
void check_ids(std::uint64_t const* ids, std::uint64_t n, std::string const& where, container_section const& s);

}  // namespace garner
