// The paper's components: in rounds, both ends of every edge of an active vertex get the smaller of their labels; vertices whose label
// changed are active next. Invariant: in a directed graph all vertices are active in every round, since an edge may be stored at an
// inactive vertex. Cost: some 4 to 6 times the edges in all.
#pragma once
#include "core/exec.hpp"
#include "core/progress.hpp"
#include "traverse/frontier.hpp"

namespace garner {

namespace detail {

struct every_vertex {
  std::uint64_t vertices;
  GARNER_HD std::uint32_t word(std::uint64_t w) const {
    std::uint64_t const left = vertices - w * 32;
    return left >= 32 ? ~0u : (1u << left) - 1;
  }
  GARNER_HD void take(std::uint64_t, std::uint32_t) const {}
};
struct flagged {
  std::uint32_t* active;
  GARNER_HD std::uint32_t word(std::uint64_t w) const { return active[w]; }
  GARNER_HD void take(std::uint64_t w, std::uint32_t) const { active[w] = 0; }
};

// Propagates the smaller label over the edge, in either direction.
template <class Id>
struct spread_labels {
  static constexpr bool weighted = false;
  Id* label;
  std::uint32_t* active;
  template <class Team>
  GARNER_HD void operator()(Team const& t, frontier_item<Id> const& at, Id u, std::uint64_t) const {
    Id const v = at.first, mine = atomic_load(label + v), theirs = atomic_load(label + u);
    if (mine < theirs) {
      if (mine < atomic_min(label + u, mine)) t.claim(active, u);
    } else if (theirs < mine) {
      if (theirs < atomic_min(label + v, theirs)) t.claim(active, v);
    }
  }
};

}  // namespace detail

// done(size): a round over a frontier of that size has ended.
template <class Id, class Done>
void run_label_rounds(frontier<Id>& front, csr_view<Id> const& out, bool directed, Id* label, std::uint32_t* active, Done const& done) {
  detail::every_vertex const all{out.vertices};
  front.gather(all);
  while (front.size().vertices) {
    check_interrupted();
    frontier_size const size = front.size();
    front.for_each_arc(out, detail::spread_labels<Id>{label, active});
    front.gather(detail::flagged{active});
    if (directed && front.size().vertices) front.gather(all);
    done(size);
  }
}

}  // namespace garner
