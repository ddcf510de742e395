// A frontier in vertex order, in the form that teams process: a bitmap of active vertices becomes slices of the edge list. A hub is split
// and short adjacent lists are joined; both can be disabled. All frontier-based algorithms share this. Invariants: items are ordered by
// first vertex; every edge that leaves an active vertex is in exactly one item; isolated vertices take no item. Cost per frontier: one read
// of the bitmap, a scan of one count per word, three launches, one wait.
#pragma once
#include <cstdint>
#include <optional>
#include <type_traits>

#include "core/exec.hpp"
#include "core/primitives.hpp"
#include "far/traffic.hpp"
#include "graph/graph.hpp"
#include "graph/list_windows.hpp"
#include "memory/buffer.hpp"
#include "traverse/asked.hpp"
#include "traverse/copied.hpp"

namespace garner {

struct frontier_options {
  access_mode access = access_mode::aligned;
  bool split = true, join = true;
  std::uint32_t slice = 1024;             // elements; a multiple of 32, at least 64
  std::uint32_t vertices_per_team = 1;    // items that one team processes in sequence
  std::uint64_t block_bytes = 64u << 20;  // access copied: bytes of adjacency and weights per transfer
};
inline void require_tuning(traversal_tuning const& t) {
  if (t.slice < 64 || t.slice % 32) fail(errc::usage, "slice {}: use a multiple of 32, 64 or more", t.slice);
  if (t.vertices_per_team == 0 || t.vertices_per_team > 1024) fail(errc::usage, "{} vertices a team: use 1 to 1024", t.vertices_per_team);
}

// The work of one team: a slice of the edges that leave `length` vertices from `first` on. It spans several vertices if their lists are
// contiguous in the edge list, so that one access covers them, and short lists do not cost a request each.
template <class Id>
struct frontier_item {
  Id first;
  std::uint32_t packed;  // from the top: whether its adjacency is cached (a bit), slice, length - 1 (5 bits)
  static constexpr std::uint64_t most_pieces = 1u << 26;
  GARNER_HD static frontier_item of(std::uint64_t first, std::uint64_t length, std::uint32_t slice, bool kept = false) {
    return {static_cast<Id>(first), (kept ? 1u << 31 : 0) | slice << 5 | static_cast<std::uint32_t>(length - 1)};
  }
  GARNER_HD std::uint64_t length() const { return (packed & 31) + 1; }
  GARNER_HD std::uint32_t slice() const { return packed >> 5 & (most_pieces - 1); }
  GARNER_HD bool kept() const { return packed >> 31; }
  // The owner of edge i among these vertices: the last one whose list begins at i or before.
  GARNER_HD std::uint64_t owner_of(std::uint64_t const* offsets, std::uint64_t i) const {
    std::uint64_t v = first, n = length();
    while (n > 1) {
      std::uint64_t const half = n / 2;
      if (offsets[v + half] <= i) v += half, n -= half;
      else n = half;
    }
    return v;
  }
};

// Selects the lists that are cached (short_lists.hpp): those of `least` to `most` edges, and for vertices below `more_below` also those of
// one edge more.
struct short_rule {
  std::uint64_t least = 1, most = 0, more_below = 0;
  GARNER_HD bool keeps(std::uint64_t v, std::uint64_t degree) const { return degree >= least && degree <= most + (v < more_below ? 1 : 0); }
};
// Those lists, contiguous; null if the cache is empty.
template <class Id>
struct short_lists_view {
  short_rule rule;
  Id const* targets = nullptr;
  std::uint32_t const* weights = nullptr;
  std::uint64_t const* first = nullptr;  // for each word of 32 vertices: where its lists begin

  // Where the cached list of v begins.
  template <class Team>
  GARNER_HD std::uint64_t place_of(Team const& t, std::uint64_t const* offsets, std::uint64_t v) const {
    return first[v / 32] + t.sum(indices{v / 32 * 32, v}, [&](std::uint64_t u) {
      std::uint64_t const degree = offsets[u + 1] - offsets[u];
      return rule.keeps(u, degree) ? degree : 0;
    });
  }
};

// How lists are cut: into slices of `slice` elements, from the cache line (aligned) or the element (other modes) where the list begins.
struct cutter {
  std::uint64_t slice;
  std::uint32_t grain;  // elements per line for aligned access, else 1

  cutter(frontier_options const& o, std::uint32_t id_bytes)
      : slice(o.split ? o.slice : std::uint64_t{1} << 40),
        grain(o.access == access_mode::aligned || o.access == access_mode::paged ? 128 / id_bytes : 1) {}
  GARNER_HD std::uint64_t base(std::uint64_t begin) const { return begin / grain * grain; }
  GARNER_HD std::uint32_t slices(std::uint64_t begin, std::uint64_t end) const {
    return begin == end ? 0 : static_cast<std::uint32_t>((end - base(begin) + slice - 1) / slice);
  }
  GARNER_HD indices slice_at(std::uint64_t begin, std::uint64_t end, std::uint32_t k) const {
    std::uint64_t const from = base(begin) + k * slice;
    return {larger(begin, from), smaller(end, from + slice)};
  }
};

struct frontier_size {
  std::uint64_t vertices, edges, items;
  run_traffic asked;  // in closed form, on the device only
  GARNER_HD friend frontier_size operator+(frontier_size const& a, frontier_size const& b) {
    return {a.vertices + b.vertices, a.edges + b.edges, a.items + b.items, a.asked + b.asked};
  }
};

// The requests of a team that reads a run of edges, in closed form, as traffic_of_run: the targets, their weights, or the words that hold
// them compressed. Cached lists cost nothing.
struct arc_costs {
  access_mode how = access_mode::aligned;
  std::uint32_t id_bytes = 4;
  bool crosses = true, weighted = false;
  std::uint64_t kept = 0;
  packed_directory targets{}, weights{};  // without blocks: plain
  bool looks_up = false;                  // see traffic_model::look_up_between_reads

  GARNER_HD static run_traffic of_blocks(packed_directory const& at, std::uint64_t begin, std::uint64_t end) {
    return traffic_of_run(at.word_of(begin / 32), at.word_of((end + 31) / 32), 4, access_mode::aligned);
  }
  // Steps over weights begin where those over targets do. With 8-byte ids that may be the middle of a line of weights.
  GARNER_HD run_traffic of_weights(std::uint64_t begin, std::uint64_t end) const {
    if (id_bytes == 4 || how == access_mode::strided || how == access_mode::merged) return traffic_of_run(begin, end, 4, how);
    return detail::in_steps(begin / 16 * 64, begin * 4, end * 4, 128);
  }
  GARNER_HD run_traffic operator()(std::uint64_t begin, std::uint64_t end) const {
    if (begin >= end || end <= kept) return {};
    run_traffic t = targets.blocks ? of_blocks(targets, begin, end) : traffic_of_run(begin, end, id_bytes, how, looks_up);
    if (weighted) t = t + (weights.blocks ? of_blocks(weights, begin, end) : of_weights(begin, end));
    return t;
  }
};

namespace detail {

// Calls f(first, length, begin, end, kept) for the segments of vertices whose bits are set in word w: one vertex each, or, joined, a run
// contiguous in the edge list (with only isolated vertices in between) whose lists are either all cached or all uncached.
template <class F>
GARNER_HD inline void each_stretch(std::uint32_t active, std::uint64_t w, std::uint64_t const* offsets, bool join, short_rule const& rule,
                                   F f) {
  while (active) {
    std::uint64_t const first = w * 32 + static_cast<std::uint64_t>(lowest_bit(active)), begin = offsets[first];
    std::uint64_t last = first, end = offsets[first + 1];
    bool kept = rule.keeps(first, end - begin);
    active &= active - 1;
    while (join && active) {
      std::uint64_t const v = w * 32 + static_cast<std::uint64_t>(lowest_bit(active));
      if (offsets[v] != end) break;
      std::uint64_t const next = offsets[v + 1];
      if (next != end) {
        bool const keeps = rule.keeps(v, next - end);
        if (begin == end) kept = keeps;
        else if (keeps != kept) break;
      }
      active &= active - 1;
      last = v;
      end = next;
    }
    f(first, last - first + 1, begin, end, kept);
  }
}

// Measures the frontier: items per word, and the totals.
template <class Active>
struct measure_frontier {
  Active active;
  std::uint64_t const* offsets;
  std::uint64_t words;
  cutter cut;
  arc_costs costs;
  bool join;
  short_rule kept_near;
  std::uint32_t* items_of_word;
  frontier_size* total;
  std::uint64_t block;  // words that a team reduces before it adds to the total

  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    frontier_size const mine = t.sum(indices{b * block, smaller(words, (b + 1) * block)}, [&](std::uint64_t w) {
      frontier_size size{};
      std::uint32_t const bits = active.word(w);
      size.vertices = static_cast<std::uint64_t>(count_bits(bits));
      each_stretch(bits, w, offsets, join, kept_near, [&](std::uint64_t, std::uint64_t, std::uint64_t begin, std::uint64_t end, bool kept) {
        size.edges += end - begin;
        size.items += cut.slices(begin, end);
        if (costs.crosses && !kept) size.asked = size.asked + costs(begin, end);
      });
      items_of_word[w] = static_cast<std::uint32_t>(size.items);
      return size;
    });
    t.once([&] {
      if (mine.vertices == 0) return;
      atomic_add(&total->vertices, mine.vertices);
      atomic_add(&total->edges, mine.edges);
      atomic_add(&total->items, mine.items);
      if (!costs.crosses) return;
      for (int k = 0; k < 4; ++k)
        if (mine.asked.requests[k]) atomic_add(&total->asked.requests[k], mine.asked.requests[k]);
      atomic_add(&total->asked.useful, mine.asked.useful);
    });
  }
};

template <class Id, class Active>
struct gather_frontier {
  Active active;
  std::uint64_t const *offsets, *first_item;
  cutter cut;
  bool join;
  short_rule kept_near;
  frontier_item<Id>* items;
  frontier_size const* total;
  frontier_size* seen;  // in host-readable memory, which saves a copy

  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t w) const {
    if (w == 0) *seen = *total;
    std::uint32_t const bits = active.word(w);
    if (!bits) return;
    active.take(w, bits);
    std::uint64_t at = first_item[w];
    each_stretch(bits, w, offsets, join, kept_near,
                 [&](std::uint64_t first, std::uint64_t length, std::uint64_t begin, std::uint64_t end, bool kept) {
                   std::uint32_t const slices = cut.slices(begin, end);
                   for (std::uint32_t p = 0; p < slices; ++p) items[at++] = frontier_item<Id>::of(first, length, p, kept);
                 });
  }
};

// The same elements in a cached copy, whose element `begin` is at `place`.
template <class T>
GARNER_HD inline span<T> moved(span<T> r, T const* copy, std::uint64_t place, std::uint64_t begin) {
  r.data = reinterpret_cast<T const*>(reinterpret_cast<std::uintptr_t>(copy) + (place - begin) * sizeof(T));
  r.near = true;
  return r;
}

// Where the items' adjacency is: as the view says, or per item in a window of a file.
struct in_place {};
struct in_window {
  std::uint64_t const *targets_at, *weights_at;
};

// Processes a frontier: visit.enter(item), if defined, then `visit(team, item, target, arc)` per edge. Weighted visitors also announce each
// access by visit.look_ahead(target), and may split it: `visit.act(team, target, visit.see(item, target, weight, arc))`.
template <class Id, class Visit, bool Packed, class Where = in_place>
struct walk {
  csr_view<Id> g;
  cutter cut;
  frontier_item<Id> const* items;
  std::uint64_t count;
  std::uint32_t per_team;
  Visit visit;
  short_lists_view<Id> near_lists;
  Where where{};

  template <class T>
  GARNER_HD static span<T> standing(span<T> r, [[maybe_unused]] std::uint64_t const* at, [[maybe_unused]] std::uint64_t k) {
    if constexpr (std::is_same_v<Where, in_window>) r = list_window::moved(r, at[k]);
    return known<Packed>(r);
  }
  GARNER_HD std::uint64_t const* targets_at() const {
    if constexpr (std::is_same_v<Where, in_window>) return where.targets_at;
    else return nullptr;
  }
  GARNER_HD std::uint64_t const* weights_at() const {
    if constexpr (std::is_same_v<Where, in_window>) return where.weights_at;
    else return nullptr;
  }
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    std::uint64_t const last = smaller(count, (i + 1) * per_team);
    for (std::uint64_t k = i * per_team; k < last; ++k) {
      frontier_item<Id> const at = items[k];
      Visit here = visit;
      if constexpr (requires { here.enter(at); }) here.enter(at);
      std::uint64_t const begin = g.offsets[at.first];
      span<Id> arcs = standing(g.arcs(cut.slice_at(begin, g.offsets[at.first + at.length()], at.slice())), targets_at(), k);
      if constexpr (Visit::weighted) {
        span<std::uint32_t> weights = standing(g.weights_of(arcs), weights_at(), k);
        if constexpr (!Packed)
          if (at.kept()) {
            std::uint64_t const place = near_lists.place_of(t, g.offsets, at.first);
            arcs = moved(arcs, near_lists.targets, place, begin), weights = moved(weights, near_lists.weights, place, begin);
          }
        auto const ahead = [&](Id u) { here.look_ahead(u); };
        if constexpr (requires { typename Visit::sight; })
          t.each(
              arcs, weights, [&](Id u, std::uint32_t w, std::uint64_t arc) { return here.see(at, u, w, arc); },
              [&](Id u, typename Visit::sight const& seen) { here.act(t, u, seen); }, ahead);
        else
          t.each(
              arcs, weights, [&](Id u, std::uint32_t w, std::uint64_t arc) { here(t, at, u, w, arc); }, ahead);
      } else t.each(arcs, [&](Id u, std::uint64_t arc) { here(t, at, u, arc); });
    }
  }
};

}  // namespace detail

// The state of a frontier and its operations. `offsets` is in local memory of the executor's device; all must outlive this object.
template <class Id>
class frontier {
 public:
  // errc::usage if lists would be cut into more slices than an item can index.
  static void require_pieces(graph_info const& info, frontier_options const& o) {
    constexpr std::uint64_t most = frontier_item<Id>::most_pieces;
    if (o.split && info.edges / o.slice >= most)
      fail(errc::usage, "{} stored edges: a traversal takes fewer than {}; use a part of the graph", info.edges, most * o.slice);
  }
  // `costs` of an edge count on the device, if edges cross the link. `home`: host-readable adjacency, for access copied.
  frontier(executor& x, graph_info const& info, std::uint64_t const* offsets, frontier_options const& options, arc_costs const& costs,
           csr_view<Id> const& home = {})
      : x_(x), info_(info), offsets_(offsets), options_(options), costs_(costs), cut_(options, info.id_bytes) {
    far_ = costs.crosses;
    costs_.crosses = costs.crosses && x.on_device() && options.access != access_mode::copied;
    require_pieces(info, options);
    std::uint64_t const words = words_of(info.vertices);
    items_of_word_ = buffer<std::uint32_t>(x.near(), words, x.device(), "frontier counts");
    first_item_ = buffer<std::uint64_t>(x.near(), words + 1, x.device(), "frontier positions");
    items_ = buffer<frontier_item<Id>>(x.near(), most_items(info, options), x.device(), "frontier");
    total_ = buffer<frontier_size>(x.near(), slots, x.device(), "counters");
    seen_ = buffer<frontier_size>(tier::host, 1, x.device(), "counters");
    if (options.access != access_mode::copied) return;
    options_.join = false;  // lists are compacted one by one, so joining has no benefit
    copied_.emplace(x, home, options.block_bytes, costs.weighted, most_items(info, options));
  }

  // The active vertices become the frontier. Active is a small functor with
  //   std::uint32_t word(w) const         the bits of vertices 32 w ... of the new frontier (called twice: same result)
  //   void take(w, bits) const            called once for each nonzero word, when its vertices are taken
  // Waits, and returns the size of the frontier.
  template <class Active>
  frontier_size gather(Active const& active) {
    std::uint64_t const words = items_of_word_.size();
    if (words == 0) return size_ = {};
    if (slot_ % slots == 0) x_.fill(total_.data(), 0, total_.bytes());
    frontier_size* const total = total_.data() + slot_++ % slots;
    std::uint64_t const block = words < 65536 ? 32 : 128;
    for_each_item<32>(x_, (words + block - 1) / block,
                      detail::measure_frontier<Active>{active, offsets_, words, cut_, costs_, options_.join, short_.rule,
                                                       items_of_word_.data(), total, block});
    scan(x_, items_of_word_.data(), first_item_.data(), words);
    for_each_item<1>(x_, words,
                     detail::gather_frontier<Id, Active>{active, offsets_, first_item_.data(), cut_, options_.join, short_.rule,
                                                         items_.data(), total, seen_.data()});
    x_.wait();
    size_ = seen_[0];
    if (copied_ && x_.on_device()) size_.asked = sent_in_blocks(size_.edges, info_.id_bytes, costs_.weighted);
    return size_;
  }

  // Calls `visit(team, item, target, arc)` for every edge that leaves the frontier; if Visit::weighted is set, the weight's bits are passed
  // before `arc`. Asynchronous on the device.
  template <class Visit>
  void for_each_arc(csr_view<Id> g, Visit const& visit) {
    if (windows_) return walk_windows(g, visit);
    if (copied_) return copied_->walk(offsets_, cut_, items_.data(), size_.items, size_.edges, options_.vertices_per_team, visit);
    if (g.targets.packed || g.weights.packed) {
      if constexpr (sizeof(Id) == 4) walk_items<true>(g, visit);
    } else {
      walk_items<false>(g, visit);
    }
  }
  // For adjacency in a file: processes as many items at a time as fit a window. Calls after(window, each_vertex) after each window,
  // possibly before its kernel has ended. `each_vertex(k, f)` calls `f(v, arcs)` for the vertices of item k and the part of their edges in
  // the item.
  template <class Visit, class After>
  void walk_windows(csr_view<Id> const& g, Visit const& visit, After const& after) {
    frontier_item<Id> const* const items = items_at_home();
    std::uint64_t const* const offsets = lists_->offsets.data();
    windows_->each(*lists_, {true, Visit::weighted, false}, size_.items, arcs_of(items), [&](list_window const& w) {
      detail::in_window const where{w.targets_at, w.weights_at};
      if (!info_.compressed) walk_items<false>(g, visit, w.first, w.last - w.first, where);
      else if constexpr (sizeof(Id) == 4) walk_items<true>(g, visit, w.first, w.last - w.first, where);
      after(w, [this, items, offsets](std::uint64_t k, auto f) {
        frontier_item<Id> const at = items[k];
        indices const arcs = arcs_of(items)(k);
        for (std::uint64_t v = at.first; v < at.first + at.length(); ++v)
          f(v, indices{larger(offsets[v], arcs.begin), smaller(offsets[v + 1], arcs.end)});
      });
    });
  }
  template <class Visit>
  void walk_windows(csr_view<Id> const& g, Visit const& visit) {
    walk_windows(g, visit, [](list_window const&, auto const&) {});
  }
  // Predicts the file reads of an unweighted traversal.
  list_windows::foreseen foresee_windows() {
    return windows_->foresee(*lists_, {true, false, false}, size_.items, arcs_of(items_at_home()));
  }
  template <bool Packed, class Visit>
  void walk_items(csr_view<Id> g, Visit const& visit) {
    walk_items<Packed>(g, visit, 0, size_.items, detail::in_place{});
  }
  template <bool Packed, class Visit, class Where>
  void walk_items(csr_view<Id> g, Visit const& visit, std::uint64_t first, std::uint64_t count, Where const& where) {
    detail::walk<Id, Visit, Packed, Where> const body{g,      cut_, items_.data() + first, count, options_.vertices_per_team, visit,
                                                      short_, where};
    std::uint64_t const n = (count + options_.vertices_per_team - 1) / options_.vertices_per_team;
    if (options_.access == access_mode::strided) return for_each_item<1>(x_, n, body, options_.access);
    if constexpr (Visit::weighted && !Packed)
      if (options_.join && light()) return for_each_item<8>(x_, n, body, options_.access);
    for_each_item<32>(x_, n, body, options_.access, !options_.split);
  }

  frontier_size const& size() const { return size_; }
  // The adjacency stays in its file and is read in windows; null: in memory.
  void read_by(list_windows* windows, edge_lists const& lists) { windows_ = windows, lists_ = &lists; }
  // From the next gather on, weighted visits read items with cached lists from the cache.
  void keep(short_lists_view<Id> const& near) { short_ = near; }
  // One word for each word of the bitmap, local and free for any use until the next gather.
  std::uint32_t* spare_words() { return items_of_word_.data(); }
  // Space for one id per vertex, once the items are no longer in use.
  Id* spare_ids() { return reinterpret_cast<Id*>(items_.data()); }
  frontier_item<Id> const* items() const { return items_.data(); }  // local
  // Link traffic for the frontier's edges on the device: targets, and weights if it is weighted.
  static traffic in_closed_form(frontier_size const& size) {
    traffic t;
    t.bytes_useful = size.asked.useful;
    for (std::size_t k = 0; k < 4; ++k) t.requests[k] = size.asked.requests[k];
    return t;
  }
  static std::uint64_t state_bytes(graph_info const& info, frontier_options const& o, bool weighted = false) {
    std::uint64_t const blocks =
        o.access == access_mode::copied ? copied::near_bytes(info.edges, o.block_bytes, weighted, most_items(info, o)) : 0;
    return words_of(info.vertices) * 12 + 8 + most_items(info, o) * sizeof(frontier_item<Id>) + (slots + 1) * sizeof(frontier_size) +
           blocks;
  }
  // Host memory that access copied uses for a device.
  static std::uint64_t home_bytes(graph_info const& info, frontier_options const& o, bool weighted) {
    return o.access == access_mode::copied ? copied::home_bytes(info.edges, o.block_bytes, weighted, most_items(info, o)) : 0;
  }
  static std::uint64_t words_of(std::uint64_t vertices) { return (vertices + 31) / 32; }

 private:
  using copied = copied_lists<Id, frontier_item<Id>, cutter>;
  frontier_item<Id> const* items_at_home() {
    if (!x_.asynchronous()) return items_.data();
    if (items_home_.empty()) items_home_ = buffer<frontier_item<Id>>(tier::host, items_.size(), x_.device(), "frontier on the host");
    x_.copy(items_home_.data(), items_.data(), size_.items * sizeof(frontier_item<Id>));
    x_.wait();
    return items_home_.data();
  }
  auto arcs_of(frontier_item<Id> const* items) const {
    return [items, offsets = lists_->offsets.data(), cut = cut_](std::uint64_t k) {
      frontier_item<Id> const at = items[k];
      return cut.slice_at(offsets[at.first], offsets[at.first + at.length()], at.slice());
    };
  }
  // Short lists, mostly cached: the fixed cost per item dominates, not its edges, so a warp takes four.
  static constexpr std::uint64_t light_arcs = 16;
  bool light() const {
    if (size_.edges > size_.items * light_arcs) return false;
    return !far_ || (costs_.crosses && size_.asked.useful * 16 <= size_.edges * (sizeof(Id) + 4));
  }
  static constexpr std::uint64_t slots = 256;  // frontiers measured before the counters are reset
  // A list of e elements that begins anywhere in a line is cut into at most 1 + 2 e / slice slices (slice >= 64).
  static std::uint64_t most_items(graph_info const& info, frontier_options const& o) {
    return info.vertices + (o.split ? 2 * (info.edges / o.slice) : 0) + 1;
  }

  executor& x_;
  graph_info info_;
  std::uint64_t const* offsets_;
  frontier_options options_;
  arc_costs costs_;
  bool far_ = false;  // whether adjacency crosses the link, counted or not
  cutter cut_;
  short_lists_view<Id> short_{};
  frontier_size size_{};
  std::uint64_t slot_ = 0;
  buffer<std::uint32_t> items_of_word_;
  buffer<std::uint64_t> first_item_;
  buffer<frontier_item<Id>> items_;
  buffer<frontier_size> total_, seen_;  // local, and the last one in host-readable memory
  list_windows* windows_ = nullptr;
  edge_lists const* lists_ = nullptr;
  buffer<frontier_item<Id>> items_home_;  // with windows, on a device only
  std::optional<copied> copied_;          // access copied only
};

}  // namespace garner
