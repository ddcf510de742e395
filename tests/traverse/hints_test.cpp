// Hints: which they are, and that BFS asks them both ways.
#include "traverse/hints.hpp"

#include <cstring>

#include "graph/generate.hpp"
#include "graph/pack.hpp"
#include "support.hpp"
#include "traverse/bfs.hpp"

namespace garner {
namespace {
using namespace garner::testing;

graph generated(generator kind, int scale, std::uint32_t id_bytes = 4) {
  generate_options o;
  o.kind = kind;
  o.scale = scale;
  o.build.id_bytes = id_bytes;
  build_report report;
  executor here({place_kind::host, 0});
  return generate(here, o, report);
}
// Host memory that the device of `where` reads.
template <class Memory>
void map(Memory& from, place where) {
  if (where.kind != place_kind::device || !from.bytes()) return;
  Memory to;
  if constexpr (std::is_same_v<Memory, memory_block>) to = memory_block(tier::host, from.bytes(), where.index, "edges");
  else to = Memory(tier::host, from.size(), where.index, "edges");
  std::memcpy(to.data(), from.data(), from.bytes());
  from = std::move(to);
}
void map(graph& g, place where) {
  map(g.out.targets, where);
  map(g.out.packed_targets.words, where);
  map(g.out.packed_targets.blocks, where);
  map(g.out.packed_targets.groups, where);
}

// What a bottom-up level has to ask far memory for, counted the plain way.
struct asked {
  std::uint64_t open = 0, sectors = 0;
};
asked twin(graph const& g, std::vector<std::uint32_t> const& depth, std::uint32_t level, bool push) {
  std::uint64_t const n = g.info.vertices, h = g.hints_per_vertex;
  auto const in_frontier = [&](std::uint64_t v) { return depth[v] == level; };
  std::vector<bool> open(n);
  for (std::uint64_t v = 0; v < n; ++v) {
    std::uint64_t const degree = g.out.offsets[v + 1] - g.out.offsets[v];
    open[v] = depth[v] > level && degree > h;
    for (std::uint64_t k = 0; k < std::min(h, degree); ++k)
      if (in_frontier(g.hints[v * h + k])) open[v] = false;
  }
  for (std::uint64_t v = 0; push && v < n; ++v)
    for (std::uint64_t k = 0; k < h && in_frontier(v); ++k)
      if (g.hints[v * h + k] != ~0u) open[g.hints[v * h + k]] = false;
  asked all;
  for (std::uint64_t v = 0; v < n; ++v) {
    if (!open[v]) continue;
    ++all.open;
    for (std::uint64_t i = g.out.offsets[v], end = g.out.offsets[v + 1]; i < end;) {
      std::uint64_t const sector_ends = std::min(end, i / 8 * 8 + 8);
      bool hit = false;
      for (; i < sector_ends; ++i) hit |= in_frontier(target_at(g, i));
      ++all.sectors;
      if (hit) break;
    }
  }
  return all;
}

class hints_at : public at_place {};
GARNER_AT_EVERY_PLACE(hints_at);

TEST_P(hints_at, depths_are_exact_asked_both_ways) {
  for (generator kind : {generator::uniform, generator::kron})
    for (std::uint32_t id_bytes : {4u, 8u})
      for (bool packed : {false, true}) {
        if (packed && id_bytes == 8) continue;  // packing makes them 4
        SCOPED_TRACE(fmt::format("{} ids {} packed {}", to_string(kind), id_bytes, packed));
        graph g = generated(kind, 16, id_bytes);
        std::uint64_t const source = pick_sources(g, 1, 3)[0];
        auto const want = serial_depths(g, source);
        if (packed) pack(g);
        map(g, where());
        bfs_options o;
        o.where = where();
        o.variant = bfs_variant::direction;
        o.check_certificate = true;
        for (std::uint32_t h : {1u, 3u}) {
          o.hints = h;
          bfs_job job(g, o);
          bfs_run const r = job.run(source);
          EXPECT_TRUE(r.verified);  // parents are neighbours
          ASSERT_EQ(job.depths(), want);
          EXPECT_TRUE(std::any_of(r.levels.begin(), r.levels.end(), [](bfs_level const& l) { return l.bottom_up; }));
        }
      }
}

// Without the push a traced run asks for more than half as much again.
TEST(hints, asked_both_ways_leave_what_the_twin_says) {
  graph g = generated(generator::uniform, 16);
  keep_hints(g, {place_kind::host, 0}, 3);
  bfs_options o;
  o.where = {place_kind::traced, 0};
  o.variant = bfs_variant::direction;
  o.hints = 3;
  bfs_job job(g, o);
  bfs_run const r = job.run(pick_sources(g, 1, 3)[0]);
  auto const depth = job.depths();
  auto const turn = std::find_if(r.levels.begin(), r.levels.end(), [](bfs_level const& l) { return l.bottom_up; });
  ASSERT_NE(turn, r.levels.end());
  auto const level = static_cast<std::uint32_t>(turn - r.levels.begin());
  asked const pulled = twin(g, depth, level, false), both = twin(g, depth, level, true);
  ASSERT_GT(pulled.open, 5000u);  // else nothing is pushed
  EXPECT_GT(pulled.sectors * 2, both.sectors * 3);
  double const seen = static_cast<double>(turn->bytes_link) / 32, want = static_cast<double>(both.sectors);
  EXPECT_NEAR(seen, want, want * 0.05);  // lists that share a sector
}

TEST(hints, are_the_best_where_there_are_hubs) {
  graph g = generated(generator::kron, 10);
  keep_hints(g, {place_kind::host, 0}, 2);
  auto const degree = [&](std::uint64_t v) { return g.out.offsets[v + 1] - g.out.offsets[v]; };
  for (std::uint64_t v = 0; v < g.info.vertices; ++v) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> all;  // larger is better
    for (std::uint64_t i = g.out.offsets[v]; i < g.out.offsets[v + 1]; ++i)
      all.emplace_back(degree(target_at(g, i)), ~std::uint64_t{0} - target_at(g, i));
    std::sort(all.rbegin(), all.rend());
    for (std::uint64_t k = 0; k < 2; ++k) {
      ASSERT_EQ(g.hints[v * 2 + k], k < all.size() ? static_cast<std::uint32_t>(~std::uint64_t{0} - all[k].second) : ~0u);
    }
  }
}

TEST(hints, are_spread_where_there_are_none) {
  graph g = generated(generator::uniform, 12);
  keep_hints(g, {place_kind::host, 0}, 3);
  std::vector<std::uint32_t> named(g.info.vertices);
  std::uint64_t mutual = 0, all = 0;
  for (std::uint64_t v = 0; v < g.info.vertices; ++v)
    for (std::uint64_t k = 0; k < 3; ++k) {
      std::uint32_t const u = g.hints[v * 3 + k];
      if (u == ~0u) continue;
      auto const* const list = static_cast<std::uint32_t const*>(g.out.targets.data());
      ASSERT_TRUE(std::binary_search(list + g.out.offsets[v], list + g.out.offsets[v + 1], u));
      ++named[u], ++all;
      for (std::uint64_t j = 0; j < 3; ++j) mutual += g.hints[u * 3 + j] == v;
    }
  auto const unnamed = static_cast<std::uint64_t>(std::count(named.begin(), named.end(), 0u));
  EXPECT_LT(unnamed * 10, g.info.vertices);  // e^-3; the best of each would leave nine of ten out
  EXPECT_LT(mutual * 100, all);
}

}  // namespace
}  // namespace garner
