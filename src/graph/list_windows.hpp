// Lists in a file, a window at a time: as many of those that a loop wants as fit into memory, in the order of the file.
//   windows.each(lists, {.weights = true}, count, [&](k) { return indices of item k's arcs; }, [&](list_window const& w) {
//     ... run the loop's body over items [w.first, w.last), with a view of the lists that stand in the window ...
//   });
// Items come in the order of their arcs. The units of the file that an item's arcs lie in are read; what lies between two of them is read
// too where that costs less than another request, or where one view of all of them is wanted (`whole`). While the loop works on a window
// the next one is read: two windows, and a thread that reads.
// An element keeps its index, as everywhere; a window says by item how much further on in its memory it stands. Lines of the file are
// lines of the memory, so that a device asks for the same as of lists in host memory. The memory is pinned for the device that runs.
// Invariant: the items of a window are whole; what stands there was compared (list_file.hpp) before the loop sees it; when each() returns
// or throws nothing is read any more.
#pragma once
#include <functional>
#include <memory>

#include "core/executor.hpp"
#include "garner/traffic.hpp"
#include "graph/graph.hpp"
#include "graph/list_file.hpp"

namespace garner {

struct list_window {
  std::uint64_t first = 0, last = 0;  // items
  // Of `whole` windows one for all, else by item from the first: where element 0 of the array would stand.
  std::uint64_t const *targets_at = nullptr, *weights_at = nullptr;

  // A span of the window's array, or its packed words, from a place of it.
  template <class T>
  GARNER_HD static span<T> moved(span<T> r, std::uint64_t at) {
    if (r.packed.at.blocks) r.packed.words = reinterpret_cast<std::uint32_t const*>(at);
    else r.data = reinterpret_cast<T const*>(at);
    return r;
  }
  // Of a `whole` window the view of its lists: only arcs of its items may be read.
  template <class Id>
  csr_view<Id> over(csr_view<Id> v) const {
    auto const put = [](auto& array, std::uint64_t const* at) {
      if (!at) return;
      if (array.packed.at.blocks) array.packed.words = reinterpret_cast<std::uint32_t const*>(*at);
      else array.data = reinterpret_cast<decltype(array.data)>(*at);
    };
    put(v.targets, targets_at);
    put(v.weights, weights_at);
    return v;
  }
};

// A body from item `first` on.
template <class Body>
struct beginning_at {
  Body body;
  std::uint64_t first;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    body(t, first + i);
  }
};

class list_windows {
 public:
  struct wanted {
    bool targets = true, weights = false;
    bool whole = false;
  };
  using range_of = std::function<indices(std::uint64_t item)>;
  using use_of = std::function<void(list_window const&)>;

  // Takes no memory yet: that is done when the first window is read, within what the host budget leaves then.
  list_windows(executor& x, graph const& g);
  ~list_windows();
  list_windows(list_windows const&) = delete;
  list_windows& operator=(list_windows const&) = delete;

  // errc::memory where an item does not fit into a window. Waits for the executor before a window's memory is used again.
  void each(edge_lists const& lists, wanted const& what, std::uint64_t count, range_of const& range, use_of const& use);
  // All arcs in order, use(window, arcs of the window, vertices that own some of them).
  using use_arcs = std::function<void(list_window const&, indices arcs, indices vertices)>;
  void each_arc(edge_lists const& lists, wanted what, use_arcs const& use);

  file_reads take();  // what was read since the last time
  // What each() would read for them, and what its drive reads in the time of a request: so that two ways are compared before one is taken.
  struct foreseen {
    std::uint64_t requests = 0, bytes = 0, gap = 0;
    std::uint64_t cost() const { return bytes + requests * gap; }  // in bytes
  };
  foreseen foresee(edge_lists const& lists, wanted const& what, std::uint64_t count, range_of const& range);
  // Of host memory, both windows: as many as they take where there is room, and as many as they must have.
  static std::uint64_t most_bytes(graph_info const&info), least_bytes(graph_info const&info);
  static std::uint64_t bytes_within(graph_info const& info, std::uint64_t free);  // exactly, where so many are left when they are made

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace garner
