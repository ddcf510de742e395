// Streams adjacency from a file through memory: each buffer ("window") holds as many of the wanted lists as fit, in file order.
//   windows.each(lists, {.weights = true}, count, [&](k) { return indices of item k's edges; }, [&](list_window const& w) {
//     ... run the loop's body over items [w.first, w.last), with a view of the lists that stand in the window ...
//   });
// Items arrive in the order of their edges. Only the file units that contain an item's edges are read. The
// gap between two of them is read along if that is cheaper than another request, or if one contiguous view
// is requested (`whole`). A second thread fills the next window while the loop works on the current one.
// Elements keep their global index; a window has an offset per item that maps the index to memory. Cache
// lines are aligned as in the file, so a device makes the same accesses as to adjacency in host memory.
// The memory is pinned for the device that runs. Invariant: a window holds whole items; its data is
// validated (list_file.hpp) before the loop sees it; when each() returns or throws, all reads have ended.
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
  // `whole` windows: one value for all; else by item from the first: where element 0 of the array would be.
  std::uint64_t const *targets_at = nullptr, *weights_at = nullptr;

  // A span of the window's array, or of its compressed words, from an index on.
  template <class T>
  GARNER_HD static span<T> moved(span<T> r, std::uint64_t at) {
    if (r.packed.at.blocks) r.packed.words = reinterpret_cast<std::uint32_t const*>(at);
    else r.data = reinterpret_cast<T const*>(at);
    return r;
  }
  // The view of a `whole` window's adjacency: only edges of its items may be read.
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

// A kernel over items from `first` on.
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

  // Allocates nothing yet: the first read does, within the host budget that is left by then.
  list_windows(executor& x, graph const& g);
  ~list_windows();
  list_windows(list_windows const&) = delete;
  list_windows& operator=(list_windows const&) = delete;

  // errc::memory if an item exceeds a window. Waits for the executor before a window's memory is reused.
  void each(edge_lists const& lists, wanted const& what, std::uint64_t count, range_of const& range, use_of const& use);
  // Visits all edges in order: use(window, edges of the window, vertices that own some of them).
  using use_arcs = std::function<void(list_window const&, indices arcs, indices vertices)>;
  void each_arc(edge_lists const& lists, wanted what, use_arcs const& use);

  file_reads take();  // reads since the last call
  // What each() would read for these items, and the bytes that the drive reads in the time of a request: to compare strategies beforehand.
  struct foreseen {
    std::uint64_t requests = 0, bytes = 0, gap = 0;
    std::uint64_t cost() const { return bytes + requests * gap; }  // in bytes
  };
  foreseen foresee(edge_lists const& lists, wanted const& what, std::uint64_t count, range_of const& range);
  // Host memory of both windows: the most they can use, and the least they need.
  static std::uint64_t most_bytes(graph_info const&info), least_bytes(graph_info const&info);
  static std::uint64_t bytes_within(graph_info const& info, std::uint64_t free);  // exact, if that much is free when they are allocated

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace garner
