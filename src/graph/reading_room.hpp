// Memory for a reader's output, charged to the host budget during the read: a small file can
// expand to a large edge list of unknown size. Afterwards the builder's own estimate covers
// the list. Invariant: whatever was charged is returned on destruction, however the read ends.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "memory/budget.hpp"

namespace garner {

class reading_room {
 public:
  explicit reading_room(std::string const& name) : what_("the edge list of " + name) {}
  ~reading_room() { host_budget().give_back(held_); }
  reading_room(reading_room const&) = delete;
  reading_room& operator=(reading_room const&) = delete;

  // Reserves space for `items` items in total; errc::memory if the budget is exceeded. While a vector reallocates, both copies count.
  template <class T>
  void reserve(std::vector<T>& v, std::size_t items) {
    if (items <= v.capacity()) return;
    std::uint64_t const before = std::min<std::uint64_t>(held_, v.capacity() * sizeof(T)), bytes = std::uint64_t{items} * sizeof(T);
    host_budget().take(bytes, what_.c_str());
    held_ += bytes;
    v.reserve(items);
    host_budget().give_back(before);
    held_ -= before;
  }
  // Reserves space for that many more; doubles, as a vector does, while the budget allows it.
  template <class T>
  void grow(std::vector<T>& v, std::size_t more) {
    std::size_t const need = v.size() + more;
    if (need > v.capacity())
      reserve(v, std::max<std::size_t>(need, std::min<std::uint64_t>(2 * v.capacity(), host_budget().left() / sizeof(T))));
  }

 private:
  std::string what_;
  std::uint64_t held_ = 0;
};

}  // namespace garner
