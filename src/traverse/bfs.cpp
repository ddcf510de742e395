// Level by level: expand looks at every arc that leaves the frontier and claims what nobody reached yet in a bitmap (one bit a vertex, so
// that what is looked up for every arc stays in the L2 of the device); the frontier of the next level is the claimed bits in order, which
// keeps the far reads of neighbouring teams near each other.
// Invariants: bit v of `visited` is set iff v was reached; `known` is `visited` as it was when the present frontier was gathered, so
//   visited & ~known is the next one; depth[v] and parent[v] are written once, by the team that claimed v (parent) and when v is
//   gathered (depth). parent[source] == source; ~0 where unreached.
// Cost of top-down levels: every arc of the reached part once over the link, n/4 bytes of bitmap a level; four or five launches and one
// wait a level. Levels of few vertices: one launch (small_levels.hpp).
// Over several shards each has `known`, depths and frontier of its own vertices, and the bitmaps and room for parents of all. It marks what
// it finds; after a level each looks at the others' marks of its own vertices, takes what it had not, with parents, and then all copy what
// each knows of its own. So n/8 bytes of bitmap cross a level, twice where levels may be bottom-up, and a parent a vertex in all.
#include "traverse/bfs.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "core/event.hpp"
#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/stats.hpp"
#include "memory/link.hpp"
#include "traverse/cached_neighbours.hpp"
#include "traverse/frontier.hpp"
#include "traverse/job.hpp"
#include "traverse/open_lists.hpp"
#include "traverse/small_levels.hpp"
#include "traverse/spread.hpp"
#include "traverse/verify.hpp"

namespace garner {

namespace {

template <class Id>
struct start_at {
  Id source;
  std::uint32_t* visited;
  Id* parent;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t) const {
    t.once([&] {
      visited[source / 32] |= 1u << source % 32;
      parent[source] = source;
    });
  }
};

// Looks at an arc: whoever claims its target is the parent.
template <class Id>
struct expand {
  static constexpr bool weighted = false;
  std::uint64_t const* offsets;
  std::uint32_t* visited;
  Id* parent;
  std::uint64_t first;  // of the vertices whose lists these are
  template <class Team>
  GARNER_HD void operator()(Team const& t, frontier_item<Id> const& at, Id u, std::uint64_t arc) const {
    if (t.claim(visited, u)) parent[u] = static_cast<Id>(first + at.owner_of(offsets, arc));
  }
};

// What another shard found of this one's vertices, from the first of them on: which, a lane a word, and then their parents, a lane a
// vertex, so that neighbouring lanes read neighbouring words of the other's memory.
struct note_found {
  std::uint32_t const* theirs;
  std::uint32_t *visited, *found;
  std::uint64_t words, *taken;
  static constexpr std::uint64_t block = 1024;  // words a team
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    std::uint64_t const mine = t.sum(indices{b * block, smaller(words, (b + 1) * block)}, [&](std::uint64_t w) {
      std::uint32_t const more = theirs[w] & ~visited[w];
      found[w] = more;
      if (more) visited[w] |= more;
      return static_cast<std::uint64_t>(count_bits(more));
    });
    t.once([&] {
      if (mine) atomic_add(taken, mine);
    });
  }
};
template <class Id>
struct take_parents {
  std::uint32_t const* found;
  Id const* theirs;
  Id* parent;
  std::uint64_t words;
  static constexpr std::uint64_t block = 8;  // words a team
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    for (std::uint64_t w = b * block; w < smaller(words, (b + 1) * block); ++w) {
      std::uint32_t const bits = found[w];
      if (!bits) continue;
      t.each(indices{w * 32, w * 32 + 32}, [&](std::uint64_t v) {
        if (bits >> v % 32 & 1) parent[v] = theirs[v];
      });
    }
  }
};

// What was claimed since the last frontier is the next one, and gets its depth.
struct newly_visited {
  std::uint32_t const* visited;
  std::uint32_t *known, *depth;
  std::uint32_t level;
  std::uint32_t* current;  // gets the new frontier's bits, where bottom-up levels may come; null: not asked for
  GARNER_HD std::uint32_t word(std::uint64_t w) const { return visited[w] & ~known[w]; }
  GARNER_HD void take(std::uint64_t w, std::uint32_t bits) const {
    known[w] |= bits;
    if (current) current[w] = bits;
    for (; bits; bits &= bits - 1) depth[w * 32 + static_cast<std::uint64_t>(lowest_bit(bits))] = level;
  }
};

// What a bottom-up level did so far. Kernels read it too, so that one tells the next whether it is worth its time.
struct level_counts {
  std::uint64_t open, taken;     // vertices whose cached neighbours did not answer, and who have others; so many are looked for
  std::uint64_t tried, claimed;  // cached neighbours of the sample: looked at, and open until then
};
// What teams asked for, a line of memory to itself: millions of them adding to one would take turns.
struct alignas(64) asked_slot {
  run_traffic asked;
  GARNER_HD void add(run_traffic const& more) {
    for (int k = 0; k < 4; ++k)
      if (more.requests[k]) atomic_add(&asked.requests[k], more.requests[k]);
    if (more.useful) atomic_add(&asked.useful, more.useful);
  }
};
constexpr std::uint64_t asked_slots = 256;

// What the cached neighbours of v say.
struct near_answer {
  static constexpr std::uint32_t nothing = ~0u - 1, open = ~0u;  // else: the one that is in the frontier
  template <class Id>
  GARNER_HD static std::uint32_t of(csr_view<Id> const& in, cached_neighbours_view const& cached, std::uint32_t const* current,
                                    std::uint64_t v) {
    std::uint64_t const degree = in.degree(v);
    std::uint32_t asked = 0;
    for (std::uint32_t k = 0; k < cached.per_vertex && asked < degree; ++k) {
      std::uint32_t const u = cached.at(v, k);
      if (u == cached_neighbours_view::none) continue;
      ++asked;
      if (has_bit(current, u)) return u;
    }
    return degree > asked ? open : nothing;
  }
};

// Bottom-up, first: each vertex that nobody reached asks its cached neighbours, a lane a vertex. Who must ask far memory is marked in
// `open`, and listed, in the order of the vertices but for who of the teams came first.
template <class Id>
struct ask_cached_neighbours {
  csr_view<Id> in;
  std::uint32_t const* current;  // bit v: v is in the frontier
  std::uint32_t *visited, *open;
  Id *parent, *list;
  std::uint64_t from, words;  // asked are the vertices of words [from, words)
  cached_neighbours_view cached_neighbours;
  level_counts* counts;
  static constexpr std::uint64_t block = 8;  // words a team

  struct answers {
    std::uint32_t won, open;
    GARNER_HD friend answers operator+(answers a, answers b) { return {a.won | b.won, a.open | b.open}; }
  };
  GARNER_HD answers ask(std::uint64_t v) const {
    std::uint32_t const bit = 1u << v % 32, u = near_answer::of(in, cached_neighbours, current, v);
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

// Then, of an undirected graph, the same arcs the other way: each vertex of the frontier claims those of its cached neighbours that are
// still open. On a graph without hubs this answers for more than half of them; where all cached neighbours are the same few hubs it answers
// for none. So some words of the frontier go first, and the rest follow if those were worth it.
template <class Id>
struct push_cached_neighbours {
  std::uint32_t const *current, *open;
  std::uint32_t* visited;
  Id* parent;
  std::uint64_t vertices, least_open;
  cached_neighbours_view cached_neighbours;
  bool sample;
  level_counts* counts;
  static constexpr std::uint64_t sample_of = 64;  // words of which one is in the sample
  // A cached neighbour is looked up in the L2, some hundred times as fast as a sector of host memory comes.
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
      for (std::uint32_t k = 0; k < cached_neighbours.per_vertex; ++k) {
        std::uint32_t const u = cached_neighbours.at(v, k);
        if (u == cached_neighbours_view::none) continue;
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

// One neighbour in the frontier, of a far list, a step at a time.
template <class Id, bool Packed>
struct look_for_parent {
  csr_view<Id> in;
  std::uint32_t const* current;
  std::uint32_t each;  // elements a lane and step
  template <class Team>
  GARNER_HD found<Id> operator()(Team t, std::uint64_t v, run_traffic& asked, bool counts = true) const {
    span<Id> const list = known<Packed>(in.list(v));
    found<Id> const hit = t.find(
        list, [&](Id u) { return has_bit(current, u); }, each, in.edges);
    if (!counts) return hit;
    std::uint64_t const step = 8 * each;
    std::uint64_t const end = smaller(list.end, ((hit ? hit.index : list.end - 1) / step + 1) * step);
    asked = asked + detail::steps_in_turn(list.begin * sizeof(Id), end * sizeof(Id), step * sizeof(Id));
    return hit;
  }
};

// What looking for parents would ask for: a part of the words does so, and writes nothing of what it finds. Who has no neighbour of the
// best in the frontier has fewer of the others there than anybody, so no rule from the degrees tells how long he looks.
template <class Id, bool Packed>
struct foresee_search {
  look_for_parent<Id, Packed> look;
  std::uint32_t const* visited;
  std::uint64_t words, part_of;
  cached_neighbours_view cached_neighbours;
  level_counts* counts;
  asked_slot* slots;

  struct set {
    std::uint32_t bits;
    GARNER_HD friend set operator+(set a, set b) { return {a.bits | b.bits}; }
  };
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    // Somewhere in each part: ids at equal distances may be alike (multiples of a power of two, in a Kronecker graph, are its hubs).
    std::uint64_t const w = smaller(i * part_of + mix(i) % part_of, words - 1);
    std::uint32_t const reached = visited[w];
    std::uint32_t const open = t.sum(indices{w * 32, smaller(look.in.vertices, w * 32 + 32)}, [&](std::uint64_t v) {
                                  if (reached >> v % 32 & 1) return set{};
                                  bool const asks = near_answer::of(look.in, cached_neighbours, look.current, v) == near_answer::open;
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

// Last: whoever is still open looks, a team each, so that nobody waits for another's list. Lists differ much in how long one looks: with a
// share of them each, teams would drift apart over all pages, and whoever fell behind would be waited for. So they take the next one.
template <class Id, bool Packed>
struct search_parents {
  look_for_parent<Id, Packed> look;
  Id const* list;
  std::uint32_t* visited;
  Id* parent;
  asked_slot* slots;     // null: nobody asks
  level_counts* counts;  // of which the next one is taken; null: item i looks for number i alone

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
    if (has_bit(visited, v)) return;  // a neighbour of those cached for another found it
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

// The same where nothing is cached and teams are threads of a pool, which nobody waits for: a word at a time, without a list.
template <class Id, bool Packed>
struct search_words {
  look_for_parent<Id, Packed> look;
  std::uint32_t* visited;
  Id* parent;

  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t w) const {
    std::uint64_t const left = look.in.vertices - w * 32;
    std::uint32_t const reached = visited[w];
    std::uint32_t won = 0;
    run_traffic nothing;
    for (std::uint32_t ask = ~reached & (left < 32 ? (1u << left) - 1 : ~0u); ask; ask &= ask - 1) {
      std::uint64_t const v = w * 32 + static_cast<std::uint64_t>(lowest_bit(ask));
      if (look.in.degree(v) == 0) continue;
      found<Id> const hit = look(t, v, nothing, false);
      if (!hit) continue;
      t.once([&] { parent[v] = hit.element; });
      won |= ask & (~ask + 1);
    }
    t.once([&] {
      if (won) visited[w] = reached | won;
    });
  }
};

// Bottom-up where lists come from a file, and whole: who is not reached looks through all of its list, as an item of a frontier does.
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
      return;  // one neighbour there is enough, and that of v is looked up first: it is at hand
    if (t.claim(visited, v)) parent[v] = u;
  }
};

frontier_options frontier_of(bfs_options const& o) {
  bool const paper = o.variant == bfs_variant::emogi;
  bool const join = !paper && o.paper.join_lists.value_or(o.access == access_mode::aligned && o.paper.vertices_per_team == 1);
  return {o.access, o.paper.split_hubs && !paper, join, o.slice, o.paper.vertices_per_team, o.block_bytes};
}

// The paper's program walks every level alike; and a lane a list, or several lists a team, is asked for as such.
bool queues_small(bfs_options const& o) {
  return o.edges != tier::file && o.paper.queue_small && o.variant != bfs_variant::emogi && o.paper.vertices_per_team == 1 &&
         (o.access == access_mode::aligned || o.access == access_mode::merged);
}

// The paper's program keeps nothing near; without bottom-up levels cached neighbours are of no use, and the first arcs are as good as any.
std::optional<std::uint64_t> copies_of(bfs_options const& o) {
  return o.variant == bfs_variant::emogi ? std::uint64_t{0} : o.device_budget;
}

// Of the link of this device where it was measured, else of PCIe 5.
link_rates rates_here(executor& x) {
  if (x.on_device())
    if (auto const link = known_link(x.device())) return rates_of(*link);
  return link_rates::of(51);
}

}  // namespace

struct bfs_job::impl {
  virtual ~impl() = default;
  virtual bfs_run run(std::uint64_t user_source) = 0;
  virtual job_setting const& setting() const = 0;
  virtual std::uint32_t cached_a_vertex() const = 0;
  virtual std::vector<std::uint32_t> depths() = 0;
  virtual std::vector<std::uint64_t> parents() = 0;
  template <class Id>
  struct over;
  template <class Id>
  struct spread;
};

template <class Id>
struct bfs_job::impl::over : bfs_job::impl {
  bfs_options options;
  bool const turns = options.variant == bfs_variant::direction;
  shard_seat at;
  job_setting job;
  executor& x = job.x;
  std::uint32_t const cached_per_vertex;
  buffer<std::uint32_t> visited, known, depth, current;  // current: for bottom-up levels only
  buffer<std::uint32_t> asks;                            // of lists in a file: whose cached neighbours did not answer
  buffer<Id> parent;
  buffer<std::uint32_t> cached_neighbours;
  buffer<level_counts> counts;
  buffer<asked_slot> slots;
  executor searching;  // far lists, while cached neighbours are asked
  event asked_part, searched;
  link_rates const rates;
  csr_view<Id> out;
  frontier<Id> front;
  small_levels<Id> few;
  open_lists<Id> open;  // of lists in a file
  struct tables {
    peer_table visited, parent, known, current;
  } theirs;  // the first two of all vertices, the others of each shard's own
  job_shard had;
  wait_at_end settled{x}, all_searched{searching};

  over(shard_seat seat, bfs_options const& o)
      : options(o),
        at(std::move(seat)),
        job(at.lists(), o.where, o.access, o.edges, o.l2_bytes, copies_of(o), false, at.alone() ? nullptr : &at),
        cached_per_vertex(!turns                ? 0
                          : job.windows         ? cached_in_file(job, o.cached_neighbours)
                          : o.cached_neighbours ? *o.cached_neighbours
                                                : default_cached_neighbours(job)),
        visited(x.near(), frontier<Id>::words_of(at.vertices()), x.device(), "visited bitmap"),
        known(x.near(), words(), x.device(), "visited bitmap"),
        depth(x.near(), job.g.info.vertices, x.device(), "depths"),
        current(x.near(), turns ? visited.size() : 0, x.device(), "frontier bitmap"),
        asks(x.near(), turns && job.windows ? visited.size() : 0, x.device(), "open bitmap"),
        parent(x.near(), at.vertices(), x.device(), "parents"),
        cached_neighbours(cached_lie_near(job) ? buffer<std::uint32_t>{} : make_cached_neighbours<Id>(job, cached_per_vertex)),
        counts(x.near(), turns ? parts_asked : 1, x.device(), "counters"),
        slots(x.near(), asked_slots, x.device(), "counters"),
        searching(x, executor::urgent{}),
        rates(rates_here(x)),
        out(first_arcs_kept()),
        front(x, job.g.info, job.offsets(), frontier_of(o), job.costs(out), job.home<Id>()),
        few(x, job.g.info, queues_small(o) && at.alone(), job.costs(out)),
        open(x) {
    front.read_by(job.windows.get(), job.g.out);
    if (turns && !job.windows) names_hubs();  // found out before the clock starts
  }
  void join(shard_group& group) {
    at.join(group, x);
    theirs = {at.table(x, visited.data(), visited.size()), at.table(x, parent.data(), parent.size()),
              at.table(x, known.data(), known.size()), at.table(x, own_current(), turns ? words() : 0)};
  }

  // Of its own vertices, which begin with a word.
  std::uint64_t words() const { return frontier<Id>::words_of(job.g.info.vertices); }
  std::uint32_t* own_visited() const { return visited.data() + at.first() / 32; }
  std::uint32_t* own_current() const { return current.empty() ? nullptr : current.data() + at.first() / 32; }
  Id* own_parent() const { return parent.data() + at.first(); }

  csr_view<Id> first_arcs_kept() {
    job.keep_first_arcs(false, false);
    return job.view<Id>();
  }
  job_setting const& setting() const override { return job; }
  std::uint32_t cached_a_vertex() const override { return cached_per_vertex; }

  bfs_run run(std::uint64_t user_source) override {
    using clock = std::chrono::steady_clock;
    graph const& g = at.whole();
    std::uint64_t const source = g.internal_id(user_source);
    bfs_run r;
    r.source = user_source;
    had = {x.where(), job.g.info.vertices, at.arcs(), 0, {}, 0};
    x.fill(visited.data(), 0, visited.bytes());
    x.fill(known.data(), 0, known.bytes());
    x.fill(depth.data(), 0xff, depth.bytes());
    x.fill(parent.data(), 0xff, parent.bytes());
    job.start_afresh();
    open.clear();
    at.of_all(0);  // all begin together

    phase const timed{"bfs.levels"};
    clock::time_point const start = clock::now();
    clock::time_point before = start;
    for_each_item<32>(x, 1, start_at<Id>{static_cast<Id>(source), visited.data(), parent.data()});
    frontier_size all_gathered = gather(0, false);
    std::uint64_t unexplored = g.info.edges;
    bool bottom_up = false;
    std::uint32_t level = 0;
    auto const passed = [&](frontier_size const& size, traffic const& asked, double ms, bool turned) {
      r.link += asked;
      r.reached += size.vertices;
      r.edges += size.edges;
      r.depth_max = level;
      r.depth_sum += level * size.vertices;
      file_reads const read = job.take_file_reads();
      r.file += read;
      r.levels.push_back({size.vertices, size.edges, asked.bytes_link(), ms, read, turned, 0});
      unexplored -= size.edges;
      ++level;
    };
    auto const since_before = [&] {
      clock::time_point const now = clock::now();
      return std::chrono::duration<double, std::milli>(now - std::exchange(before, now)).count();
    };
    // The levels from here on while they are small; whether the search goes on.
    auto const walk_small = [&] {
      few.enter(front, job.offsets());
      bool first = true;  // of whose vertices some may have no arcs, and no place in the queue
      do {
        check_interrupted();
        auto const walked = few.walk(out, {visited.data(), known.data(), depth.data(), parent.data()}, level);
        double const ms = since_before() / static_cast<double>(std::max<std::size_t>(1, walked.size()));
        for (small_level const& l : walked) {
          frontier_size const size{std::exchange(first, false) ? front.size().vertices : l.vertices(), l.arcs(), 0, l.asked};
          passed(size, x.on_device() ? frontier<Id>::in_closed_form(size) : job.model.take(), ms, false);
        }
      } while (few.then() == small_levels<Id>::next::small);
    };
    while (all_gathered.vertices) {
      check_interrupted();
      frontier_size const size = all_gathered, mine = front.size();  // of all shards, and of this one
      clock::time_point const begun = clock::now();
      if (few.takes(size)) {
        std::uint32_t const from = level;
        walk_small();
        if (few.then() == small_levels<Id>::next::nothing) break;
        if (level != from) {
          bottom_up = false;
          all_gathered = gather(level, false);
          continue;
        }
      }
      if (!current.empty())
        bottom_up = job.windows                                  ? false
                    : bottom_up                                  ? bfs_turns::stays(size.vertices, g.info.vertices)
                    : x.on_device() && job.edges == tier::device ? bfs_turns::turns_near(size.edges, unexplored - size.edges)
                                                                 : bfs_turns::turns(size.edges, unexplored - size.edges);
      std::uint32_t each = 1;
      bool is_long = false;
      traffic foreseen_link;
      if (!current.empty() && job.edges == tier::host && x.where().kind != place_kind::host) {
        double const top_down = at.most(top_down_ms(mine));
        is_long = top_down > long_ms;
        if (bottom_up || is_long) {
          double const p = static_cast<double>(size.edges) / static_cast<double>(std::max<std::uint64_t>(1, unexplored));
          each = bfs_turns::sectors_at_once(p, sizeof(Id), g.info.packed);
          if (is_long) {
            foreseen const up = bottom_up_ms(each, static_cast<double>(unexplored - size.edges) / static_cast<double>(g.info.edges));
            foreseen_link = up.asked;
            bottom_up = at.most(up.ms) < top_down;
          }
        }
      }
      if (job.windows && turns) bottom_up = walk_file(size, unexplored - size.edges);
      else if (bottom_up) search(size.vertices, g.info.vertices - r.reached - size.vertices, unexplored - size.edges, each, is_long);
      else front.for_each_arc(out, expand<Id>{job.offsets(), visited.data(), parent.data(), at.first()});
      if (!at.alone()) x.wait();
      double const own_ms = std::chrono::duration<double, std::milli>(clock::now() - begun).count();
      std::uint64_t const had_before = had.bytes_exchanged;
      all_gathered = gather(level + 1, !bottom_up);
      traffic asked = x.on_device() ? frontier<Id>::in_closed_form(mine) : job.model.take();
      if (bottom_up && x.on_device() && job.edges == tier::host) asked = frontier<Id>::in_closed_form(in_slots());
      had.ms += own_ms, had.link += asked, had.link += foreseen_link;
      auto const level_of_all = at.sum(level_sums{asked, foreseen_link, had.bytes_exchanged - had_before});
      r.link += level_of_all.foreseen;
      passed(size, level_of_all.asked, since_before(), bottom_up);
      r.levels.back().bytes_exchanged = level_of_all.exchanged;
    }
    open.clear();
    r.ms = std::chrono::duration<double, std::milli>(before - start).count();
    r.gteps = r.ms > 0 ? static_cast<double>(r.edges) / (g.info.directed ? 1 : 2) / r.ms / 1e6 : 0;
    static counter searched{"bfs.arcs"};
    if (at.shard() == 0) searched.add(r.edges);
    if (options.check_certificate && at.alone()) {
      verify(r, job.view<Id>(), depth.data(), parent.data());
      job.model.take();
    }
    return r;
  }
  void verify(bfs_run& r, csr_view<Id> const& view, std::uint32_t const* depths, Id const* parents) {
    graph const& g = at.whole();
    verify_bfs(x, bfs_tree<Id>{view, g.internal_id(r.source), depths, parents}, g, options.access, job.windows.get());
    r.verified = true;
  }

  struct level_sums {
    traffic asked, foreseen;
    std::uint64_t exchanged;
    level_sums operator+(level_sums const& b) const {
      level_sums c = *this;
      c.asked += b.asked, c.foreseen += b.foreseen, c.exchanged += b.exchanged;
      return c;
    }
  };
  // The next frontier, and how large that of all shards is. `found`: shards may have found others' vertices.
  frontier_size gather(std::uint32_t level, bool found) {
    shard_seat::turn others(at, x);
    if (found && !at.alone()) take_from_others();
    if (!current.empty()) x.fill(own_current(), 0, words() * sizeof(std::uint32_t));
    front.gather(newly_visited{own_visited(), known.data(), depth.data(), level, own_current()});
    if (at.alone()) return front.size();
    others.close();
    had.bytes_exchanged += at.copy_others(x, theirs.known, visited.data(), 32, sizeof(std::uint32_t));
    if (turns) had.bytes_exchanged += at.copy_others(x, theirs.current, current.data(), 32, sizeof(std::uint32_t));
    return at.sum(front.size());
  }
  void take_from_others() {
    std::uint64_t const n = words();
    std::uint64_t* const taken = &counts.data()->open;  // which only bottom-up levels use, and clear
    x.fill(counts.data(), 0, sizeof(level_counts));
    for (std::uint32_t k = 0; k < at.shards(); ++k) {
      if (k == at.shard()) continue;
      for_each_item<32>(
          x, (n + note_found::block - 1) / note_found::block,
          note_found{theirs.visited.template row<std::uint32_t>(k, at.first() / 32), own_visited(), front.spare_words(), n, taken});
      for_each_item<32>(x, (n + take_parents<Id>::block - 1) / take_parents<Id>::block,
                        take_parents<Id>{front.spare_words(), theirs.parent.template row<Id>(k, at.first()), own_parent(), n});
      had.bytes_exchanged += n * sizeof(std::uint32_t);
    }
    had.bytes_exchanged += x.read(taken) * sizeof(Id);
  }
  // A level of lists that stay in a file, the way that reads less; whether it was bottom-up. `unexplored`: arcs of who is not reached.
  bool walk_file(frontier_size const& size, std::uint64_t unexplored) {
    auto const top_down = [&] { front.for_each_arc(out, expand<Id>{job.offsets(), visited.data(), parent.data(), 0}); };
    std::uint64_t const n = job.g.info.vertices;
    if (open.whole()) {
      if (size.edges * sizeof(Id) * memory_over_drive < open.arcs() * sizeof(Id) &&
          front.foresee_windows().cost() * memory_over_drive < open.arcs() * sizeof(Id)) {
        top_down();
        return false;
      }
      open.search(current.data(), visited.data(), parent.data());
      return true;
    }
    // Cached neighbours are asked where a look at all vertices costs less than the lists of the frontier.
    bool const asks_near = cached_per_vertex && size.edges > n;
    if (!asks_near && unexplored >= size.edges) {
      top_down();
      return false;
    }
    std::uint64_t const down = front.foresee_windows().cost();
    if (asks_near) {
      clear_counts();
      ask_near(0, visited.size(), 0, asks.data());
      front.gather(marked{asks.data()});
    } else {
      front.gather(still_open{visited.data(), n});
    }
    if (front.foresee_windows().cost() > down) {
      front.gather(marked{current.data()});
      top_down();
      return false;
    }
    open.clear();
    std::vector<std::uint32_t> reached;
    front.walk_windows(out, adopt<Id>{job.offsets(), current.data(), visited.data(), parent.data()},
                       [&](list_window const& w, auto const& each_vertex) {
                         x.wait();
                         open.take(job.g.out, w, at_home(visited, reached), each_vertex);
                       });
    std::vector<std::uint32_t> asked;
    open.finish(job.home<Id>(), at_home(visited, reached), asks_near ? at_home(asks, asked) : nullptr,
                {job.g.cached_neighbours.data(), n, asks_near ? cached_per_vertex : 0});
    return true;
  }
  static constexpr std::uint64_t memory_over_drive = 16;  // times as fast, about
  std::uint32_t const* at_home(buffer<std::uint32_t> const& bits, std::vector<std::uint32_t>& copy) {
    if (!x.asynchronous()) return bits.data();
    copy.resize(bits.size());
    x.copy(copy.data(), bits.data(), bits.bytes());
    x.wait();
    return copy.data();
  }
  // Which way is shorter, where the link decides. Two things bound scattered reads: how fast requests are answered, and how many pages of
  // 64 KiB are touched: beyond 1 GiB the machine translates some 35 million addresses a second.
  static constexpr double long_ms = 1, pages_a_ms = 35e3;
  static double pages_ms(double lists, double bytes) {
    double const pages = bytes / 65536;
    return bytes < double(1u << 30) ? 0 : pages * (1 - std::exp(-lists / pages)) / pages_a_ms;
  }
  double list_bytes() const { return static_cast<double>(job.g.info.edges) * (job.g.info.packed ? 2.5 : sizeof(Id)); }
  double top_down_ms(frontier_size const& size) const {
    traffic asked = frontier<Id>::in_closed_form(size);
    if (!x.on_device()) asked.requests[3] = size.edges * sizeof(Id) / 128, asked.requests[0] = size.vertices;  // what a device would say
    return std::max(predicted_ms(asked, rates), pages_ms(static_cast<double>(size.vertices), list_bytes()));
  }
  struct foreseen {
    traffic asked;  // to know it
    double ms;
  };
  // Looking through what is near takes as long as there is much left; most of it while lists are searched.
  foreseen bottom_up_ms(std::uint32_t each, double unexplored) {  // a share of all arcs
    graph_info const& info = job.g.info;
    std::uint64_t const words = this->words(), part = std::max<std::uint64_t>(1, words / words_to_try);
    clear_counts();
    auto const look = [&](auto packed) {
      using body = foresee_search<Id, decltype(packed)::value>;
      for_each_item<8>(x, (words + part - 1) / part,
                       body{{job.in_view<Id>(), current.data(), each}, own_visited(), words, part, cached(), counts.data(), slots.data()});
    };
    if (!info.packed) look(std::false_type{});
    else if constexpr (sizeof(Id) == 4) look(std::true_type{});
    double const lists = static_cast<double>(x.read(counts.data()).open * part);
    traffic const asked = frontier<Id>::in_closed_form(in_slots());
    traffic all = asked;
    for (auto& requests : all.requests) requests *= part;
    double const near = static_cast<double>(info.vertices) / (1u << 26) * (0.6 + unexplored) / (names_hubs() ? 4 : 1);
    return {x.on_device() ? asked : traffic{}, near + std::max(predicted_ms(all, rates), pages_ms(lists, list_bytes()))};
  }
  static constexpr std::uint64_t words_to_try = 4096;
  void clear_counts() {
    x.fill(counts.data(), 0, counts.bytes());
    x.fill(slots.data(), 0, slots.bytes());
  }
  // What teams asked for since then.
  frontier_size in_slots() {
    frontier_size size{};
    for (asked_slot const& s : home(slots)) size.asked = size.asked + s.asked;
    return size;
  }
  // `unreached` vertices have `unexplored` arcs at the most: hosts know so much without asking the device.
  void search(std::uint64_t in_frontier, std::uint64_t unreached, std::uint64_t unexplored, std::uint32_t each, bool is_long) {
    if (x.where().kind == place_kind::host && !cached_per_vertex) return job.g.info.packed ? by_words<true>() : by_words<false>();
    clear_counts();
    if (job.g.info.packed) each = 1;
    if (is_long && names_hubs()) return search_in_parts(unreached, each);
    std::uint64_t const words = this->words();
    ask_near(0, words, 0);
    // Who is still open has one neighbour more than cached neighbours.
    cached_neighbours_view const near = cached();
    if (at.alone())  // who is named may be of another shard
      push_near(near, in_frontier, std::min(unreached, unexplored / (near.narrow ? 1 : cached_per_vertex + 1)));
    search_lists(x, 0, words, 0, unreached, each);
  }
  // Far lists keep the link busy and few multiprocessors, asking near memory the multiprocessors and no link. So the open of a part of the
  // vertices search while the next part is asked: by as many teams as fill the link, which go first wherever there is room.
  static constexpr std::uint64_t parts_asked = 8;
  static constexpr unsigned searching_blocks = 4;  // of 256 threads, a multiprocessor
  void search_in_parts(std::uint64_t unreached, std::uint32_t each) {
    std::uint64_t const words = this->words(), block = ask_cached_neighbours<Id>::block,
                        part = (words / parts_asked + block) / block * block;
    std::uint64_t k = 0;
    for (std::uint64_t from = 0; from < words; from += part, ++k) {
      std::uint64_t const to = std::min(words, from + part);
      ask_near(from, to, k);
      asked_part.record(x);
      asked_part.before(searching);
      search_lists(searching, from, to, k, unreached, each);
    }
    searched.record(searching);
    searched.before(x);
  }
  cached_neighbours_view cached() const {
    return {cached_lie_near(job) ? job.g.cached_neighbours.data() : cached_neighbours.data(), job.g.info.vertices, cached_per_vertex};
  }
  // Whether cached neighbours name hubs, so that nobody asks them the other way: all name the same.
  bool names_hubs() { return cached_per_vertex && (job.g.info.directed || !detail::spreads(job)); }
  void ask_near(std::uint64_t from, std::uint64_t to, std::uint64_t part, std::uint32_t* still_open = nullptr) {
    using ask = ask_cached_neighbours<Id>;
    for_each_item<32>(x, (to - from + ask::block - 1) / ask::block,
                      ask{job.in_view<Id>(), current.data(), own_visited(), still_open ? still_open : front.spare_words(), own_parent(),
                          front.spare_ids() + from * 32, from, to, cached(), counts.data() + part},
                      access_mode::aligned, to - from < words());
  }
  void push_near(cached_neighbours_view const& near, std::uint64_t in_frontier, std::uint64_t most_open) {
    // Cached neighbours are in-neighbours, so only in an undirected graph they are out-neighbours too.
    std::uint64_t const words = visited.size(),
                        least = std::max(least_to_push, in_frontier * cached_per_vertex / push_cached_neighbours<Id>::tries_worth_a_claim);
    if (!cached_per_vertex || names_hubs() || most_open < least) return;
    for (bool sample : {true, false})
      for_each_item<32>(x, sample ? (words + push_cached_neighbours<Id>::sample_of - 1) / push_cached_neighbours<Id>::sample_of : words,
                        push_cached_neighbours<Id>{current.data(), front.spare_words(), visited.data(), parent.data(), job.g.info.vertices,
                                                   least, near, sample, counts.data()});
  }
  static constexpr std::uint64_t least_to_push = 4096;  // sectors of host memory come in the time of two launches
  template <bool Packed>
  void by_words() {
    if constexpr (!Packed || sizeof(Id) == 4)
      for_each_item<8>(x, words(), search_words<Id, Packed>{{job.in_view<Id>(), current.data(), 1}, own_visited(), own_parent()});
  }
  // Those of words [from, to) who are open.
  void search_lists(executor& on, std::uint64_t from, std::uint64_t to, std::uint64_t part, std::uint64_t unreached, std::uint32_t each) {
    if (job.g.info.packed) search_lists_as<true>(on, from, to, part, unreached, each);
    else search_lists_as<false>(on, from, to, part, unreached, each);
  }
  template <bool Packed>
  void search_lists_as(executor& on, std::uint64_t from, std::uint64_t to, std::uint64_t part, std::uint64_t unreached,
                       std::uint32_t each) {
    if constexpr (!Packed || sizeof(Id) == 4) {
      level_counts* const open = counts.data() + part;
      // A simulated run hears who reads side by side where each has a team.
      bool const take = x.where().kind != place_kind::simulated;
      std::uint64_t const most = std::min(unreached, (to - from) * 32), blocks = &on == &x ? 8 : searching_blocks,
                          teams = x.on_device() ? blocks * 256 / 8 * static_cast<unsigned>(x.multiprocessors()) : 256;
      search_parents<Id, Packed> const body{
          {job.in_view<Id>(), current.data(), each}, front.spare_ids() + from * 32, own_visited(), own_parent(),
          x.on_device() ? slots.data() : nullptr,    take ? open : nullptr};
      if (take) for_each_item<8>(on, std::min(most, teams), body);
      else for_each_item<8>(on, item_count{&open->open, most}, body);
    }
  }

  template <class T>
  std::vector<T> home(buffer<T> const& near) {
    std::vector<T> all(near.size());
    x.copy(all.data(), near.data(), near.bytes());
    x.wait();
    return all;
  }
  std::vector<std::uint32_t> depths() override { return home(depth); }
  std::vector<Id> raw_parents() {  // of its own vertices
    std::vector<Id> raw(job.g.info.vertices);
    x.copy(raw.data(), own_parent(), raw.size() * sizeof(Id));
    x.wait();
    return raw;
  }
  std::vector<std::uint64_t> parents() override { return as_parents(raw_parents()); }
  static std::vector<std::uint64_t> as_parents(std::vector<Id> const& raw) {
    std::vector<std::uint64_t> all(raw.begin(), raw.end());
    for (auto& p : all)
      if (p == static_cast<Id>(~Id{0})) p = ~std::uint64_t{0};
    return all;
  }
};

// Over several shards. The certificate is of the whole result, at the first one's place.
template <class Id>
struct bfs_job::impl::spread : bfs_job::impl {
  bfs_options options;
  spread_job<over<Id>> all;

  spread(graph const& g, bfs_options const& o) : options(o), all(g, o, shard_grain, false) {}
  bfs_run run(std::uint64_t user_source) override {
    graph const& g = all.first().at.whole();
    g.internal_id(user_source);  // before any thread starts
    bfs_run r;
    all.on_each([&](over<Id>& one) {
      bfs_run mine = one.run(user_source);
      if (one.at.shard() == 0) r = std::move(mine);
    });
    for (std::size_t k = 0; k < all.size(); ++k) r.shards.push_back(all[k].had);
    if (!options.check_certificate) return r;
    over<Id>& one = all.first();
    executor& x = one.x;
    placed_lists const lists = out_lists_of_all(x, g);
    std::vector<std::uint32_t> const depth = depths();
    std::vector<Id> const parent = all.gathered([](over<Id>& o) { return o.raw_parents(); });
    buffer<std::uint32_t> near_depth(x.near(), depth.size(), x.device(), "depths");
    buffer<Id> near_parent(x.near(), parent.size(), x.device(), "parents");
    x.copy(near_depth.data(), depth.data(), near_depth.bytes());
    x.copy(near_parent.data(), parent.data(), near_parent.bytes());
    one.verify(r, lists.view<Id>(), near_depth.data(), near_parent.data());
    one.job.model.take();
    return r;
  }
  job_setting const& setting() const override { return all.first().job; }
  std::uint32_t cached_a_vertex() const override { return all.first().cached_per_vertex; }
  std::vector<std::uint32_t> depths() override {
    return all.gathered([](over<Id>& o) { return o.depths(); });
  }
  std::vector<std::uint64_t> parents() override {
    return over<Id>::as_parents(all.gathered([](over<Id>& o) { return o.raw_parents(); }));
  }
};

bfs_job::bfs_job(graph const& g, bfs_options const& asked) {
  auto const start = std::chrono::steady_clock::now();
  bfs_options o = asked;
  if (g.in_file && !o.edges) o.edges = tier::file;
  at_one_place(o);
  require_runnable(g.name, g.info, o);
  if (!o.variant) o.variant = default_variant(g.info, o);
  with_id_type(g.info, [&](auto id) {
    using id_type = decltype(id);
    if (o.shards.empty()) impl_ = std::make_unique<impl::over<id_type>>(shard_seat(g), o);
    else impl_ = std::make_unique<impl::spread<id_type>>(g, o);
  });
  prepare_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}
void bfs_job::require_runnable(std::string const& name, graph_info const& info, bfs_options const& o) {
  if (o.slice < 64 || o.slice % 32) fail(errc::usage, "slice {}: say a multiple of 32, 64 or more", o.slice);
  if (o.paper.vertices_per_team == 0 || o.paper.vertices_per_team > 1024)
    fail(errc::usage, "{} vertices a team: say 1 to 1024", o.paper.vertices_per_team);
  require_spread(name, info, o.shards, o.edges, o.access);
  if (o.shards.size() > 1 && o.variant == bfs_variant::emogi)
    fail(errc::usage, "variant emogi is the paper's program, of one place; over {} shards say levels or direction", o.shards.size());
  if (o.shards.size() > 1 && o.cached_neighbours.value_or(0) == most_cached_neighbours)
    fail(errc::usage, "{} cached neighbours a vertex over {} shards: say 0 to {}", *o.cached_neighbours, o.shards.size(),
         most_cached_neighbours - 1);
  if (o.cached_neighbours.value_or(0) > most_cached_neighbours)
    fail(errc::usage, "{} cached neighbours a vertex: say 0 to {}", *o.cached_neighbours, most_cached_neighbours);
  bool const turns = o.variant.value_or(default_variant(info, o)) == bfs_variant::direction;
  if (turns && o.access == access_mode::copied)
    fail(errc::usage, "access copied sends the lists of a frontier, and bottom-up levels have none; say variant levels or emogi");
  with_id_type(info, [&](auto id) { frontier<decltype(id)>::require_pieces(info, frontier_of(o)); });
  if (turns && info.directed && o.edges == tier::file)
    fail(errc::usage,
         "{}: of a directed graph in a file the out-lists alone are read, and bottom-up levels need its in-lists; say variant levels",
         name);
  if (turns && info.directed && !info.in_lists)
    fail(errc::input,
         "{}: bottom-up levels of a directed graph need its in-lists; add them with `garner convert --in-edges`, or say variant levels",
         name);
}
bfs_variant bfs_job::default_variant(graph_info const& info, bfs_options const& o) {
  bool const can = !info.directed || (info.in_lists && o.edges != tier::file),
             far_lists = o.access == access_mode::aligned || o.access == access_mode::merged;
  return can && far_lists ? bfs_variant::direction : bfs_variant::levels;
}
bfs_job::~bfs_job() = default;
bfs_job::bfs_job(bfs_job&&) noexcept = default;

job_setting const& bfs_job::setting() const { return impl_->setting(); }
std::uint32_t bfs_job::cached_neighbours() const { return impl_->cached_a_vertex(); }
bfs_run bfs_job::run(std::uint64_t source) {
  bfs_run r = impl_->run(source);
  r.prepare_ms = std::exchange(prepare_ms_, 0);
  return r;
}
std::vector<std::uint32_t> bfs_job::depths() { return impl_->depths(); }
std::vector<std::uint64_t> bfs_job::parents() { return impl_->parents(); }

std::uint64_t bfs_job::state_bytes(graph_info const& info, bfs_options const& o) {
  bool const direction = o.variant.value_or(default_variant(info, o)) == bfs_variant::direction;
  std::uint64_t const offsets = o.where.kind == place_kind::device ? (info.vertices + 1) * (direction && info.directed ? 16 : 8) : 0;
  std::uint64_t const frontier_bytes =
      with_id_type(info, [&](auto id) { return frontier<decltype(id)>::state_bytes(info, frontier_of(o)); });
  std::uint64_t const queue_bytes =
      with_id_type(info, [&](auto id) { return small_levels<decltype(id)>::state_bytes(info, queues_small(o)); });
  return offsets + (info.vertices + 31) / 32 * (direction ? o.edges == tier::file ? 16 : 12 : 8) + info.vertices * (4 + info.id_bytes) +
         frontier_bytes + queue_bytes + asked_slots * sizeof(asked_slot);
}

std::string_view to_string(bfs_variant v) {
  return v == bfs_variant::levels ? "levels" : v == bfs_variant::direction ? "direction" : "emogi";
}
bfs_variant parse_bfs_variant(std::string_view text) {
  for (bfs_variant v : {bfs_variant::levels, bfs_variant::direction, bfs_variant::emogi})
    if (text == to_string(v)) return v;
  fail(errc::usage, "variant '{}': say levels, direction or emogi", text);
}

std::vector<std::uint64_t> pick_sources(graph const& g, std::uint64_t count, std::uint64_t seed) {
  std::vector<std::uint64_t> sources;
  if (g.info.edges == 0) return sources;
  std::uint64_t const* const offsets = g.out.offsets.data();
  std::uint64_t const n = g.info.vertices;
  if (count > (1u << 24)) fail(errc::usage, "{} sources: say 2^24 or fewer", count);
  // By the places of vertices among the user's ids, so that a graph in another order has the same sources.
  std::vector<std::uint64_t> arcs_before;
  for (std::uint64_t i = 0; sources.size() < count; ++i) {
    if (i % 4096 == 0) check_interrupted();
    // A vertex at random; after many misses (few vertices have edges) the owner of an arc at random.
    std::uint64_t v = g.at_rank(random_bits(seed, 7, i) % n);
    if (i >= 64 * (count + 1)) {
      std::uint64_t const* first = offsets;
      if (g.info.order != vertex_order::natural) {
        for (std::uint64_t r = arcs_before.size(), sum = 0; r <= n; ++r) {
          arcs_before.push_back(sum);
          if (r < n) sum += offsets[g.at_rank(r) + 1] - offsets[g.at_rank(r)];
        }
        first = arcs_before.data();
      }
      v = g.at_rank(static_cast<std::uint64_t>(std::upper_bound(first, first + n + 1, random_bits(seed, 8, i) % g.info.edges) - first) - 1);
    }
    if (offsets[v] != offsets[v + 1]) sources.push_back(g.user_id(v));
  }
  return sources;
}

}  // namespace garner
