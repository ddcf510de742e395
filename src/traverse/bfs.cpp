// Level by level: expand looks at every arc that leaves the frontier and claims what nobody reached yet in a bitmap (one bit a vertex, so
// that what is looked up for every arc stays in the L2 of the device); the frontier of the next level is the claimed bits in order, which
// keeps the far reads of neighbouring teams near each other.
// Invariants: bit v of `visited` is set iff v was reached; `known` is `visited` as it was when the present frontier was gathered, so
//   visited & ~known is the next one; depth[v] and parent[v] are written once, by the team that claimed v (parent) and when v is
//   gathered (depth). parent[source] == source; ~0 where unreached.
// A hub is split and short neighbouring lists are joined: the frontier holds pieces of the edge list, and a scan of how many each word of
// the bitmap needs says where they go.
// Cost: every arc of the reached part once over the link, n/4 bytes of bitmap a level; four or five launches and one wait a level.
#include "traverse/bfs.hpp"

#include <algorithm>
#include <chrono>
#include <type_traits>

#include "access/matrix.hpp"
#include "access/traffic.hpp"
#include "core/device.hpp"
#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/primitives.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/stats.hpp"
#include "traverse/verify.hpp"

namespace garner {

namespace {

// What one team walks: a piece of the arcs that leave `length` vertices from `first` on. More than one vertex where their lists are
// neighbours in the edge list, so that they are read as one run and short lists do not cost a request each.
template <class Id>
struct frontier_item {
  Id first;
  std::uint32_t packed;
  GARNER_HD static frontier_item of(std::uint64_t first, std::uint64_t length, std::uint32_t piece) {
    return {static_cast<Id>(first), piece << 5 | static_cast<std::uint32_t>(length - 1)};
  }
  GARNER_HD std::uint64_t length() const { return (packed & 31) + 1; }
  GARNER_HD std::uint32_t piece() const { return packed >> 5; }
};

// Calls f(first, length, begin, end) for the stretches of the vertices whose bits are set in word w: one vertex each, or, joined,
// neighbours in the edge list (between which only vertices without arcs may stand).
template <class F>
GARNER_HD inline void each_stretch(std::uint32_t fresh, std::uint64_t w, std::uint64_t const* offsets, bool join, F f) {
  auto const next = [&] {
    std::uint64_t const v = w * 32 + static_cast<std::uint64_t>(lowest_bit(fresh));
    fresh &= fresh - 1;
    return v;
  };
  while (fresh) {
    std::uint64_t const first = next(), begin = offsets[first];
    std::uint64_t last = first, end = offsets[first + 1];
    while (join && fresh) {
      std::uint64_t const v = w * 32 + static_cast<std::uint64_t>(lowest_bit(fresh));
      if (offsets[v] != end) break;
      last = next();
      end = offsets[v + 1];
    }
    f(first, last - first + 1, begin, end);
  }
}

// Which of the vertices [first, first + length) owns arc i.
GARNER_HD inline std::uint64_t owner_of(std::uint64_t const* offsets, std::uint64_t first, std::uint64_t length, std::uint64_t i) {
  while (length > 1) {  // the last one whose list begins at i or before
    std::uint64_t const half = length / 2;
    if (offsets[first + half] <= i) first += half, length -= half;
    else length = half;
  }
  return first;
}

// How lists are cut: from the line (aligned) or the element (else) where the list begins, `slice` elements each.
struct cutter {
  std::uint64_t slice;
  std::uint32_t grain;  // elements of a line for aligned access, 1 else

  GARNER_HD std::uint64_t base(std::uint64_t begin) const { return begin / grain * grain; }
  GARNER_HD std::uint32_t pieces(std::uint64_t begin, std::uint64_t end) const {
    return begin == end ? 0 : static_cast<std::uint32_t>((end - base(begin) + slice - 1) / slice);
  }
  template <class T>
  GARNER_HD run<T> piece(run<T> list, std::uint32_t k) const {
    std::uint64_t const from = base(list.begin) + k * slice;
    return {list.data, larger(list.begin, from), smaller(list.end, from + slice)};
  }
};

struct level_size {
  std::uint64_t vertices, edges, items;
  run_traffic asked;
  GARNER_HD friend level_size operator+(level_size const& a, level_size const& b) {
    return {a.vertices + b.vertices, a.edges + b.edges, a.items + b.items, a.asked + b.asked};
  }
};

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

template <class Id>
struct expand {
  csr_view<Id> g;
  cutter cut;
  frontier_item<Id> const* frontier;
  std::uint64_t items;
  std::uint32_t per_team;
  std::uint32_t* visited;
  Id* parent;

  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    std::uint64_t const last = smaller(items, (i + 1) * per_team);
    for (std::uint64_t k = i * per_team; k < last; ++k) {
      frontier_item<Id> const at = frontier[k];
      run<Id> const arcs{g.targets, g.offsets[at.first], g.offsets[at.first + at.length()]};
      t.each(cut.piece(arcs, at.piece()), [&](Id u, std::uint64_t i) {
        if (t.claim(visited, u)) parent[u] = static_cast<Id>(owner_of(g.offsets, at.first, at.length(), i));
      });
    }
  }
};

// How large the next frontier is: items a word, and the sums over all of it.
struct measure_level {
  std::uint32_t const *visited, *known;
  std::uint64_t const* offsets;
  std::uint64_t words;
  cutter cut;
  std::uint32_t id_bytes;
  access_mode how;
  bool join, count_traffic;
  std::uint32_t* items_of_word;
  level_size* total;
  std::uint64_t block;  // words a team sums up before it adds them to the total

  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    level_size const mine = t.sum(indices{b * block, smaller(words, (b + 1) * block)}, [&](std::uint64_t w) {
      level_size size{};
      std::uint32_t const fresh = visited[w] & ~known[w];
      size.vertices = static_cast<std::uint64_t>(count_bits(fresh));
      each_stretch(fresh, w, offsets, join, [&](std::uint64_t, std::uint64_t, std::uint64_t begin, std::uint64_t end) {
        size.edges += end - begin;
        size.items += cut.pieces(begin, end);
        if (count_traffic) size.asked = size.asked + traffic_of_run(begin, end, id_bytes, how);
      });
      items_of_word[w] = static_cast<std::uint32_t>(size.items);
      return size;
    });
    t.once([&] {
      if (mine.vertices == 0) return;
      atomic_add(&total->vertices, mine.vertices);
      atomic_add(&total->edges, mine.edges);
      atomic_add(&total->items, mine.items);
      if (!count_traffic) return;
      for (int k = 0; k < 4; ++k)
        if (mine.asked.requests[k]) atomic_add(&total->asked.requests[k], mine.asked.requests[k]);
      atomic_add(&total->asked.useful, mine.asked.useful);
    });
  }
};

template <class Id>
struct gather_frontier {
  std::uint32_t const* visited;
  std::uint32_t* known;
  std::uint64_t const *offsets, *first_item;
  cutter cut;
  bool join;
  std::uint32_t level;
  std::uint32_t* depth;
  frontier_item<Id>* frontier;
  level_size const* total;
  level_size* seen;  // where the host reads it, so that no copy of its own is needed

  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t w) const {
    if (w == 0) *seen = *total;
    std::uint32_t const fresh = visited[w] & ~known[w];
    if (!fresh) return;
    known[w] = visited[w];
    for (std::uint32_t rest = fresh; rest; rest &= rest - 1) depth[w * 32 + static_cast<std::uint64_t>(lowest_bit(rest))] = level;
    std::uint64_t at = first_item[w];
    each_stretch(fresh, w, offsets, join, [&](std::uint64_t first, std::uint64_t length, std::uint64_t begin, std::uint64_t end) {
      std::uint32_t const pieces = cut.pieces(begin, end);
      for (std::uint32_t p = 0; p < pieces; ++p) frontier[at++] = frontier_item<Id>::of(first, length, p);
    });
  }
};

std::uint64_t words_of(std::uint64_t vertices) { return (vertices + 31) / 32; }

cutter make_cutter(graph_info const& info, bfs_options const& o) {
  bool const aligned = o.access == access_mode::aligned || o.access == access_mode::paged;
  return {o.split_hubs ? o.slice : std::uint64_t{1} << 40, aligned ? 128 / info.id_bytes : 1};
}

// A list of e elements that begins anywhere in a line is cut into at most 1 + 2 e / slice pieces (slice >= 64).
std::uint64_t most_items(graph_info const& info, bfs_options const& o) {
  return info.vertices + (o.split_hubs ? info.edges / o.slice + info.edges / o.slice : 0) + 1;
}

constexpr std::uint64_t totals = 256;  // levels counted before the counters are cleared again

}  // namespace

struct bfs_job::impl {
  graph const& g;
  bfs_options options;
  tier edges;
  traffic_model model;
  executor x;
  buffer<std::uint64_t> near_offsets;  // device only
  buffer<std::uint32_t> visited, known, depth, items_of_word;
  buffer<std::uint64_t> first_item;
  memory_block parent, frontier;
  buffer<level_size> total, seen;  // near, and its mirror on the host

  impl(graph const& graph_, bfs_options const& o)
      : g(graph_), options(o), edges(o.edges.value_or(default_tier(o.where, o.access))), model(o.access, o.l2_bytes), x(o.where, &model) {
    require_combination(o.where, edges, o.access);
    if (o.slice < 64 || o.slice % 32) fail(errc::usage, "slice {}: say a multiple of 32, 64 or more", o.slice);
    if (o.vertices_per_team == 0 || o.vertices_per_team > 1024) fail(errc::usage, "{} vertices a team: say 1 to 1024", o.vertices_per_team);
    std::uint64_t const n = g.info.vertices, words = words_of(n);
    tier const near = x.near();
    int const d = x.device();
    if (x.on_device()) {
      near_offsets = buffer<std::uint64_t>(near, n + 1, d, "offsets");
      x.copy(near_offsets.data(), g.out.offsets.data(), near_offsets.bytes());
    }
    visited = buffer<std::uint32_t>(near, words, d, "visited bitmap");
    known = buffer<std::uint32_t>(near, words, d, "visited bitmap");
    items_of_word = buffer<std::uint32_t>(near, words, d, "frontier counts");
    first_item = buffer<std::uint64_t>(near, words + 1, d, "frontier positions");
    depth = buffer<std::uint32_t>(near, n, d, "depths");
    parent = memory_block(near, n * g.info.id_bytes, d, "parents");
    frontier = memory_block(near, most_items(g.info, o) * 2 * g.info.id_bytes, d, "frontier");
    total = buffer<level_size>(near, totals, d, "counters");
    seen = buffer<level_size>(tier::host, 1, d, "counters");
  }

  std::uint64_t const* offsets() const { return x.on_device() ? near_offsets.data() : g.out.offsets.data(); }

  bool join() const { return options.join_lists.value_or(options.access == access_mode::aligned && options.vertices_per_team == 1); }

  template <class Id>
  void gather(std::uint32_t level) {
    std::uint64_t const words = visited.size();
    cutter const cut = make_cutter(g.info, options);
    if (level % totals == 0) x.fill(total.data(), 0, total.bytes());
    level_size* const slot = total.data() + level % totals;
    std::uint64_t const block = words < 65536 ? 32 : 128;
    for_each_item<32>(x, (words + block - 1) / block,
                      measure_level{visited.data(), known.data(), offsets(), words, cut, g.info.id_bytes, options.access, join(),
                                    x.on_device(), items_of_word.data(), slot, block});
    scan(x, items_of_word.data(), first_item.data(), words);
    for_each_item<1>(x, words,
                     gather_frontier<Id>{visited.data(), known.data(), offsets(), first_item.data(), cut, join(), level, depth.data(),
                                         static_cast<frontier_item<Id>*>(frontier.data()), slot, seen.data()});
    x.wait();
  }

  template <class Id>
  void look_at_arcs(std::uint64_t items) {
    expand<Id> const body{g.view<Id>(g.out, offsets()),
                          make_cutter(g.info, options),
                          static_cast<frontier_item<Id>*>(frontier.data()),
                          items,
                          options.vertices_per_team,
                          visited.data(),
                          static_cast<Id*>(parent.data())};
    std::uint64_t const n = (items + options.vertices_per_team - 1) / options.vertices_per_team;
    if (options.access == access_mode::strided) for_each_item<1>(x, n, body, options.access);
    else for_each_item<32>(x, n, body, options.access);
  }

  template <class Id>
  bfs_run run(std::uint64_t user_source) {
    using clock = std::chrono::steady_clock;
    std::uint64_t const source = g.internal_id(user_source);
    bfs_run r;
    r.source = user_source;
    x.fill(visited.data(), 0, visited.bytes());
    x.fill(known.data(), 0, known.bytes());
    x.fill(depth.data(), 0xff, depth.bytes());
    x.fill(parent.data(), 0xff, parent.bytes());
    model.take();
    x.wait();
    // Each run finds the pages at home, else a second one would measure the device's own memory.
    if (edges == tier::managed && x.on_device()) device::evict_managed(x.device(), g.out.targets.data(), g.out.targets.bytes());

    phase const timed{"bfs.levels"};
    clock::time_point const start = clock::now();
    clock::time_point before = start;
    for_each_item<32>(x, 1, start_at<Id>{static_cast<Id>(source), visited.data(), static_cast<Id*>(parent.data())});
    gather<Id>(0);
    for (std::uint32_t level = 0;; ++level) {
      level_size const size = seen[0];
      if (size.vertices == 0) break;
      check_interrupted();
      if (size.items) {
        look_at_arcs<Id>(size.items);
        gather<Id>(level + 1);
      } else {
        seen[0] = {};
      }
      clock::time_point const now = clock::now();
      traffic asked;
      if (x.on_device()) {
        asked.bytes_useful = size.asked.useful;
        for (std::size_t k = 0; k < 4; ++k) asked.requests[k] = size.asked.requests[k];
      } else {
        asked = model.take();
      }
      r.link += asked;
      r.reached += size.vertices;
      r.edges += size.edges;
      r.depth_max = level;
      r.depth_sum += level * size.vertices;
      r.levels.push_back({size.vertices, size.edges, asked.bytes_link(), std::chrono::duration<double, std::milli>(now - before).count()});
      before = now;
    }
    r.ms = std::chrono::duration<double, std::milli>(before - start).count();
    r.gteps = r.ms > 0 ? static_cast<double>(r.edges) / (g.info.directed ? 1 : 2) / r.ms / 1e6 : 0;
    static counter searched{"bfs.arcs"};
    searched.add(r.edges);
    if (options.check_certificate) {
      bfs_tree<Id> const tree{g.view<Id>(g.out, offsets()), source, depth.data(), static_cast<Id const*>(parent.data())};
      verify_bfs(x, tree, g, options.access);
      r.verified = true;
      model.take();
    }
    return r;
  }
};

bfs_job::bfs_job(graph const& g, bfs_options const& options) : impl_(std::make_unique<impl>(g, options)) {}
bfs_job::~bfs_job() = default;
bfs_job::bfs_job(bfs_job&&) noexcept = default;

bfs_run bfs_job::run(std::uint64_t source) {
  return with_id_type(impl_->g.info, [&](auto id) { return impl_->run<decltype(id)>(source); });
}

std::vector<std::uint32_t> bfs_job::depths() {
  std::vector<std::uint32_t> all(impl_->g.info.vertices);
  impl_->x.copy(all.data(), impl_->depth.data(), all.size() * sizeof all[0]);
  impl_->x.wait();
  return all;
}

std::vector<std::uint64_t> bfs_job::parents() {
  return with_id_type(impl_->g.info, [&](auto id) {
    using Id = decltype(id);
    std::vector<Id> raw(impl_->g.info.vertices);
    impl_->x.copy(raw.data(), impl_->parent.data(), raw.size() * sizeof(Id));
    impl_->x.wait();
    if constexpr (sizeof(Id) == 8) {
      return raw;
    } else {
      std::vector<std::uint64_t> all(raw.begin(), raw.end());
      for (auto& p : all)
        if (p == static_cast<Id>(~Id{0})) p = ~std::uint64_t{0};
      return all;
    }
  });
}

std::uint64_t bfs_job::state_bytes(graph_info const& info, bfs_options const& o) {
  std::uint64_t const n = info.vertices, words = words_of(n);
  std::uint64_t const offsets = o.where.kind == place_kind::device ? (n + 1) * 8 : 0;
  return offsets + words * (4 + 4 + 4 + 8) + 8 + n * (4 + info.id_bytes) + most_items(info, o) * 2 * info.id_bytes +
         (totals + 1) * sizeof(level_size);
}

std::vector<std::uint64_t> pick_sources(graph const& g, std::uint64_t count, std::uint64_t seed) {
  std::vector<std::uint64_t> sources;
  if (g.info.edges == 0) return sources;
  std::uint64_t const* const offsets = g.out.offsets.data();
  std::uint64_t const n = g.info.vertices;
  for (std::uint64_t i = 0; sources.size() < count; ++i) {
    // A vertex at random; after many misses (few vertices have edges) the owner of an arc at random.
    std::uint64_t v = static_cast<std::uint64_t>(random_bits(seed, 7, i) % n);
    if (i >= 64 * (count + 1))
      v = static_cast<std::uint64_t>(std::upper_bound(offsets, offsets + n + 1, random_bits(seed, 8, i) % g.info.edges) - offsets) - 1;
    if (offsets[v] != offsets[v + 1]) sources.push_back(g.user_id(v));
  }
  return sources;
}

}  // namespace garner
