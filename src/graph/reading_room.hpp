// Room for what a reader gathers, charged to the host budget while it reads: a small file can hold a large edge list, and nobody knows how
// large before it is read. Afterwards the builder's own prediction counts the list.
// Invariant: whatever was charged is given back when the room ends, however reading ends.
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

  // Room for `items` of them in all; errc::memory where the budget refuses. While a vector moves, its old and its new place count.
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
  // For so many more; doubles, as a vector does, as long as the budget has so much.
  template <class T>
  void grow(std::vector<T>& v, std::size_t more) {
    std::size_t const need = v.size() + more;
    if (need > v.capacity()) reserve(v, std::max<std::size_t>(need, std::min<std::uint64_t>(2 * v.capacity(), left() / sizeof(T))));
  }
  static std::uint64_t left() {
    budget const& b = host_budget();
    return b.limit() - std::min(b.limit(), b.used());
  }

 private:
  std::string what_;
  std::uint64_t held_ = 0;
};

}  // namespace garner
