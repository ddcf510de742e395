// Level-synchronous BFS. Each level expands all edges that leave the frontier. The first team that reaches a
// vertex claims it in a bitmap. The bitmap has one bit per vertex, so that it stays in the device's L2 cache. The
// claimed bits, in vertex order, are the next frontier, so that neighboring teams read neighboring remote memory.
// Invariants: bit v of `visited` is set iff v was reached. `known` is a copy of `visited` from the time the current frontier
// was gathered, so visited & ~known is the next frontier. depth[v] and parent[v] are written once: the team that claims v
// writes its parent, and gathering v writes its depth. parent[source] == source; the parent of an unreached vertex is ~0.
// Cost of top-down levels: every edge of the reached part crosses the link once. Each level takes n/4 bytes
// of bitmap, four or five launches and one wait. A level of few vertices takes one launch (small_levels.hpp).
// With several shards, each has `known`, depths and frontier of its own vertices, and bitmaps and parent buffers of all. It marks the
// vertices that it reaches. After a level it merges the others' marks for its own vertices, with parents. Then it copies the others' state
// of their own. So n/8 bytes of bitmap cross the link per level, twice if levels may be bottom-up, plus one parent per vertex in all.
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
#include "traverse/cached_neighbors.hpp"
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

// Visits an edge. The team that claims its target stores the edge's source as the parent.
template <class Id>
struct expand {
  static constexpr bool weighted = false;
  std::uint64_t const* offsets;
  std::uint32_t* visited;
  Id* parent;
  std::uint64_t first;  // first vertex of this adjacency
  template <class Team>
  GARNER_HD void operator()(Team const& t, frontier_item<Id> const& at, Id u, std::uint64_t arc) const {
    if (t.claim(visited, u)) parent[u] = static_cast<Id>(first + at.owner_of(offsets, arc));
  }
};

// Merges the vertices of this shard that another shard reached. note_found merges the bits, one word per lane; take_parents
// then copies the parents, one vertex per lane. Neighboring lanes read neighboring words of the other shard's memory.
struct note_found {
  std::uint32_t const* theirs;
  std::uint32_t *visited, *found;
  std::uint64_t words, *taken;
  static constexpr std::uint64_t block = 1024;  // words per team
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
  static constexpr std::uint64_t block = 8;  // words per team
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

// The vertices claimed since the last frontier was gathered become the next frontier and get their depth.
struct newly_visited {
  std::uint32_t const* visited;
  std::uint32_t *known, *depth;
  std::uint32_t level;
  std::uint32_t* current;  // the new frontier's bits; null: bottom-up levels are impossible
  GARNER_HD std::uint32_t word(std::uint64_t w) const { return visited[w] & ~known[w]; }
  GARNER_HD void take(std::uint64_t w, std::uint32_t bits) const {
    known[w] |= bits;
    if (current) current[w] = bits;
    for (; bits; bits &= bits - 1) depth[w * 32 + static_cast<std::uint64_t>(lowest_bit(bits))] = level;
  }
};

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

// Bottom-up levels over adjacency in a file. The unvisited vertices form a frontier, and each scans its whole adjacency.
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

frontier_options frontier_of(bfs_options const& o) {
  bool const paper = o.variant == bfs_variant::emogi;
  bool const join = !paper && o.tuning.join_lists.value_or(o.access == access_mode::aligned && o.tuning.vertices_per_team == 1);
  return {o.access, o.tuning.split_hubs && !paper, join, o.tuning.slice, o.tuning.vertices_per_team, o.tuning.block_bytes};
}

// Excludes the paper's program, which treats all levels the same, and two explicit options: one lane per list, several lists per team.
bool queues_small(bfs_options const& o) {
  return o.edges != tier::file && o.tuning.queue_small && o.variant != bfs_variant::emogi && o.tuning.vertices_per_team == 1 &&
         (o.access == access_mode::aligned || o.access == access_mode::merged);
}

// The paper's program has no device cache. Top-down levels do not use cached neighbors: for them the first edges are as good as any.
std::optional<std::uint64_t> copies_of(bfs_options const& o) { return o.variant == bfs_variant::emogi ? std::uint64_t{0} : o.graph_cache; }

// The measured rates of this device's link, or PCIe 5 by default.
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
  buffer<std::uint32_t> visited, known, depth, current;  // current: used by bottom-up levels only
  buffer<std::uint32_t> asks;                            // file tier: vertices whose cached neighbors all missed
  buffer<Id> parent;
  buffer<std::uint32_t> cached_neighbors;
  buffer<level_counts> counts;
  buffer<asked_slot> slots;
  executor searching;  // searches remote adjacency, overlapping step 1
  event asked_part, searched;
  link_rates const rates;
  csr_view<Id> out;
  frontier<Id> front;
  small_levels<Id> few;
  open_lists<Id> open;  // for adjacency in a file
  struct tables {
    peer_table visited, parent, known, current;
  } theirs;  // visited and parent cover all vertices, known and current each shard's own
  shard_run had;
  wait_at_end settled{x}, all_searched{searching};

  over(shard_seat seat, bfs_options const& o)
      : options(o),
        at(std::move(seat)),
        job(at.lists(), o.device, o.access, o.edges, o.tuning.l2_bytes, copies_of(o), false, at.alone() ? nullptr : &at),
        cached_per_vertex(!turns               ? 0
                          : job.windows        ? cached_in_file(job, o.cached_neighbors)
                          : o.cached_neighbors ? *o.cached_neighbors
                                               : default_cached_neighbors(job)),
        visited(x.near(), frontier<Id>::words_of(at.vertices()), x.device(), "visited bitmap"),
        known(x.near(), words(), x.device(), "visited bitmap"),
        depth(x.near(), job.g.info.vertices, x.device(), "depths"),
        current(x.near(), turns ? visited.size() : 0, x.device(), "frontier bitmap"),
        asks(x.near(), turns && job.windows ? visited.size() : 0, x.device(), "open bitmap"),
        parent(x.near(), at.vertices(), x.device(), "parents"),
        cached_neighbors(cached_lie_near(job) ? buffer<std::uint32_t>{} : make_cached_neighbors<Id>(job, cached_per_vertex)),
        counts(x.near(), turns ? parts_asked : 1, x.device(), "counters"),
        slots(x.near(), asked_slots, x.device(), "counters"),
        searching(x, executor::urgent{}),
        rates(rates_here(x)),
        out(first_arcs_kept()),
        front(x, job.g.info, job.offsets(), frontier_of(o), job.costs(out), job.home<Id>()),
        few(x, job.g.info, queues_small(o) && at.alone(), job.costs(out)),
        open(x) {
    front.read_by(job.windows.get(), job.g.out);
    if (turns && !job.windows) names_hubs();  // measured here, before the clock starts
  }
  void join(shard_group& group) {
    at.join(group, x);
    theirs = {at.table(x, visited.data(), visited.size()), at.table(x, parent.data(), parent.size()),
              at.table(x, known.data(), known.size()), at.table(x, own_current(), turns ? words() : 0)};
  }

  // The number of bitmap words of this shard's own vertices. Its first vertex begins a word.
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
    had = {{at.first(), job.g.info.vertices, at.arcs()}, x.where(), 0, {}, 0};
    x.fill(visited.data(), 0, visited.bytes());
    x.fill(known.data(), 0, known.bytes());
    x.fill(depth.data(), 0xff, depth.bytes());
    x.fill(parent.data(), 0xff, parent.bytes());
    job.start_afresh();
    open.clear();
    at.of_all(0);  // a barrier, so that all shards begin together

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
    // Processes levels for as long as they are small. Returns whether the search continues.
    auto const walk_small = [&] {
      few.enter(front, job.offsets());
      bool first = true;  // the first queue omits vertices without edges
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
      frontier_size const size = all_gathered, mine = front.size();  // size: over all shards; mine: of this shard
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
      if (!current.empty() && job.edges == tier::host && x.where().kind != device_kind::cpu) {
        double const top_down = at.most(top_down_ms(mine));
        is_long = top_down > long_ms;
        if (bottom_up || is_long) {
          double const p = static_cast<double>(size.edges) / static_cast<double>(std::max<std::uint64_t>(1, unexplored));
          each = bfs_turns::sectors_at_once(p, sizeof(Id), g.info.compressed);
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
    if (options.verify && at.alone()) {
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
  // Gathers the next frontier and returns its size over all shards. `found`: shards may have reached vertices of other shards.
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
    std::uint64_t* const taken = &counts.data()->open;  // free here: bottom-up levels clear it before they use it
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
  // Runs a level on a graph in a file, in the direction that reads less; true if bottom-up. `unexplored`: edges of unvisited vertices.
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
    // Checking all cached neighbors pays if a scan of all vertices costs less than reading the frontier's adjacency.
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
                {job.g.cached_neighbors.data(), n, asks_near ? cached_per_vertex : 0});
    return true;
  }
  static constexpr std::uint64_t memory_over_drive = 16;  // approximate ratio of speeds
  std::uint32_t const* at_home(buffer<std::uint32_t> const& bits, std::vector<std::uint32_t>& copy) {
    if (!x.asynchronous()) return bits.data();
    copy.resize(bits.size());
    x.copy(copy.data(), bits.data(), bits.bytes());
    x.wait();
    return copy.data();
  }
  // Selects the cheaper direction when the link is the bottleneck. Two limits bound scattered reads: the request rate,
  // and the rate of address translation. Beyond 1 GiB some 35 million pages of 64 KiB are translated per second.
  static constexpr double long_ms = 1, pages_a_ms = 35e3;
  static double pages_ms(double lists, double bytes) {
    double const pages = bytes / 65536;
    return bytes < double(1u << 30) ? 0 : pages * (1 - std::exp(-lists / pages)) / pages_a_ms;
  }
  double list_bytes() const { return static_cast<double>(job.g.info.edges) * (job.g.info.compressed ? 2.5 : sizeof(Id)); }
  double top_down_ms(frontier_size const& size) const {
    traffic asked = frontier<Id>::in_closed_form(size);
    if (!x.on_device()) asked.requests[3] = size.edges * sizeof(Id) / 128, asked.requests[0] = size.vertices;  // as a device would
    return std::max(predicted_ms(asked, rates), pages_ms(static_cast<double>(size.vertices), list_bytes()));
  }
  struct foreseen {
    traffic asked;  // spent by the estimate itself
    double ms;
  };
  // Time to scan local memory grows with the unexplored part; most of it overlaps the search of remote adjacency.
  foreseen bottom_up_ms(std::uint32_t each, double unexplored) {  // `unexplored`: a fraction of all edges
    graph_info const& info = job.g.info;
    std::uint64_t const words = this->words(), part = std::max<std::uint64_t>(1, words / words_to_try);
    clear_counts();
    auto const look = [&](auto packed) {
      using body = foresee_search<Id, decltype(packed)::value>;
      for_each_item<8>(x, (words + part - 1) / part,
                       body{{job.in_view<Id>(), current.data(), each}, own_visited(), words, part, cached(), counts.data(), slots.data()});
    };
    if (!info.compressed) look(std::false_type{});
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
  // Requests of the teams since the slots were last cleared.
  frontier_size in_slots() {
    frontier_size size{};
    for (asked_slot const& s : home(slots)) size.asked = size.asked + s.asked;
    return size;
  }
  // The `unreached` vertices have at most `unexplored` edges. The host knows both bounds without a query to the device.
  void search(std::uint64_t in_frontier, std::uint64_t unreached, std::uint64_t unexplored, std::uint32_t each, bool is_long) {
    if (x.where().kind == device_kind::cpu && !cached_per_vertex) return job.g.info.compressed ? by_words<true>() : by_words<false>();
    clear_counts();
    if (job.g.info.compressed) each = 1;
    if (is_long && names_hubs()) return search_in_parts(unreached, each);
    std::uint64_t const words = this->words();
    ask_near(0, words, 0);
    // Each open vertex has at least one neighbor that is not cached.
    cached_neighbors_view const near = cached();
    if (at.alone())  // a cached neighbor may belong to another shard
      push_near(near, in_frontier, std::min(unreached, unexplored / (near.narrow ? 1 : cached_per_vertex + 1)));
    search_lists(x, 0, words, 0, unreached, each);
  }
  // Step 3 reads remote adjacency: it fills the link with few multiprocessors. Step 1 needs the multiprocessors and not the link. So step
  // 3 of one part of the vertices overlaps step 1 of the next. Step 3 has the higher priority, and only as many teams as fill the link.
  static constexpr std::uint64_t parts_asked = 8;
  static constexpr unsigned searching_blocks = 4;  // of 256 threads, per multiprocessor
  void search_in_parts(std::uint64_t unreached, std::uint32_t each) {
    std::uint64_t const words = this->words(), block = ask_cached_neighbors<Id>::block,
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
  cached_neighbors_view cached() const {
    return {cached_lie_near(job) ? job.g.cached_neighbors.data() : cached_neighbors.data(), job.g.info.vertices, cached_per_vertex};
  }
  // Whether cached neighbors are hubs. If so, step 2 is skipped, because all vertices share the same few.
  bool names_hubs() { return cached_per_vertex && (job.g.info.directed || !detail::spreads(job)); }
  void ask_near(std::uint64_t from, std::uint64_t to, std::uint64_t part, std::uint32_t* still_open = nullptr) {
    using ask = ask_cached_neighbors<Id>;
    for_each_item<32>(x, (to - from + ask::block - 1) / ask::block,
                      ask{job.in_view<Id>(), current.data(), own_visited(), still_open ? still_open : front.spare_words(), own_parent(),
                          front.spare_ids() + from * 32, from, to, cached(), counts.data() + part},
                      access_mode::aligned, to - from < words());
  }
  void push_near(cached_neighbors_view const& near, std::uint64_t in_frontier, std::uint64_t most_open) {
    // Cached neighbors are in-neighbors, so they are out-neighbors only in an undirected graph.
    std::uint64_t const words = visited.size(),
                        least = std::max(least_to_push, in_frontier * cached_per_vertex / push_cached_neighbors<Id>::tries_worth_a_claim);
    if (!cached_per_vertex || names_hubs() || most_open < least) return;
    for (bool sample : {true, false})
      for_each_item<32>(x, sample ? (words + push_cached_neighbors<Id>::sample_of - 1) / push_cached_neighbors<Id>::sample_of : words,
                        push_cached_neighbors<Id>{current.data(), front.spare_words(), visited.data(), parent.data(), job.g.info.vertices,
                                                  least, near, sample, counts.data()});
  }
  static constexpr std::uint64_t least_to_push = 4096;  // as many sectors of host memory arrive during two launches
  template <bool Packed>
  void by_words() {
    if constexpr (!Packed || sizeof(Id) == 4)
      for_each_item<8>(x, words(), search_words<Id, Packed>{{job.in_view<Id>(), current.data(), 1}, own_visited(), own_parent()});
  }
  // Searches the open vertices of words [from, to).
  void search_lists(executor& on, std::uint64_t from, std::uint64_t to, std::uint64_t part, std::uint64_t unreached, std::uint32_t each) {
    if (job.g.info.compressed) search_lists_as<true>(on, from, to, part, unreached, each);
    else search_lists_as<false>(on, from, to, part, unreached, each);
  }
  template <bool Packed>
  void search_lists_as(executor& on, std::uint64_t from, std::uint64_t to, std::uint64_t part, std::uint64_t unreached,
                       std::uint32_t each) {
    if constexpr (!Packed || sizeof(Id) == 4) {
      level_counts* const open = counts.data() + part;
      // The traffic model of a simulated run needs one team per vertex to see concurrent reads.
      bool const take = x.where().kind != device_kind::simulated;
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
  std::vector<Id> raw_parents() {  // of this shard's own vertices
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

// BFS over several shards. The certificate covers the whole result and is computed on the first shard's device.
template <class Id>
struct bfs_job::impl::spread : bfs_job::impl {
  bfs_options options;
  spread_job<over<Id>> all;

  spread(graph const& g, bfs_options const& o) : options(o), all(g, o, shard_grain, false) {}
  bfs_run run(std::uint64_t user_source) override {
    graph const& g = all.first().at.whole();
    g.internal_id(user_source);  // reports an invalid id before any thread starts
    bfs_run r;
    all.on_each([&](over<Id>& one) {
      bfs_run mine = one.run(user_source);
      if (one.at.shard() == 0) r = std::move(mine);
    });
    for (std::size_t k = 0; k < all.size(); ++k) r.shards.push_back(all[k].had);
    if (!options.verify) return r;
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
    if (o.devices.empty()) impl_ = std::make_unique<impl::over<id_type>>(shard_seat(g), o);
    else impl_ = std::make_unique<impl::spread<id_type>>(g, o);
  });
  prepare_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}
void bfs_job::require_runnable(std::string const& name, graph_info const& info, bfs_options const& o) {
  if (o.tuning.slice < 64 || o.tuning.slice % 32) fail(errc::usage, "slice {}: use a multiple of 32, 64 or more", o.tuning.slice);
  if (o.tuning.vertices_per_team == 0 || o.tuning.vertices_per_team > 1024)
    fail(errc::usage, "{} vertices a team: use 1 to 1024", o.tuning.vertices_per_team);
  require_spread(name, info, o.devices, o.edges, o.access);
  if (o.devices.size() > 1 && o.variant == bfs_variant::emogi)
    fail(errc::usage, "variant emogi is the paper's program, for one device; over {} devices use levels or direction", o.devices.size());
  if (o.devices.size() > 1 && o.cached_neighbors.value_or(0) == most_cached_neighbors)
    fail(errc::usage, "{} cached neighbors per vertex over {} shards: use 0 to {}", *o.cached_neighbors, o.devices.size(),
         most_cached_neighbors - 1);
  if (o.cached_neighbors.value_or(0) > most_cached_neighbors)
    fail(errc::usage, "{} cached neighbors per vertex: use 0 to {}", *o.cached_neighbors, most_cached_neighbors);
  bool const turns = o.variant.value_or(default_variant(info, o)) == bfs_variant::direction;
  if (turns && o.access == access_mode::copied)
    fail(errc::usage, "access copied sends the lists of a frontier, and bottom-up levels have none; use variant levels or emogi");
  with_id_type(info, [&](auto id) { frontier<decltype(id)>::require_pieces(info, frontier_of(o)); });
  if (turns && info.directed && o.edges == tier::file)
    fail(errc::usage,
         "{}: only the out-edges are read from the file of a directed graph, but bottom-up levels need its in-edges; use variant levels",
         name);
  if (turns && info.directed && !info.in_edges)
    fail(errc::input,
         "{}: bottom-up levels of a directed graph need its in-edges; add them with `garner convert --in-edges`, or use variant levels",
         name);
}
bfs_variant bfs_job::default_variant(graph_info const& info, bfs_options const& o) {
  bool const can = !info.directed || (info.in_edges && o.edges != tier::file),
             remote_adjacency = o.access == access_mode::aligned || o.access == access_mode::merged;
  return can && remote_adjacency ? bfs_variant::direction : bfs_variant::levels;
}
bfs_job::~bfs_job() = default;
bfs_job::bfs_job(bfs_job&&) noexcept = default;

job_setting const& bfs_job::setting() const { return impl_->setting(); }
std::uint32_t bfs_job::cached_neighbors() const { return impl_->cached_a_vertex(); }
bfs_run bfs_job::run(std::uint64_t source) {
  bfs_run r = impl_->run(source);
  r.prepare_ms = std::exchange(prepare_ms_, 0);
  return r;
}
std::vector<std::uint32_t> bfs_job::depths() { return impl_->depths(); }
std::vector<std::uint64_t> bfs_job::parents() { return impl_->parents(); }

std::uint64_t bfs_job::state_bytes(graph_info const& info, bfs_options const& o) {
  bool const direction = o.variant.value_or(default_variant(info, o)) == bfs_variant::direction;
  std::uint64_t const offsets = o.device.kind == device_kind::cuda ? (info.vertices + 1) * (direction && info.directed ? 16 : 8) : 0;
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
  fail(errc::usage, "variant '{}': use levels, direction or emogi", text);
}

std::vector<std::uint64_t> pick_sources(graph const& g, std::uint64_t count, std::uint64_t seed) {
  std::vector<std::uint64_t> sources;
  if (g.info.edges == 0) return sources;
  std::uint64_t const* const offsets = g.out.offsets.data();
  std::uint64_t const n = g.info.vertices;
  if (count > (1u << 24)) fail(errc::usage, "{} sources: use 2^24 or fewer", count);
  // Indexed by user rank, so that a reordered graph has the same sources.
  std::vector<std::uint64_t> arcs_before;
  for (std::uint64_t i = 0; sources.size() < count; ++i) {
    if (i % 4096 == 0) check_interrupted();
    // Tries random vertices. After many misses (few vertices have edges) it takes the source of a random edge.
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
