// Cached neighbors: their selection, and their use by BFS in both directions.
#include "traverse/cached_neighbors.hpp"

#include <cstring>

#include "generated.hpp"
#include "graph/generate.hpp"
#include "graph/pack.hpp"
#include "support.hpp"
#include "traverse/bfs.hpp"
#include "traverse/components.hpp"

namespace garner {
namespace {
using namespace garner::testing;

// Host memory that the device of `where` reads.
template <class Memory>
void map(Memory& from, execution_device where) {
  if (where.kind != device_kind::cuda || !from.bytes()) return;
  Memory to;
  if constexpr (std::is_same_v<Memory, memory_block>) to = memory_block(tier::host, from.bytes(), where.index, "edges");
  else to = Memory(tier::host, from.size(), where.index, "edges");
  std::memcpy(to.data(), from.data(), from.bytes());
  from = std::move(to);
}
void map(graph& g, execution_device where) {
  map(g.out.targets, where);
  map(g.out.packed_targets.words, where);
  map(g.out.packed_targets.blocks, where);
  map(g.out.packed_targets.groups, where);
}

// The remote reads of a bottom-up level, counted by simple code.
struct asked {
  std::uint64_t open = 0, sectors = 0;
};
asked twin(graph const& g, std::vector<std::uint32_t> const& depth, std::uint32_t level, bool push, std::uint32_t sectors_at_once = 1) {
  std::uint64_t const n = g.info.vertices;
  cached_neighbors_view const cached_neighbors(g.cached_neighbors.data(), n, g.cached_per_vertex);
  auto const in_frontier = [&](std::uint64_t v) { return depth[v] == level; };
  std::vector<bool> open(n);
  for (std::uint64_t v = 0; v < n; ++v) {
    std::uint64_t const degree = g.out.offsets[v + 1] - g.out.offsets[v];
    std::uint64_t asked = 0;
    bool answered = false;
    for (std::uint32_t k = 0; k < cached_neighbors.per_vertex; ++k)
      if (std::uint32_t const u = cached_neighbors.at(v, k); u != cached_neighbors_view::none) answered |= in_frontier(u), ++asked;
    open[v] = depth[v] > level && degree > asked && !answered;
  }
  for (std::uint64_t v = 0; push && v < n; ++v)
    for (std::uint32_t k = 0; k < cached_neighbors.per_vertex && in_frontier(v); ++k)
      if (cached_neighbors.at(v, k) != cached_neighbors_view::none) open[cached_neighbors.at(v, k)] = false;
  asked all;
  for (std::uint64_t v = 0; v < n; ++v) {
    if (!open[v]) continue;
    ++all.open;
    for (std::uint64_t i = g.out.offsets[v], end = g.out.offsets[v + 1]; i < end;) {
      std::uint64_t const step = 8 * sectors_at_once, step_ends = std::min(end, i / step * step + step);
      bool hit = false;
      all.sectors += (step_ends + 7) / 8 - i / 8;
      for (; i < step_ends; ++i) hit |= in_frontier(target_at(g, i));
      if (hit) break;
    }
  }
  return all;
}

class cached_neighbors_at : public at_place {};
GARNER_AT_EVERY_PLACE(cached_neighbors_at);

TEST_P(cached_neighbors_at, depths_are_exact_asked_both_ways) {
  for (generator kind : {generator::uniform, generator::kron})
    for (std::uint32_t id_bytes : {4u, 8u})
      for (bool packed : {false, true}) {
        if (packed && id_bytes == 8) continue;  // compression makes them 4
        SCOPED_TRACE(fmt::format("{} ids {} packed {}", to_string(kind), id_bytes, packed));
        graph g = generated(kind, 16, id_bytes);
        std::uint64_t const source = pick_sources(g, 1, 3)[0];
        auto const want = serial_depths(g, source);
        if (packed) pack(g);
        map(g, where());
        bfs_asked o;
        o.device = where();
        o.variant = bfs_variant::direction;
        o.verify = true;
        for (std::uint32_t h : {1u, 3u, 4u}) {
          o.cached_neighbors = h;
          bfs_job job(g, o);
          bfs_run const r = job.run(source);
          EXPECT_TRUE(r.verified);  // parents are neighbours
          ASSERT_EQ(job.depths(), want);
          EXPECT_TRUE(std::any_of(r.levels.begin(), r.levels.end(), [](bfs_level const& l) { return l.bottom_up; }));
        }
      }
}

TEST_P(cached_neighbors_at, of_the_file_serve_components) {
  for (std::uint32_t id_bytes : {4u, 8u})
    for (std::uint32_t h : {1u, 2u, 4u}) {
      SCOPED_TRACE(fmt::format("{} ids {}", h, id_bytes));
      graph g = generated(generator::uniform, 12, id_bytes);
      components_asked o;
      keep_cached_neighbors(g, {device_kind::cpu, 0}, h);
      map(g, where());
      o.device = where();
      o.graph_cache = cached_neighbor_bytes(g.info, h);
      o.verify = true;
      components_job job(g, o);
      components_run const r = job.run();
      EXPECT_TRUE(r.verified);
      if (where().kind == device_kind::cpu) continue;  // without remote memory
      ASSERT_EQ(job.setting().device_cache.size(), 1u);
      EXPECT_NE(job.setting().device_cache[0].what.find("from the file"), std::string::npos) << job.setting().device_cache[0].what;
    }
}

// Without the push, a simulated run requests more than half as much again.
TEST(cached_neighbors, asked_both_ways_leave_what_the_twin_says) {
  GARNER_NEEDS_COUNTS();
  for (std::uint32_t h : {3u, 4u}) {
    SCOPED_TRACE(h);
    graph g = generated(generator::uniform, 17);
    keep_cached_neighbors(g, {device_kind::cpu, 0}, h);
    bfs_asked o;
    o.device = {device_kind::simulated, 0};
    o.variant = bfs_variant::direction;
    o.cached_neighbors = h;
    bfs_job job(g, o);
    bfs_run const r = job.run(pick_sources(g, 1, 3)[0]);
    auto const depth = job.depths();
    auto const turn = std::find_if(r.levels.begin(), r.levels.end(), [](bfs_level const& l) { return l.bottom_up; });
    ASSERT_NE(turn, r.levels.end());
    auto const level = static_cast<std::uint32_t>(turn - r.levels.begin());
    std::uint64_t unexplored = g.info.edges;
    for (std::uint32_t l = 0; l < level; ++l) unexplored -= r.levels[l].edges;
    double const p = static_cast<double>(turn->edges) / static_cast<double>(unexplored);
    std::uint32_t const at_once = bfs_turns::sectors_at_once(p, 4, false);
    asked const pulled = twin(g, depth, level, false, at_once), both = twin(g, depth, level, true, at_once);
    ASSERT_GT(pulled.open, 5000u);  // else the push is unused
    EXPECT_GT(pulled.sectors * 2, both.sectors * 3);
    double const seen = static_cast<double>(turn->bytes_link) / 32, want = static_cast<double>(both.sectors);
    EXPECT_NEAR(seen, want, want * 0.05);  // lists that share a sector
  }
}

TEST(cached_neighbors, are_the_best_where_there_are_hubs) {
  graph g = generated(generator::kron, 10);
  keep_cached_neighbors(g, {device_kind::cpu, 0}, 2);
  auto const degree = [&](std::uint64_t v) { return g.out.offsets[v + 1] - g.out.offsets[v]; };
  for (std::uint64_t v = 0; v < g.info.vertices; ++v) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> all;  // larger is better
    for (std::uint64_t i = g.out.offsets[v]; i < g.out.offsets[v + 1]; ++i)
      all.emplace_back(degree(target_at(g, i)), ~std::uint64_t{0} - target_at(g, i));
    std::sort(all.rbegin(), all.rend());
    for (std::uint64_t k = 0; k < 2; ++k) {
      ASSERT_EQ(g.cached_neighbors[v * 2 + k], k < all.size() ? static_cast<std::uint32_t>(~std::uint64_t{0} - all[k].second) : ~0u);
    }
  }
}

TEST(cached_neighbors, four_are_the_best_of_each_class) {
  for (int scale : {8, 10}) {
    graph g = generated(generator::kron, scale);
    std::uint64_t const n = g.info.vertices;
    keep_cached_neighbors(g, {device_kind::cpu, 0}, 4);
    ASSERT_EQ(g.cached_neighbors.bytes(), n * 12);
    cached_neighbors_view const cached_neighbors(g.cached_neighbors.data(), n, 4);
    auto const degree = [&](std::uint64_t v) { return g.out.offsets[v + 1] - g.out.offsets[v]; };
    for (std::uint64_t v = 0; v < n; ++v) {
      std::vector<std::uint32_t> best(4, cached_neighbors_view::none);
      for (std::uint64_t i = g.out.offsets[v]; i < g.out.offsets[v + 1]; ++i) {
        auto const u = static_cast<std::uint32_t>(target_at(g, i));
        std::uint32_t& b = best[u % 4];
        if (b == cached_neighbors_view::none || degree(u) > degree(b) || (degree(u) == degree(b) && u < b)) b = u;
      }
      for (std::uint32_t k = 0; k < 4; ++k) ASSERT_EQ(cached_neighbors.at(v, k), best[k]) << v << ' ' << k;
    }
  }
}

TEST(cached_neighbors, are_three_beside_hubs_and_four_elsewhere) {
  for (generator kind : {generator::uniform, generator::kron}) {
    graph g = generated(kind, 12);
    bfs_asked o;
    o.device = {device_kind::simulated, 0};
    o.variant = bfs_variant::direction;
    o.graph_cache = g.info.vertices * 12;
    EXPECT_EQ(bfs_job(g, o).cached_neighbors(), kind == generator::kron ? 3u : 4u);
    o.cached_neighbors = 4;
    EXPECT_EQ(bfs_job(g, o).cached_neighbors(), 4u);
    o.cached_neighbors.reset();
    keep_cached_neighbors(g, {device_kind::cpu, 0}, 4);
    EXPECT_EQ(bfs_job(g, o).cached_neighbors(), 4u);  // they exist
    *o.graph_cache -= 1;
    EXPECT_EQ(bfs_job(g, o).cached_neighbors(), 2u);
  }
}

// Number and selection: both depend on the degrees, which are scanned once per search.
TEST(cached_neighbors, ask_once_whether_degrees_are_alike) {
  for (generator kind : {generator::uniform, generator::kron}) {
    graph const g = generated(kind, 10);
    bfs_asked o;
    o.device = {device_kind::simulated, 0};
    o.variant = bfs_variant::direction;
    o.graph_cache = g.info.vertices * 12;
    auto const passes = [] {
      std::uint64_t times = 0;
      for (phase_total const& p : phase_totals()) times += p.name == "cached neighbors.degrees" ? p.times : 0;
      return times;
    };
    std::uint64_t const before = passes();
    bfs_job(g, o).cached_neighbors();
    EXPECT_EQ(passes(), before + 1);
  }
}

TEST(cached_neighbors, of_four_take_twelve_bytes_up_to_26_bits) {
  EXPECT_EQ(cached_neighbors_view::words_of(std::uint64_t{1} << 26, 4), std::uint64_t{3} << 26);
  EXPECT_EQ(cached_neighbors_view::words_of((std::uint64_t{1} << 26) + 1, 4), ((std::uint64_t{1} << 26) + 1) * 4);
  EXPECT_EQ(cached_neighbors_view::words_of(std::uint64_t{1} << 26, 3), std::uint64_t{3} << 26);
  std::uint32_t const words[] = {0xfe'ffffffu, 0x0001'ffffu, 0x000002'00u};  // missing, all but one missing, 0x100, 2
  cached_neighbors_view const top(words, std::uint64_t{1} << 26, 4);
  EXPECT_EQ(top.at(0, 0), cached_neighbors_view::none);
  EXPECT_EQ(top.at(0, 1), (1u << 26) - 8 + 1);
  EXPECT_EQ(top.at(0, 2), 0x1u * 4 + 2);
  EXPECT_EQ(top.at(0, 3), 2u * 4 + 3);
}

TEST(cached_neighbors, are_spread_where_there_are_none) {
  graph g = generated(generator::uniform, 12);
  keep_cached_neighbors(g, {device_kind::cpu, 0}, 3);
  std::vector<std::uint32_t> named(g.info.vertices);
  std::uint64_t mutual = 0, all = 0;
  for (std::uint64_t v = 0; v < g.info.vertices; ++v)
    for (std::uint64_t k = 0; k < 3; ++k) {
      std::uint32_t const u = g.cached_neighbors[v * 3 + k];
      if (u == ~0u) continue;
      auto const* const list = static_cast<std::uint32_t const*>(g.out.targets.data());
      ASSERT_TRUE(std::binary_search(list + g.out.offsets[v], list + g.out.offsets[v + 1], u));
      ++named[u], ++all;
      for (std::uint64_t j = 0; j < 3; ++j) mutual += g.cached_neighbors[u * 3 + j] == v;
    }
  auto const unnamed = static_cast<std::uint64_t>(std::count(named.begin(), named.end(), 0u));
  EXPECT_LT(unnamed * 10, g.info.vertices);  // e^-3; the best of each would leave out nine of ten
  EXPECT_LT(mutual * 100, all);
}

}  // namespace
}  // namespace garner
