// Levels of a BFS over a graph in a file, in the direction that reads less: top-down reads the frontier's lists, bottom-up those of the
// unvisited vertices, which it caches in host memory for later levels (open_lists.hpp). Invariant: as of a level, and the frontier is
// gathered anew after it. Cost: windows of the file, as list_windows foresees them.
#pragma once
#include <optional>
#include <vector>

#include "core/exec.hpp"
#include "traverse/bottom_up.hpp"
#include "traverse/frontier.hpp"
#include "traverse/job.hpp"
#include "traverse/open_lists.hpp"

namespace garner {

namespace detail {

struct marked {
  std::uint32_t const* bits;
  GARNER_HD std::uint32_t word(std::uint64_t w) const { return bits[w]; }
  GARNER_HD void take(std::uint64_t, std::uint32_t) const {}
};
struct still_open {
  std::uint32_t const* visited;
  std::uint64_t vertices;
  GARNER_HD std::uint32_t word(std::uint64_t w) const {
    std::uint64_t const left = vertices - w * 32;
    return ~visited[w] & (left < 32 ? (1u << left) - 1 : ~0u);
  }
  GARNER_HD void take(std::uint64_t, std::uint32_t) const {}
};
template <class Id>
struct adopt {
  static constexpr bool weighted = false;
  std::uint64_t const* offsets;
  std::uint32_t const* current;
  std::uint32_t* visited;
  Id* parent;
  template <class Team>
  GARNER_HD void operator()(Team const& t, frontier_item<Id> const& at, Id u, std::uint64_t arc) const {
    std::uint64_t const v = at.owner_of(offsets, arc);
    if (has_bit(visited, v) || !has_bit(current, u))
      return;  // one frontier neighbor suffices; v is tested first, because its bit is already loaded
    if (t.claim(visited, v)) parent[v] = u;
  }
};

}  // namespace detail

template <class Id>
class file_levels {
 public:
  file_levels(job_setting& job, bool turns)
      : job_(job), asks_(x_.near(), turns && job.windows ? frontier<Id>::words_of(n_) : 0, x_.device(), "open bitmap"), open_(x_) {}

  void clear() { open_.clear(); }
  // Runs a level; true if bottom-up. `size`: of the frontier; `unexplored`: edges of unvisited vertices; `visit`: of a top-down level.
  template <class Visit>
  bool walk(frontier<Id>& front, csr_view<Id> const& out, search_tree<Id> const& tree, bottom_up<Id>& up, Visit const& visit,
            frontier_size const& size, std::uint64_t unexplored) {
    if (open_.whole()) {
      if (size.edges * sizeof(Id) * memory_over_drive < open_.arcs() * sizeof(Id) &&
          front.foresee_windows().cost() * memory_over_drive < open_.arcs() * sizeof(Id)) {
        front.for_each_arc(out, visit);
        return false;
      }
      open_.search(tree.current, tree.visited, tree.parent);
      return true;
    }
    // Checking all cached neighbors pays if a scan of all vertices costs less than reading the frontier's adjacency.
    bool const asks_near = up.cached_per_vertex() && size.edges > n_;
    if (!asks_near && unexplored >= size.edges) {
      front.for_each_arc(out, visit);
      return false;
    }
    std::uint64_t const down = front.foresee_windows().cost(), words = frontier<Id>::words_of(n_);
    if (asks_near) {
      up.clear_counts();
      up.ask_near(tree, 0, words, 0, asks_.data());
      front.gather(detail::marked{asks_.data()});
    } else {
      front.gather(detail::still_open{tree.visited, n_});
    }
    if (front.foresee_windows().cost() > down) {
      front.gather(detail::marked{tree.current});
      front.for_each_arc(out, visit);
      return false;
    }
    open_.clear();
    std::vector<std::uint32_t> reached, asked;
    front.walk_windows(out, detail::adopt<Id>{job_.offsets(), tree.current, tree.visited, tree.parent},
                       [&](list_window const& w, auto const& each_vertex) {
                         x_.wait();
                         open_.take(job_.g.out, w, at_home(tree.visited, words, reached), each_vertex);
                       });
    open_.finish(job_.home<Id>(), at_home(tree.visited, words, reached), asks_near ? at_home(asks_.data(), words, asked) : nullptr,
                 {job_.g.cached_neighbors.data(), n_, asks_near ? up.cached_per_vertex() : 0});
    return true;
  }

 private:
  static constexpr std::uint64_t memory_over_drive = 16;  // approximate ratio of speeds
  std::uint32_t const* at_home(std::uint32_t const* bits, std::uint64_t words, std::vector<std::uint32_t>& copy) {
    if (!x_.asynchronous()) return bits;
    copy.resize(words);
    x_.copy(copy.data(), bits, words * sizeof(std::uint32_t));
    x_.wait();
    return copy.data();
  }

  job_setting& job_;
  executor& x_ = job_.x;
  std::uint64_t const n_ = job_.g.info.vertices;
  buffer<std::uint32_t> asks_;  // vertices whose cached neighbors all missed
  open_lists<Id> open_;
};

}  // namespace garner
