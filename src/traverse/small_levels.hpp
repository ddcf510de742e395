// Levels of few vertices. A road network has hundreds of them, and each costs launches and a wait, not work. Here the frontier is a queue
// in local memory, a level is one launch that reads its vertex count from where the previous launch left it, and the host checks only once
// per batch of levels. An empty or oversized level does nothing, and neither do the launches after it. Invariants: `visited` is as
// elsewhere; when a level is processed, its vertices' bits are set in `gathered`, and their depths written. So if a level is skipped
// because it is too large, visited & ~gathered is that level, in the form that a frontier gathers. Cost on the device: one launch per level
// and one wait per batch, of 2 levels at first and at most 32.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>

#include "core/exec.hpp"
#include "memory/buffer.hpp"
#include "traverse/frontier.hpp"

namespace garner {

struct small_level {
  std::uint64_t size = 0;  // vertices in the lowest 24 bits, their out-edges above, so that one atomic updates both
  run_traffic asked;       // in closed form, if edges cross the link

  GARNER_HD std::uint64_t vertices() const { return size & 0xffffff; }
  GARNER_HD std::uint64_t arcs() const { return size >> 24; }
};

// The definition of small. A list that would take a single team long makes its level too large.
struct small_limits {
  static constexpr std::uint64_t longest = 1024;
  std::uint64_t vertices, arcs;

  explicit small_limits(graph_info const& info)
      : vertices(std::min<std::uint64_t>(4096, info.vertices)), arcs(std::min<std::uint64_t>(32768, info.edges / 64)) {}
  GARNER_HD bool hold(std::uint64_t size) const { return (size & 0xffffff) <= vertices && size >> 24 <= arcs; }
  GARNER_HD std::uint64_t of_one(std::uint64_t degree) const { return 1 | (degree > longest ? arcs + 1 : degree) << 24; }
};

namespace detail {

// Frontier vertices with edges form the queue; isolated ones between joined neighbors are omitted.
template <class Id>
struct enqueue {
  frontier_item<Id> const* items;
  std::uint64_t const* offsets;
  small_limits limits;
  Id* queue;
  small_level* level;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    frontier_item<Id> const at = items[i];
    if (at.slice()) return;
    for (std::uint64_t v = at.first; v < at.first + at.length(); ++v) {
      std::uint64_t const degree = offsets[v + 1] - offsets[v];
      if (!degree) continue;
      std::uint64_t const place = atomic_add(&level->size, limits.of_one(degree)) & 0xffffff;
      if (place < limits.vertices) queue[place] = static_cast<Id>(v);
    }
  }
};

// State of the search that a level reads and writes.
template <class Id>
struct small_search {
  std::uint32_t *visited, *gathered, *depth;
  Id* parent;
};

template <class Id, bool Packed>
struct walk_queue {
  csr_view<Id> g;
  arc_costs costs;
  small_limits limits;
  small_search<Id> to;
  Id const* queue;
  Id* next_queue;
  small_level *level, *next;
  std::uint32_t depth;
  std::uint64_t teams;

  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    std::uint64_t const size = level->size, count = size & 0xffffff;
    if (!limits.hold(size)) return;
    for (std::uint64_t k = i; k < count; k += teams) {
      Id const v = queue[k];
      t.once([&] {
        to.depth[v] = depth;
        atomic_or(to.gathered + v / 32, 1u << v % 32);
      });
      t.each(known<Packed>(g.list(v)), [&](Id u) {
        if (!t.claim(to.visited, u)) return;
        to.parent[u] = v;
        if (!limits.hold(atomic_load(&next->size))) return;  // it will be gathered as a frontier
        std::uint64_t const place = atomic_add(&next->size, limits.of_one(g.degree(u))) & 0xffffff;
        if (place < limits.vertices) next_queue[place] = u;
      });
      if (costs.crosses && k % 32 == 0) account(t, {k, smaller(k + 32, count)});
    }
  }
  // One team processes 32 vertices, since all teams add to the same words.
  template <class Team>
  GARNER_HD void account(Team t, indices part) const {
    run_traffic const mine = t.sum(part, [&](std::uint64_t k) { return costs(g.offsets[queue[k]], g.offsets[queue[k] + 1]); });
    t.once([&] {
      for (int k = 0; k < 4; ++k)
        if (mine.requests[k]) atomic_add(&level->asked.requests[k], mine.requests[k]);
      atomic_add(&level->asked.useful, mine.useful);
    });
  }
};

}  // namespace detail

template <class Id>
class small_levels {
 public:
  // Not `wanted`: takes() returns false, and no memory is allocated.
  small_levels(executor& x, graph_info const& info, bool wanted, arc_costs const& costs)
      : x_(x), limits_(info), wanted_(wanted), costs_(costs) {
    costs_.crosses = costs.crosses && x.on_device();
    if (!wanted) return;
    queues_ = buffer<Id>(x.near(), 2 * limits_.vertices, x.device(), "queue of a small frontier");
    levels_ = buffer<small_level>(x.near(), slots, x.device(), "counters");
    seen_ = buffer<small_level>(tier::host, most_a_batch + 1, x.device(), "counters");
  }

  bool takes(frontier_size const& size) const {
    return wanted_ && size.edges && size.vertices <= limits_.vertices && size.edges <= limits_.arcs;
  }
  void enter(frontier<Id> const& front, std::uint64_t const* offsets) {
    x_.fill(levels_.data(), 0, levels_.bytes());
    first_ = 0, queue_ = 0, batch_ = 2;
    for_each_item<1>(x_, front.size().items, detail::enqueue<Id>{front.items(), offsets, limits_, queues_.data(), levels_.data()});
  }
  // Processes the next levels, of which the first is at `depth`, and waits. Returns the processed levels: an empty span if the first is too
  // large.
  std::span<small_level const> walk(csr_view<Id> const& g, detail::small_search<Id> const& to, std::uint32_t depth) {
    if (g.targets.packed) {
      if constexpr (sizeof(Id) == 4) return walk_lists<true>(g, to, depth);
    }
    return walk_lists<false>(g, to, depth);
  }
  // What follows walk().
  enum class next { nothing, small, large };
  next then() const { return then_; }

  static std::uint64_t state_bytes(graph_info const& info, bool wanted) {
    return wanted ? 2 * small_limits(info).vertices * sizeof(Id) + slots * sizeof(small_level) : 0;
  }

 private:
  static constexpr std::uint64_t slots = 256, most_a_batch = 32;  // levels counted before the counters are reset; launched at once
  static constexpr std::uint64_t teams_on_device = 2048;

  template <bool Packed>
  std::span<small_level const> walk_lists(csr_view<Id> const& g, detail::small_search<Id> const& to, std::uint32_t depth) {
    std::uint64_t const n = x_.asynchronous() ? batch_ : 1;
    if (first_ + n >= slots) {
      x_.copy(levels_.data(), levels_.data() + first_, sizeof(small_level));
      x_.fill(levels_.data() + 1, 0, (slots - 1) * sizeof(small_level));
      first_ = 0;
    }
    for (std::uint64_t k = 0; k < n; ++k, queue_ ^= 1) {
      small_level* const level = levels_.data() + first_ + k;
      std::uint64_t const teams = x_.asynchronous() ? teams_on_device : limits_.hold(level->size) ? level->vertices() : 0;
      Id *const from = queues_.data() + queue_ * limits_.vertices, *const into = queues_.data() + (queue_ ^ 1) * limits_.vertices;
      for_each_item<32>(x_, teams,
                        detail::walk_queue<Id, Packed>{g, costs_, limits_, to, from, into, level, level + 1,
                                                       depth + static_cast<std::uint32_t>(k), teams},
                        costs_.how);
    }
    x_.copy(seen_.data(), levels_.data() + first_, (n + 1) * sizeof(small_level));
    x_.wait();
    std::uint64_t walked = 0;
    while (walked < n && seen_[walked].vertices() && limits_.hold(seen_[walked].size)) ++walked;
    small_level const& last = seen_[walked];
    then_ = last.vertices() == 0 ? next::nothing : limits_.hold(last.size) ? next::small : next::large;
    first_ += walked;
    batch_ = std::min(2 * batch_, most_a_batch);
    return {seen_.data(), walked};
  }

  executor& x_;
  small_limits limits_;
  bool wanted_;
  arc_costs costs_;
  buffer<Id> queues_;
  buffer<small_level> levels_, seen_;  // local, and those of a batch in host-readable memory
  std::uint64_t first_ = 0;            // the next level to process
  std::uint64_t queue_ = 0;            // index of its queue
  std::uint64_t batch_ = 2;
  next then_ = next::nothing;
};

}  // namespace garner
