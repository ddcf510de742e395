// Bottom-up levels of a BFS: each unvisited vertex looks for a neighbor in the frontier, first among its cached neighbors, then in its
// remote adjacency until it finds one. Also the choice between the two directions where the link is the bottleneck: the requests of both
// are predicted. Invariants: a level claims vertices in `visited` and writes their parents, and nothing else of the search; the counters
// belong to the current level. Cost: a pass over the words of `visited`, and the sectors that the searches read.
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/event.hpp"
#include "core/exec.hpp"
#include "core/random.hpp"
#include "memory/link.hpp"
#include "traverse/cached_neighbors.hpp"
#include "traverse/frontier.hpp"
#include "traverse/job.hpp"
#include "traverse/spread.hpp"

namespace garner {

namespace detail {

// Counters of the current bottom-up level. Kernels read those of earlier steps, to decide whether their own step is worthwhile.
struct level_counts {
  std::uint64_t open, taken;     // open: vertices whose cached neighbors all missed; taken: the next of them to search
  std::uint64_t tried, claimed;  // tried, claimed: cached neighbors that the sample examined, and claimed
};
// Counts the teams' requests. Each slot has its own cache line: millions of atomics on a single word would serialize.
struct alignas(64) asked_slot {
  run_traffic asked;
  GARNER_HD void add(run_traffic const& more) {
    for (int k = 0; k < 4; ++k)
      if (more.requests[k]) atomic_add(&asked.requests[k], more.requests[k]);
    if (more.useful) atomic_add(&asked.useful, more.useful);
  }
};
constexpr std::uint64_t asked_slots = 256;

// The result of checking v's cached neighbors.
struct near_answer {
  static constexpr std::uint32_t nothing = ~0u - 1, open = ~0u;  // any other value: the cached neighbor in the frontier
  template <class Id>
  GARNER_HD static std::uint32_t of(csr_view<Id> const& in, cached_neighbors_view const& cached, std::uint32_t const* current,
                                    std::uint64_t v) {
    std::uint64_t const degree = in.degree(v);
    std::uint32_t asked = 0;
    for (std::uint32_t k = 0; k < cached.per_vertex && asked < degree; ++k) {
      std::uint32_t const u = cached.at(v, k);
      if (u == cached_neighbors_view::none) continue;
      ++asked;
      if (has_bit(current, u)) return u;
    }
    return degree > asked ? open : nothing;
  }
};

// Bottom-up, step 1: each unvisited vertex checks its cached neighbors, one vertex per lane. Vertices that need remote memory
// are marked in `open` and appended to `list`. A team appends its vertices in vertex order, and the teams append in any order.
template <class Id>
struct ask_cached_neighbors {
  csr_view<Id> in;
  std::uint32_t const* current;  // bit v: v is in the frontier
  std::uint32_t *visited, *open;
  Id *parent, *list;
  std::uint64_t from, words;  // covers the vertices of words [from, words)
  cached_neighbors_view cached_neighbors;
  level_counts* counts;
  static constexpr std::uint64_t block = 8;  // words per team

  struct answers {
    std::uint32_t won, open;
    GARNER_HD friend answers operator+(answers a, answers b) { return {a.won | b.won, a.open | b.open}; }
  };
  GARNER_HD answers ask(std::uint64_t v) const {
    std::uint32_t const bit = 1u << v % 32, u = near_answer::of(in, cached_neighbors, current, v);
    if (u == near_answer::open) return {0, bit};
    if (u == near_answer::nothing) return {};
    parent[v] = static_cast<Id>(u);
    return {bit, 0};
  }
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    std::uint64_t const first = from + b * block, last = smaller(words, first + block);
    std::uint32_t open_of[block] = {};
    std::uint64_t left = 0;
    for (std::uint64_t k = 0; k < block; ++k) {
      std::uint64_t const w = first + k;
      if (w >= last) break;
      std::uint32_t const reached = visited[w];
      answers const all = t.sum(indices{w * 32, smaller(in.vertices, w * 32 + 32)},
                                [&](std::uint64_t v) { return reached >> v % 32 & 1 ? answers{} : ask(v); });
      t.once([&] {
        if (all.won) visited[w] = reached | all.won;
        open[w] = all.open;
      });
      open_of[k] = all.open;
      left += static_cast<std::uint64_t>(count_bits(all.open));
    }
    if (!left) return;
    std::uint64_t at = 0;
    t.once([&] { at = atomic_add(&counts->open, left); });
    at = t.sum_of_lanes(at);
    for (std::uint64_t k = 0; k < block; ++k) {
      std::uint32_t const mine = open_of[k];
      t.each(indices{0, 32}, [&](std::uint64_t i) {
        if (mine >> i & 1)
          list[at + static_cast<std::uint64_t>(count_bits(mine & ((1u << i) - 1)))] = static_cast<Id>((first + k) * 32 + i);
      });
      at += static_cast<std::uint64_t>(count_bits(mine));
    }
  }
};

// Step 2, for undirected graphs, follows the cached edges in the other direction: each frontier vertex claims its cached neighbors
// that are still open. Without hubs this settles more than half of the open vertices. If all vertices cache the same few hubs, it
// settles almost nothing. So a sample of the frontier words is processed first, and the rest only if the sample claimed enough.
template <class Id>
struct push_cached_neighbors {
  std::uint32_t const *current, *open;
  std::uint32_t* visited;
  Id* parent;
  std::uint64_t vertices, least_open;
  cached_neighbors_view cached_neighbors;
  bool sample;
  level_counts* counts;
  static constexpr std::uint64_t sample_of = 64;  // the sample has one word in this many
  // Looking up a cached neighbor in L2 is about a hundred times as fast as reading a sector of host memory.
  static constexpr std::uint64_t tries_worth_a_claim = 128;

  struct answers {
    std::uint32_t tried, claimed;
    GARNER_HD friend answers operator+(answers a, answers b) { return {a.tried + b.tried, a.claimed + b.claimed}; }
  };
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    if (counts->open < least_open) return;
    if (!sample && (i % sample_of == 0 || counts->claimed * tries_worth_a_claim < counts->tried)) return;
    std::uint64_t const w = sample ? i * sample_of : i;
    std::uint32_t const bits = current[w];
    if (!bits) return;
    answers const all = t.sum(indices{w * 32, smaller(vertices, w * 32 + 32)}, [&](std::uint64_t v) {
      answers mine{};
      if (!(bits >> v % 32 & 1)) return mine;
      for (std::uint32_t k = 0; k < cached_neighbors.per_vertex; ++k) {
        std::uint32_t const u = cached_neighbors.at(v, k);
        if (u == cached_neighbors_view::none) continue;
        ++mine.tried;
        if (!has_bit(open, u) || !t.claim(visited, u)) continue;
        parent[u] = static_cast<Id>(v);
        ++mine.claimed;
      }
      return mine;
    });
    t.once([&] {
      if (!sample) return;
      atomic_add(&counts->tried, std::uint64_t{all.tried});
      if (all.claimed) atomic_add(&counts->claimed, std::uint64_t{all.claimed});
    });
  }
};

// Reads remote adjacency step by step, until it finds a neighbor in the frontier.
template <class Id, bool Packed>
struct look_for_parent {
  csr_view<Id> in;
  std::uint32_t const* current;
  std::uint32_t each;  // elements per lane and step
  GARNER_HD span<Id> list(std::uint64_t v) const { return known<Packed>(in.list(v)); }
  template <class Team>
  GARNER_HD_INLINE found<Id> in_list(Team t, span<Id> const& list) const {
    return t.find(
        list, [&](Id u) { return has_bit(current, u); }, each, in.edges);
  }
  template <class Team>
  GARNER_HD found<Id> operator()(Team t, std::uint64_t v, run_traffic& asked, bool counts = true) const {
    span<Id> const list = this->list(v);
    found<Id> const hit = in_list(t, list);
    if (!counts) return hit;
    std::uint64_t const step = 8 * each;
    std::uint64_t const end = smaller(list.end, ((hit ? hit.index : list.end - 1) / step + 1) * step);
    asked = asked + detail::steps_in_turn(list.begin * sizeof(Id), end * sizeof(Id), step * sizeof(Id));
    return hit;
  }
};

// Estimates the cost of step 3: scans a sample of the words and writes nothing. Degree alone cannot predict it. Vertices whose cached
// neighbors all missed have fewer neighbors in the frontier than their degree suggests.
template <class Id, bool Packed>
struct foresee_search {
  look_for_parent<Id, Packed> look;
  std::uint32_t const* visited;
  std::uint64_t words, part_of;
  cached_neighbors_view cached_neighbors;
  level_counts* counts;
  asked_slot* slots;

  struct set {
    std::uint32_t bits;
    GARNER_HD friend set operator+(set a, set b) { return {a.bits | b.bits}; }
  };
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    // Takes a random word of each part. Words at equal distances can be correlated: multiples of 2^k are hubs in Kronecker graphs.
    std::uint64_t const w = smaller(i * part_of + mix(i) % part_of, words - 1);
    std::uint32_t const reached = visited[w];
    std::uint32_t const open = t.sum(indices{w * 32, smaller(look.in.vertices, w * 32 + 32)}, [&](std::uint64_t v) {
                                  if (reached >> v % 32 & 1) return set{};
                                  bool const asks = near_answer::of(look.in, cached_neighbors, look.current, v) == near_answer::open;
                                  return set{asks ? 1u << v % 32 : 0};
                                }).bits;
    if (!open) return;
    run_traffic asked;
    for (std::uint32_t rest = open; rest; rest &= rest - 1) look(t, w * 32 + static_cast<std::uint64_t>(lowest_bit(rest)), asked);
    t.once([&] {
      atomic_add(&counts->open, static_cast<std::uint64_t>(count_bits(open)));
      slots[i % asked_slots].add(asked);
    });
  }
};

// Step 3: one team per vertex that is still open searches its adjacency. Search lengths vary widely. A static assignment would spread the
// teams over all pages, and the slowest would delay the level. So each team takes the next open vertex dynamically.
template <class Id, bool Packed>
struct search_parents {
  look_for_parent<Id, Packed> look;
  Id const* list;
  std::uint32_t* visited;
  Id* parent;
  asked_slot* slots;     // null: requests are not counted
  level_counts* counts;  // `taken` is the next index to take; null: item i searches vertex i only

  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    if (!counts) return one(t, i);
    while (true) {
      std::uint64_t next = 0;
      t.once([&] { next = atomic_add(&counts->taken, std::uint64_t{1}); });
      next = t.sum_of_lanes(next);
      if (next >= counts->open) return;
      one(t, next);
    }
  }
  template <class Team>
  GARNER_HD void one(Team t, std::uint64_t i) const {
    std::uint64_t const v = list[i];
    if (has_bit(visited, v)) return;  // already claimed in step 2
    run_traffic asked;
    found<Id> const hit = look(t, v, asked, slots);
    t.once([&] {
      if (hit) {
        parent[v] = hit.element;
        atomic_or(visited + v / 32, 1u << v % 32);
      }
      if (slots) slots[i % asked_slots].add(asked);
    });
  }
};

// Step 3 without cached neighbors, for host threads. An item is one word of vertices, so no list of open vertices is needed.
template <class Id, bool Packed>
struct search_words {
  look_for_parent<Id, Packed> look;
  std::uint32_t* visited;
  Id* parent;

  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t w) const {
    std::uint64_t const left = look.in.vertices - w * 32;
    std::uint32_t const reached = visited[w];
    std::uint32_t const open = ~reached & (left < 32 ? (1u << left) - 1 : ~0u);
    std::uint32_t won = 0;
    if constexpr (Team::asks_ahead && !Packed)  // the first elements of all lists, which mostly are in no cache
      for (std::uint32_t ask = open; ask; ask &= ask - 1) {
        span<Id> const list = look.list(w * 32 + static_cast<std::uint64_t>(lowest_bit(ask)));
        ask_soon(list.data + list.begin);
      }
    for (std::uint32_t ask = open; ask; ask &= ask - 1) {
      std::uint64_t const v = w * 32 + static_cast<std::uint64_t>(lowest_bit(ask));
      span<Id> const list = look.list(v);
      if (list.begin == list.end) continue;
      found<Id> const hit = look.in_list(t, list);
      if (!hit) continue;
      t.once([&] { parent[v] = hit.element; });
      won |= ask & (~ask + 1);
    }
    t.once([&] {
      if (won) visited[w] = reached | won;
    });
  }
};

// The measured rates of this device's link, or PCIe 5 by default.
inline link_rates rates_here(executor& x) {
  if (x.on_device())
    if (auto const link = known_link(x.device())) return rates_of(*link);
  return link_rates::of(51);
}

}  // namespace detail

// What a level reads and writes. The bitmaps and `parent` cover all vertices of all shards.
template <class Id>
struct search_tree {
  std::uint32_t *current, *visited;  // current: the frontier
  Id* parent;
  std::uint64_t first;         // of the shard's own vertices
  std::uint32_t* spare_words;  // of the frontier: a word for each 32 own vertices, and an id for each of them
  Id* spare_ids;
  std::uint32_t* own_visited() const { return visited + first / 32; }
  Id* own_parent() const { return parent + first; }
};

template <class Id>
class bottom_up {
  using level_counts = detail::level_counts;
  using asked_slot = detail::asked_slot;

 public:
  // `turns`: the search may have bottom-up levels. Without them the object holds its counters alone.
  bottom_up(job_setting& job, shard_seat const& at, bool turns, std::optional<std::uint32_t> cached)
      : job_(job),
        at_(at),
        per_vertex_(!turns        ? 0
                    : job.windows ? cached_in_file(job, cached)
                    : cached      ? *cached
                                  : default_cached_neighbors(job)),
        cached_(cached_lie_near(job) ? buffer<std::uint32_t>{} : make_cached_neighbors<Id>(job, per_vertex_)),
        counts_(x_.near(), turns ? parts_asked : 1, x_.device(), "counters"),
        slots_(x_.near(), detail::asked_slots, x_.device(), "counters"),
        searching_(x_, executor::urgent{}),
        rates_(detail::rates_here(x_)) {}

  std::uint32_t cached_per_vertex() const { return per_vertex_; }
  cached_neighbors_view cached() const {
    return {cached_lie_near(job_) ? job_.g.cached_neighbors.data() : cached_.data(), job_.g.info.vertices, per_vertex_};
  }

  // Two limits bound scattered reads: the request rate, and the rate of address translation. Beyond 1 GiB some 35 million pages of 64 KiB
  // are translated per second.
  static constexpr double long_ms = 1, pages_a_ms = 35e3;
  double top_down_ms(frontier_size const& size) const {
    traffic asked = frontier<Id>::in_closed_form(size);
    if (!x_.on_device()) asked.requests[3] = size.edges * sizeof(Id) / 128, asked.requests[0] = size.vertices;  // as a device would
    return std::max(predicted_ms(asked, rates_), pages_ms(static_cast<double>(size.vertices), list_bytes()));
  }
  struct foreseen {
    traffic asked;  // spent by the estimate itself
    double ms;
  };
  // Time to scan local memory grows with the unexplored part; most of it overlaps the search of remote adjacency.
  foreseen foresee(search_tree<Id> const& tree, std::uint32_t each, double unexplored) {  // `unexplored`: a fraction of all edges
    graph_info const& info = job_.g.info;
    std::uint64_t const words = this->words(), part = std::max<std::uint64_t>(1, words / words_to_try);
    clear_counts();
    auto const look = [&](auto packed) {
      using body = detail::foresee_search<Id, decltype(packed)::value>;
      for_each_item<8>(
          x_, (words + part - 1) / part,
          body{{job_.in_view<Id>(), tree.current, each}, tree.own_visited(), words, part, cached(), counts_.data(), slots_.data()});
    };
    if (!info.compressed) look(std::false_type{});
    else if constexpr (sizeof(Id) == 4) look(std::true_type{});
    double const lists = static_cast<double>(x_.read(counts_.data()).open * part);
    traffic const asked = frontier<Id>::in_closed_form(asked_since());
    traffic all = asked;
    for (auto& requests : all.requests) requests *= part;
    double const near = static_cast<double>(info.vertices) / (1u << 26) * (0.6 + unexplored) / (names_hubs() ? 4 : 1);
    return {x_.on_device() ? asked : traffic{}, near + std::max(predicted_ms(all, rates_), pages_ms(lists, list_bytes()))};
  }
  void clear_counts() {
    x_.fill(counts_.data(), 0, counts_.bytes());
    x_.fill(slots_.data(), 0, slots_.bytes());
  }
  // Requests of the teams since the slots were last cleared.
  frontier_size asked_since() {
    std::vector<asked_slot> all(slots_.size());
    x_.copy(all.data(), slots_.data(), slots_.bytes());
    x_.wait();
    frontier_size size{};
    for (asked_slot const& s : all) size.asked = size.asked + s.asked;
    return size;
  }
  // A counter, cleared, for another use between levels, which clear it before they use it.
  std::uint64_t* spare_counter() {
    x_.fill(counts_.data(), 0, sizeof(level_counts));
    return &counts_.data()->open;
  }

  // The `unreached` vertices have at most `unexplored` edges. The host knows both bounds without a query to the device.
  void search(search_tree<Id> const& tree, std::uint64_t in_frontier, std::uint64_t unreached, std::uint64_t unexplored, std::uint32_t each,
              bool is_long) {
    bool const packed = job_.g.info.compressed;
    if (x_.where().kind == device_kind::cpu && !per_vertex_) return packed ? by_words<true>(tree) : by_words<false>(tree);
    clear_counts();
    if (packed) each = 1;
    if (is_long && names_hubs()) return search_in_parts(tree, unreached, each);
    std::uint64_t const words = this->words();
    ask_near(tree, 0, words, 0);
    // Each open vertex has at least one neighbor that is not cached.
    cached_neighbors_view const near = cached();
    if (at_.alone())  // a cached neighbor may belong to another shard
      push_near(tree, near, in_frontier, std::min(unreached, unexplored / (near.narrow ? 1 : per_vertex_ + 1)));
    search_lists(tree, x_, 0, words, 0, unreached, each);
  }
  // Step 1 over words [from, to), counted in `part`.
  void ask_near(search_tree<Id> const& tree, std::uint64_t from, std::uint64_t to, std::uint64_t part,
                std::uint32_t* still_open = nullptr) {
    using ask = detail::ask_cached_neighbors<Id>;
    for_each_item<32>(x_, (to - from + ask::block - 1) / ask::block,
                      ask{job_.in_view<Id>(), tree.current, tree.own_visited(), still_open ? still_open : tree.spare_words,
                          tree.own_parent(), tree.spare_ids + from * 32, from, to, cached(), counts_.data() + part},
                      access_mode::aligned, to - from < words());
  }
  // Whether cached neighbors are hubs. If so, step 2 is skipped, because all vertices share the same few.
  bool names_hubs() { return per_vertex_ && (job_.g.info.directed || !detail::spreads(job_)); }

 private:
  static constexpr std::uint64_t words_to_try = 4096;
  std::uint64_t words() const { return frontier<Id>::words_of(job_.g.info.vertices); }
  static double pages_ms(double lists, double bytes) {
    double const pages = bytes / 65536;
    return bytes < double(1u << 30) ? 0 : pages * (1 - std::exp(-lists / pages)) / pages_a_ms;
  }
  double list_bytes() const { return static_cast<double>(job_.g.info.edges) * (job_.g.info.compressed ? 2.5 : sizeof(Id)); }

  // Step 3 reads remote adjacency: it fills the link with few multiprocessors. Step 1 needs the multiprocessors and not the link. So step
  // 3 of one part of the vertices overlaps step 1 of the next. Step 3 has the higher priority, and only as many teams as fill the link.
  static constexpr std::uint64_t parts_asked = 8;
  static constexpr unsigned searching_blocks = 4;  // of 256 threads, per multiprocessor
  void search_in_parts(search_tree<Id> const& tree, std::uint64_t unreached, std::uint32_t each) {
    std::uint64_t const words = this->words(), block = detail::ask_cached_neighbors<Id>::block,
                        part = (words / parts_asked + block) / block * block;
    std::uint64_t k = 0;
    for (std::uint64_t from = 0; from < words; from += part, ++k) {
      std::uint64_t const to = std::min(words, from + part);
      ask_near(tree, from, to, k);
      asked_part_.record(x_);
      asked_part_.before(searching_);
      search_lists(tree, searching_, from, to, k, unreached, each);
    }
    searched_.record(searching_);
    searched_.before(x_);
  }
  static constexpr std::uint64_t least_to_push = 4096;  // as many sectors of host memory arrive during two launches
  void push_near(search_tree<Id> const& tree, cached_neighbors_view const& near, std::uint64_t in_frontier, std::uint64_t most_open) {
    using push = detail::push_cached_neighbors<Id>;
    // Cached neighbors are in-neighbors, so they are out-neighbors only in an undirected graph.
    std::uint64_t const words = this->words(), least = std::max(least_to_push, in_frontier * per_vertex_ / push::tries_worth_a_claim);
    if (!per_vertex_ || names_hubs() || most_open < least) return;
    for (bool sample : {true, false})
      for_each_item<32>(
          x_, sample ? (words + push::sample_of - 1) / push::sample_of : words,
          push{tree.current, tree.spare_words, tree.visited, tree.parent, job_.g.info.vertices, least, near, sample, counts_.data()});
  }
  template <bool Packed>
  void by_words(search_tree<Id> const& tree) {
    if constexpr (!Packed || sizeof(Id) == 4)
      for_each_item<8>(x_, words(),
                       detail::search_words<Id, Packed>{{job_.in_view<Id>(), tree.current, 1}, tree.own_visited(), tree.own_parent()});
  }
  // Searches the open vertices of words [from, to).
  void search_lists(search_tree<Id> const& tree, executor& on, std::uint64_t from, std::uint64_t to, std::uint64_t part,
                    std::uint64_t unreached, std::uint32_t each) {
    if (job_.g.info.compressed) search_lists_as<true>(tree, on, from, to, part, unreached, each);
    else search_lists_as<false>(tree, on, from, to, part, unreached, each);
  }
  template <bool Packed>
  void search_lists_as(search_tree<Id> const& tree, executor& on, std::uint64_t from, std::uint64_t to, std::uint64_t part,
                       std::uint64_t unreached, std::uint32_t each) {
    if constexpr (!Packed || sizeof(Id) == 4) {
      level_counts* const open = counts_.data() + part;
      // The traffic model of a simulated run needs one team per vertex to see concurrent reads.
      bool const take = x_.where().kind != device_kind::simulated;
      std::uint64_t const most = std::min(unreached, (to - from) * 32), blocks = &on == &x_ ? 8 : searching_blocks,
                          teams = x_.on_device() ? blocks * 256 / 8 * static_cast<unsigned>(x_.multiprocessors()) : 256;
      detail::search_parents<Id, Packed> const body{
          {job_.in_view<Id>(), tree.current, each}, tree.spare_ids + from * 32, tree.own_visited(), tree.own_parent(),
          x_.on_device() ? slots_.data() : nullptr, take ? open : nullptr};
      if (take) for_each_item<8>(on, std::min(most, teams), body);
      else for_each_item<8>(on, item_count{&open->open, most}, body);
    }
  }

  job_setting& job_;
  shard_seat const& at_;
  executor& x_ = job_.x;
  std::uint32_t per_vertex_;
  buffer<std::uint32_t> cached_;
  buffer<level_counts> counts_;
  buffer<asked_slot> slots_;
  executor searching_;  // searches remote adjacency, overlapping step 1
  event asked_part_, searched_;
  link_rates rates_;
  wait_at_end settled_{x_}, all_searched_{searching_};
};

}  // namespace garner
