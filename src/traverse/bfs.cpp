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
#include <utility>

#include "core/clock.hpp"
#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/stats.hpp"
#include "core/words.hpp"
#include "traverse/bottom_up.hpp"
#include "traverse/claims.hpp"
#include "traverse/file_levels.hpp"
#include "traverse/frontier.hpp"
#include "traverse/job.hpp"
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

frontier_options frontier_of(bfs_asked const& o) {
  bool const paper = o.variant == bfs_variant::emogi;
  bool const join = !paper && o.tuning.join_lists.value_or(o.access == access_mode::aligned && o.tuning.vertices_per_team == 1);
  return {o.access, o.tuning.split_hubs && !paper, join, o.tuning.slice, o.tuning.vertices_per_team, o.tuning.block_bytes};
}

// Excludes the paper's program, which treats all levels the same, a limit of depth, since several levels are one launch, and two explicit
// options: one lane per list, several lists per team.
bool queues_small(bfs_asked const& o) {
  return !o.max_depth && o.edges != tier::file && o.tuning.queue_small && o.variant != bfs_variant::emogi &&
         o.tuning.vertices_per_team == 1 && (o.access == access_mode::aligned || o.access == access_mode::merged);
}

// The paper's program has no device cache. Top-down levels do not use cached neighbors: for them the first edges are as good as any.
std::optional<std::uint64_t> copies_of(bfs_asked const& o) { return o.variant == bfs_variant::emogi ? std::uint64_t{0} : o.graph_cache; }

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
  bfs_asked options;
  bool const turns = options.variant == bfs_variant::direction;
  shard_seat at;
  job_setting job;
  executor& x = job.x;
  buffer<std::uint32_t> visited, known, depth, current;  // current: used by bottom-up levels only
  buffer<Id> parent;
  bottom_up<Id> up;
  csr_view<Id> out;
  frontier<Id> front;
  small_levels<Id> few;
  file_levels<Id> over_file;  // for adjacency in a file
  struct tables {
    peer_table visited, parent, known, current;
  } theirs;  // visited and parent cover all vertices, known and current each shard's own
  shard_run had;
  wait_at_end settled{x};

  over(shard_seat seat, bfs_asked const& o)
      : options(o),
        at(std::move(seat)),
        job(at.lists(), o.device, o.access, o.edges, o.tuning.l2_bytes, copies_of(o), false, at.alone() ? nullptr : &at),
        visited(x.near(), frontier<Id>::words_of(at.vertices()), x.device(), "visited bitmap"),
        known(x.near(), words(), x.device(), "visited bitmap"),
        depth(x.near(), job.g.info.vertices, x.device(), "depths"),
        current(x.near(), turns ? visited.size() : 0, x.device(), "frontier bitmap"),
        parent(x.near(), at.vertices(), x.device(), "parents"),
        up(job, at, turns, o.cached_neighbors),
        out(first_arcs_kept()),
        front(x, job.g.info, job.offsets(), frontier_of(o), job.costs(out), job.home<Id>()),
        few(x, job.g.info, queues_small(o) && at.alone(), job.costs(out)),
        over_file(job, turns) {
    front.read_by(job.windows.get(), job.g.out);
    if (turns && !job.windows) up.names_hubs();  // measured here, before the clock starts
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
  search_tree<Id> tree() { return {current.data(), visited.data(), parent.data(), at.first(), front.spare_words(), front.spare_ids()}; }

  csr_view<Id> first_arcs_kept() {
    job.keep_first_arcs(false, false);
    return job.view<Id>();
  }
  job_setting const& setting() const override { return job; }
  std::uint32_t cached_a_vertex() const override { return up.cached_per_vertex(); }

  bfs_run run(std::uint64_t user_source) override {
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
    over_file.clear();
    at.of_all(0);  // a barrier, so that all shards begin together

    phase const timed{"bfs.levels"};
    steady::time_point const start = steady::now();
    steady::time_point before = start;
    for_each_item<32>(x, 1, start_at<Id>{static_cast<Id>(source), visited.data(), parent.data()});
    frontier_size all_gathered = gather(0, false);
    std::uint64_t unexplored = g.info.edges;
    bool upward = false;
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
      steady::time_point const now = steady::now();
      return ms_between(std::exchange(before, now), now);
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
    while (all_gathered.vertices && level < options.max_depth.value_or(unreached)) {
      check_interrupted();
      frontier_size const size = all_gathered, mine = front.size();  // size: over all shards; mine: of this shard
      steady::time_point const begun = steady::now();
      if (few.takes(size)) {
        std::uint32_t const from = level;
        walk_small();
        if (few.then() == small_levels<Id>::next::nothing) break;
        if (level != from) {
          upward = false;
          all_gathered = gather(level, false);
          continue;
        }
      }
      if (!current.empty())
        upward = job.windows                                  ? false
                 : upward                                     ? bfs_turns::stays(size.vertices, g.info.vertices)
                 : x.on_device() && job.edges == tier::device ? bfs_turns::turns_near(size.edges, unexplored - size.edges)
                                                              : bfs_turns::turns(size.edges, unexplored - size.edges);
      std::uint32_t each = 1;
      bool is_long = false;
      traffic foreseen_link;
      if (!current.empty() && job.edges == tier::host && x.where().kind != device_kind::cpu) {
        double const top_down = at.most(up.top_down_ms(mine));
        is_long = top_down > up.long_ms;
        if (upward || is_long) {
          double const p = static_cast<double>(size.edges) / static_cast<double>(std::max<std::uint64_t>(1, unexplored));
          each = bfs_turns::sectors_at_once(p, sizeof(Id), g.info.compressed);
          if (is_long) {
            auto const turned = up.foresee(tree(), each, static_cast<double>(unexplored - size.edges) / static_cast<double>(g.info.edges));
            foreseen_link = turned.asked;
            upward = at.most(turned.ms) < top_down;
          }
        }
      }
      expand<Id> const visit{job.offsets(), visited.data(), parent.data(), at.first()};
      if (job.windows && turns) upward = over_file.walk(front, out, tree(), up, visit, size, unexplored - size.edges);
      else if (upward)
        up.search(tree(), size.vertices, g.info.vertices - r.reached - size.vertices, unexplored - size.edges, each, is_long);
      else front.for_each_arc(out, visit);
      if (!at.alone()) x.wait();
      double const own_ms = ms_since(begun);
      std::uint64_t const had_before = had.bytes_exchanged;
      all_gathered = gather(level + 1, !upward);
      traffic asked = x.on_device() ? frontier<Id>::in_closed_form(mine) : job.model.take();
      if (upward && x.on_device() && job.edges == tier::host) asked = frontier<Id>::in_closed_form(up.asked_since());
      had.ms += own_ms, had.link += asked, had.link += foreseen_link;
      auto const level_of_all = at.sum(round_sums{asked, foreseen_link, had.bytes_exchanged - had_before});
      r.link += level_of_all.foreseen;
      passed(size, level_of_all.asked, since_before(), upward);
      r.levels.back().bytes_exchanged = level_of_all.exchanged;
    }
    if (all_gathered.vertices && level == options.max_depth)
      passed({all_gathered.vertices, 0, 0, {}}, {}, 0, false);  // reached, but not read
    over_file.clear();
    r.ms = ms_between(start, before);
    r.gteps = r.ms > 0 ? static_cast<double>(r.edges) / (g.info.directed ? 1 : 2) / r.ms / 1e6 : 0;
    if (options.first_alone) had.ms = r.ms, had.link = r.link, r.shards = {had};
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
    verify_bfs(x, bfs_tree<Id>{view, g.internal_id(r.source), depths, parents, options.max_depth.value_or(unreached)}, g, options.access,
               job.windows.get());
    r.verified = true;
  }

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
    using detail::note_found, detail::take_parents;
    std::uint64_t* const taken = up.spare_counter();
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
  std::vector<std::uint32_t> depths() override { return to_host(x, depth); }
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
  bfs_asked options;
  spread_job<over<Id>> all;

  spread(graph const& g, bfs_asked const& o) : options(o), all(g, o, shard_grain, false) {}
  bfs_run run(std::uint64_t user_source) override {
    graph const& g = all.first().at.whole();
    g.internal_id(user_source);  // reports an invalid id before any thread starts
    bfs_run r = all.run(user_source);
    if (!options.verify) return r;
    over<Id>& one = all.first();
    placed_lists const lists = out_lists_of_all(one.x, g);
    buffer<std::uint32_t> const depth = to_device(one.x, depths(), "depths");
    buffer<Id> const parent = to_device(one.x, all.gathered([](over<Id>& o) { return o.raw_parents(); }), "parents");
    one.verify(r, lists.view<Id>(), depth.data(), parent.data());
    one.job.model.take();
    return r;
  }
  job_setting const& setting() const override { return all.first().job; }
  std::uint32_t cached_a_vertex() const override { return all.first().cached_a_vertex(); }
  std::vector<std::uint32_t> depths() override {
    return all.gathered([](over<Id>& o) { return o.depths(); });
  }
  std::vector<std::uint64_t> parents() override {
    return over<Id>::as_parents(all.gathered([](over<Id>& o) { return o.raw_parents(); }));
  }
};

bfs_job::bfs_job(graph const& g, bfs_asked const& asked) {
  auto const start = steady::now();
  bfs_asked o = asked;
  if (g.in_file && !o.edges) o.edges = tier::file;
  at_one_place(o);
  require_runnable(g.name, g.info, o);
  if (!o.variant) o.variant = default_variant(g.info, o);
  with_id_type(g.info, [&](auto id) {
    using id_type = decltype(id);
    if (o.devices.empty()) impl_ = std::make_unique<impl::over<id_type>>(shard_seat(g), o);
    else impl_ = std::make_unique<impl::spread<id_type>>(g, o);
  });
  prepare_ms_ = ms_since(start);
}
void bfs_job::require_runnable(std::string const& name, graph_info const& info, bfs_asked const& o) {
  require_tuning(o.tuning);
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
bfs_variant bfs_job::default_variant(graph_info const& info, bfs_asked const& o) {
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

std::uint64_t bfs_job::state_bytes(graph_info const& info, bfs_asked const& o) {
  bool const direction = o.variant.value_or(default_variant(info, o)) == bfs_variant::direction;
  std::uint64_t const offsets = o.device.kind == device_kind::cuda ? (info.vertices + 1) * (direction && info.directed ? 16 : 8) : 0;
  std::uint64_t const frontier_bytes =
      with_id_type(info, [&](auto id) { return frontier<decltype(id)>::state_bytes(info, frontier_of(o)); });
  std::uint64_t const queue_bytes =
      with_id_type(info, [&](auto id) { return small_levels<decltype(id)>::state_bytes(info, queues_small(o)); });
  return offsets + (info.vertices + 31) / 32 * (direction ? o.edges == tier::file ? 16 : 12 : 8) + info.vertices * (4 + info.id_bytes) +
         frontier_bytes + queue_bytes + detail::asked_slots * sizeof(detail::asked_slot);
}

constexpr word_table<bfs_variant> bfs_variants{"variant '{text}': use {a_or_b}", {"levels", "direction", "emogi"}};
std::string_view to_string(bfs_variant value) { return bfs_variants[value]; }
bfs_variant parse_bfs_variant(std::string_view text) { return bfs_variants.parse(text); }

}  // namespace garner
