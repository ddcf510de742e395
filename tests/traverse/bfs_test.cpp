// BFS on every device, access, id width, with and without split hubs, against the serial reference: equal depths, any valid parent.
#include "traverse/bfs.hpp"

#include <array>
#include <cstring>
#include <tuple>

#include "core/random.hpp"
#include "far/matrix.hpp"
#include "far/traffic.hpp"
#include "generated.hpp"
#include "graph/generate.hpp"
#include "simulated_runs.hpp"
#include "support.hpp"
#include "traverse/placed.hpp"
#include "traverse/verify.hpp"

namespace garner {
namespace {
using namespace garner::testing;

graph random_graph(std::uint64_t seed, bool undirected, std::uint32_t id_bytes) {
  std::uint64_t const n = 200 + random_bits(seed, 9, 0) % 1500, m = n * (1 + random_bits(seed, 9, 1) % 6) / 2;
  std::vector<arc> arcs;
  for (std::uint64_t i = 0; i < m; ++i) {
    std::uint64_t u = random_bits(seed, 0, i) % n, v = random_bits(seed, 1, i) % n;
    if (i % 3 == 0) u = 5;  // a hub
    arcs.push_back({u, v});
  }
  build_options o;
  o.id_bytes = id_bytes;
  o.keep_duplicates = seed % 2;
  o.keep_loops = seed % 3 == 0;
  return make_graph(arcs, undirected, n, o);
}

// The graph with its edges in the memory for this device, access and tier.
graph placed(graph g, bfs_asked const& o) {
  tier const t = o.edges.value_or(default_tier(o.device, o.access));
  if (o.device.kind != device_kind::cuda) return g;
  memory_block moved(t, g.out.targets.bytes(), o.device.index, "edges");
  executor x(o.device);
  x.copy(moved.data(), g.out.targets.data(), moved.bytes());
  x.wait();
  g.out.targets = std::move(moved);
  return g;
}
graph on_host_of(graph const& g, bool in = false) {  // a copy for the serial reference; for in-edges, as if they were out-edges
  edge_lists const& from = in ? g.in : g.out;
  graph copy;
  copy.info = g.info;
  copy.info.in_edges = false;
  copy.name = g.name;
  copy.out.offsets = buffer<std::uint64_t>(tier::host, from.offsets.size(), -1, "copy");
  std::copy(from.offsets.begin(), from.offsets.end(), copy.out.offsets.begin());
  copy.out.targets = memory_block(tier::host, from.targets.bytes(), -1, "copy");
  std::memcpy(copy.out.targets.data(), from.targets.data(), from.targets.bytes());
  return copy;
}

class bfs : public at_place {};

TEST_P(bfs, every_access_tier_and_id_width_against_the_serial_twin) {
  for (std::uint32_t id_bytes : {4u, 8u})
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      graph const original = random_graph(seed, seed % 2 == 0, id_bytes);
      for (std::uint32_t per_team : {1u, 8u})
        for (auto const& [split, join] : {std::pair{true, false}, {false, false}, {true, true}, {false, true}})
          for (bfs_asked o : every_access_and_tier<bfs_asked>(where())) {
            o.tuning.vertices_per_team = per_team;
            o.tuning.split_hubs = split;
            o.tuning.join_lists = join;
            o.tuning.slice = 64;
            o.verify = true;
            graph const g = placed(on_host_of(original), o);
            bfs_job job(g, o);
            SCOPED_TRACE(
                fmt::format("{} seed {} ids {} per team {} split {} join {}", to_string(o.access), seed, id_bytes, per_team, split, join));
            for (std::uint64_t source : {std::uint64_t{5}, std::uint64_t{0}, original.info.vertices - 1}) {
              bfs_run const r = job.run(source);
              ASSERT_EQ(job.depths(), serial_depths(original, source));
              EXPECT_TRUE(r.verified);
            }
          }
    }
}

TEST_P(bfs, parents_counts_and_levels) {
  bfs_asked o;
  o.device = where();
  o.variant = bfs_variant::levels;
  o.graph_cache = 0;
  o.verify = true;
  for (std::uint64_t seed : {1u, 2u}) {
    graph const original = random_graph(seed, true, 4);
    graph const g = placed(on_host_of(original), o);
    bfs_job job(g, o);
    bfs_run const r = job.run(5);
    auto const want = serial_depths(original, 5);
    auto const parent = job.parents();
    std::uint64_t reached = 0, sum = 0, edges = 0, frontier = 0;
    std::uint32_t largest = 0;
    for (std::uint64_t v = 0; v < want.size(); ++v) {
      if (want[v] == unreached) {
        EXPECT_EQ(parent[v], ~std::uint64_t{0});
        continue;
      }
      ++reached, sum += want[v], largest = std::max(largest, want[v]);
      edges += original.out.offsets[v + 1] - original.out.offsets[v];
      if (v == 5) {
        EXPECT_EQ(parent[v], v);
        continue;
      }
      ASSERT_LT(parent[v], want.size());
      EXPECT_EQ(want[parent[v]] + 1, want[v]);
      bool arc_exists = false;
      for (std::uint64_t i = original.out.offsets[parent[v]]; i < original.out.offsets[parent[v] + 1]; ++i)
        arc_exists |= target_at(original, i) == v;
      EXPECT_TRUE(arc_exists);
    }
    for (auto const& l : r.levels) frontier += l.frontier;
    EXPECT_EQ(r.reached, reached);
    EXPECT_EQ(r.depth_sum, sum);
    EXPECT_EQ(r.depth_max, largest);
    EXPECT_EQ(r.edges, edges);
    EXPECT_EQ(r.levels.size(), largest + 1u);
    EXPECT_EQ(frontier, reached);
    if (where().kind != device_kind::cpu) {
      if (counts_requests()) {
        EXPECT_EQ(r.link.bytes_useful, edges * 4);
      }
    }
  }
}

TEST_P(bfs, a_long_path_and_a_star) {
  auto o = verified<bfs_asked>(where());
  std::vector<arc> path, star;
  for (std::uint64_t v = 0; v < 700; ++v) path.push_back({v, v + 1});  // more levels than counter slots
  for (std::uint64_t v = 1; v < 5000; ++v) star.push_back({0, v});
  for (auto const& [arcs, source, depth] : {std::tuple{path, 0, 700u}, std::tuple{star, 0, 1u}, std::tuple{star, 4999, 2u}}) {
    graph const original = make_graph(arcs, true);
    graph const g = placed(on_host_of(original), o);
    bfs_job job(g, o);
    EXPECT_EQ(job.run(static_cast<std::uint64_t>(source)).depth_max, depth);
    EXPECT_EQ(job.depths(), serial_depths(original, static_cast<std::uint64_t>(source)));
  }
}

// Small levels use a queue; the search leaves it at a level with many vertices, or a long list, and returns. Vertices without
// edges lie between joined neighbors, in the frontier or not.
TEST_P(bfs, levels_of_few_vertices_through_a_queue_and_out_of_it) {
  std::vector<arc> arcs;
  std::uint64_t const side = 80, wide = 6000, grid = side * side, leaves = grid + 400;
  for (std::uint64_t v = 0; v < grid; ++v) {
    if (v % side + 1 < side) arcs.push_back({v, v + 1});
    if (v + side < grid) arcs.push_back({v, v + side});
  }
  for (std::uint64_t v = 0; v < 400; ++v) arcs.push_back({v ? grid + v - 1 : grid - 1, grid + v});  // a path from the far corner
  for (std::uint64_t k = 0; k < wide; ++k) {
    arcs.push_back({leaves - 1, leaves + k});                        // to a hub, whose leaves
    if (k % 3) arcs.push_back({leaves + k, leaves + wide + k % 7});  // lead on (most of them) to a few
  }
  std::uint64_t const last = leaves + wide + 7;
  for (std::uint64_t k = 0; k < 300; ++k) arcs.push_back({last + k - 1, last + k});
  for (std::uint64_t k = 0; k < 20000; ++k)
    arcs.push_back({last + 300 + k % 1000, last + 300 + k / 20});  // so that the rest is a small part
  for (bool const undirected : {true, false})
    for (std::uint32_t id_bytes : {4u, 8u})
      for (bfs_variant const variant : {bfs_variant::levels, bfs_variant::direction})
        for (bool const queue : {true, false}) {
          if (!undirected && variant == bfs_variant::direction) continue;
          bfs_asked o;
          o.device = where();
          o.variant = variant;
          o.tuning.queue_small = queue;
          o.graph_cache = 0;
          o.verify = true;
          build_options b;
          b.id_bytes = id_bytes;
          graph const original = make_graph(arcs, undirected, 0, b);
          graph const g = placed(on_host_of(original), o);
          bfs_job job(g, o);
          SCOPED_TRACE(fmt::format("undirected {} ids {} {} queue {}", undirected, id_bytes, to_string(variant), queue));
          for (std::uint64_t const source : {std::uint64_t{0}, leaves - 1, last + 299, leaves + 3}) {
            bfs_run const r = job.run(source);
            auto const want = serial_depths(original, source);
            ASSERT_EQ(job.depths(), want);
            EXPECT_TRUE(r.verified);
            std::vector<std::uint64_t> at(r.levels.size()), arcs_at(r.levels.size());
            for (std::uint64_t v = 0; v < want.size(); ++v) {
              if (want[v] == unreached) continue;
              ASSERT_LT(want[v], at.size());
              ++at[want[v]];
              arcs_at[want[v]] += original.out.offsets[v + 1] - original.out.offsets[v];
            }
            std::uint64_t useful = 0;
            for (std::size_t k = 0; k < at.size(); ++k) {
              EXPECT_EQ(r.levels[k].frontier, at[k]) << k;
              EXPECT_EQ(r.levels[k].edges, arcs_at[k]) << k;
              useful += arcs_at[k];
            }
            if (variant == bfs_variant::levels && where().kind != device_kind::cpu) {
              if (counts_requests()) {
                EXPECT_EQ(r.link.bytes_useful, useful * id_bytes);
              }
            }
          }
        }
}

TEST_P(bfs, small_and_empty_graphs) {
  auto o = verified<bfs_asked>(where());
  graph const none = placed(make_graph({}), o);
  bfs_job empty(none, o);
  EXPECT_NE(error_of([&] { empty.run(0); }).find("0"), std::string::npos);
  graph const one = placed(make_graph({}, false, 1), o);
  bfs_job single(one, o);
  bfs_run const r = single.run(0);
  EXPECT_EQ(r.reached, 1u);
  EXPECT_EQ(r.levels.size(), 1u);
  EXPECT_EQ(single.depths(), (std::vector<std::uint32_t>{0}));
  graph const apart = placed(make_graph({{0, 1}}, true, 40), o);
  bfs_job lonely(apart, o);
  EXPECT_EQ(lonely.run(33).reached, 1u);
  EXPECT_EQ(lonely.run(1).reached, 2u);
  EXPECT_EQ(lonely.run(33).reached, 1u);  // no state of the previous run remains
}

TEST_P(bfs, both_directions_against_the_serial_twin) {
  for (std::uint32_t id_bytes : {4u, 8u})
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      std::uint64_t const n = 3000;
      std::vector<arc> arcs;
      for (std::uint64_t i = 0; i < n * 8; ++i) arcs.push_back({random_bits(seed, 0, i) % n, i % 5 ? random_bits(seed, 1, i) % n : 7});
      build_options b;
      b.id_bytes = id_bytes;
      b.in_edges = true;
      bool const undirected = seed % 2 == 0;
      graph const original = make_graph(arcs, undirected, n, b);
      for (access_mode how : {access_mode::strided, access_mode::merged, access_mode::aligned}) {
        bfs_asked o;
        o.device = where();
        o.access = how;
        o.cached_neighbors = static_cast<std::uint32_t>(seed % 3);
        o.variant = bfs_variant::direction;
        o.verify = true;
        graph g = placed(on_host_of(original), o);
        if (!undirected) {
          graph in_side = on_host_of(original, true);
          g.in = std::move(placed(std::move(in_side), o).out);
          g.info.in_edges = true;
        }
        bfs_job job(g, o);
        bfs_run const r = job.run(7);
        EXPECT_EQ(job.depths(), serial_depths(original, 7));
        EXPECT_TRUE(std::any_of(r.levels.begin(), r.levels.end(), [](bfs_level const& l) { return l.bottom_up; }));
      }
    }
}

TEST_P(bfs, a_limit_of_depth_leaves_what_is_farther_unreached) {
  std::vector<arc> arcs;
  for (std::uint64_t i = 0; i < 400; ++i) arcs.push_back({i / 2, i + 1});  // each vertex leads to two, and at the end to a path
  for (std::uint64_t i = 400; i < 420; ++i) arcs.push_back({i, i + 1});
  graph const original = make_graph(arcs, true, 430);
  std::vector<std::uint32_t> const all = serial_depths(original, 0);
  std::uint32_t const deepest = *std::max_element(all.begin(), all.end(), [](auto a, auto b) { return a + 1 < b + 1; });
  ASSERT_GT(deepest, 3u);
  for (bfs_variant how : {bfs_variant::levels, bfs_variant::direction})
    for (std::uint32_t most : {0u, 1u, 2u, deepest - 1, deepest, deepest + 1}) {
      bfs_asked o;
      o.device = where();
      o.variant = how;
      o.verify = true;
      o.max_depth = most;
      graph const g = placed(on_host_of(original), o);
      bfs_job job(g, o);
      bfs_run const r = job.run(0);
      std::vector<std::uint32_t> want = all;
      std::uint64_t reached = 0;
      for (std::uint32_t& d : want) {
        if (d > most) d = unreached;
        reached += d != unreached;
      }
      EXPECT_EQ(job.depths(), want) << most;
      EXPECT_EQ(r.reached, reached);
      EXPECT_EQ(r.depth_max, std::min(most, deepest));
      EXPECT_EQ(r.levels.size(), r.depth_max + 1u);
    }
}

TEST_P(bfs, bottom_up_needs_in_lists) {
  bfs_asked o;
  o.device = where();
  graph const g = placed(make_graph({{0, 1}}), o);
  o.variant = bfs_variant::direction;
  EXPECT_NE(error_of([&] { bfs_job(g, o); }).find("--in-edges"), std::string::npos);
}
GARNER_AT_EVERY_PLACE(bfs);

// Tests the certificate: every way to corrupt a right result must be detected.
TEST_P(bfs, the_certificate_finds_what_is_wrong) {
  executor x(where());
  graph const original = make_graph({{0, 1}, {1, 2}, {2, 3}, {0, 4}, {4, 2}}, true, 7);
  bfs_asked o;
  o.device = where();
  graph const g = placed(on_host_of(original), o);
  auto const offsets = near_copy(x, std::vector<std::uint64_t>(original.out.offsets.begin(), original.out.offsets.end()));
  std::vector<std::uint32_t> const depth{0, 1, 2, 3, 1, ~0u, ~0u}, parent{0, 0, 1, 2, 0, ~0u, ~0u};
  auto const verdict = [&](std::vector<std::uint32_t> d, std::vector<std::uint32_t> p) -> std::string {
    auto const near_d = near_copy(x, d), near_p = near_copy(x, p);
    try {
      verify_bfs(x, bfs_tree<std::uint32_t>{g.view<std::uint32_t>(g.out, offsets.data()), 0, near_d.data(), near_p.data()}, g,
                 access_mode::aligned);
    } catch (error const& e) {
      return e.what();
    }
    return "right";
  };
  EXPECT_EQ(verdict(depth, parent), "right");
  auto const spoiled = [&](std::size_t v, std::uint32_t d, std::uint32_t p) {
    auto ds = depth;
    auto ps = parent;
    ds[v] = d;
    ps[v] = p;
    return verdict(ds, ps);
  };
  EXPECT_NE(spoiled(0, 1, 0).find("source"), std::string::npos);
  EXPECT_NE(spoiled(3, 4, 2).find("vertex 3"), std::string::npos);                       // too deep
  EXPECT_NE(spoiled(3, ~0u, ~0u).find("vertex 3"), std::string::npos);                   // reached, but reported as unreached
  EXPECT_NE(spoiled(3, 2, 1).find("no edge leads from its parent"), std::string::npos);  // parent is not a neighbor
  EXPECT_NE(spoiled(2, 2, 3).find("one level above"), std::string::npos);
  EXPECT_NE(spoiled(2, 2, 700).find("its parent is not a vertex"), std::string::npos);
  EXPECT_NE(spoiled(5, ~0u, 1).find("not reached"), std::string::npos);
  EXPECT_NE(spoiled(5, 1, 0).find("vertex 5"), std::string::npos);  // unreached, but reported as reached
}

TEST(bfs_traffic, traced_requests_are_those_of_each_level_s_lists) {
  GARNER_NEEDS_COUNTS();
  graph const g = random_graph(3, true, 4);
  bfs_asked o;
  o.device = {device_kind::simulated, 0};
  for (access_mode how : {access_mode::merged, access_mode::aligned}) {
    o.access = how;
    o.tuning.join_lists = o.tuning.split_hubs = o.tuning.queue_small = false;
    o.variant = bfs_variant::levels;
    o.graph_cache = 0;
    bfs_job job(g, o);
    bfs_run const r = job.run(5);
    auto const depth = job.depths();
    run_traffic alone{};  // each list as if no other warp were close
    for (std::uint64_t v = 0; v < depth.size(); ++v)
      if (depth[v] != unreached) alone = alone + traffic_of_run(g.out.offsets[v], g.out.offsets[v + 1], 4, how);
    traffic want;
    for (std::uint32_t level = 0; level <= r.depth_max; ++level)
      want += trace<32>(adjacency_of(g.out.offsets, depth.size(), [&](std::uint64_t v) { return depth[v] == level; }), how);
    EXPECT_EQ(r.link, want) << to_string(how);
    EXPECT_EQ(r.link.bytes_useful, alone.useful);
    EXPECT_LT(r.link.bytes_link(), alone.sectors() * 32);
    EXPECT_GT(r.link.bytes_link(), alone.sectors() * 32 / 2);
  }
}

TEST(bfs_traffic, aligned_asks_less_often_than_merged_and_strided) {
  GARNER_NEEDS_COUNTS();
  graph const g = generated(generator::kron, 12);
  bfs_asked o;
  o.device = {device_kind::simulated, 0};
  o.variant = bfs_variant::levels;
  std::uint64_t count[3];
  for (int k = 0; k < 3; ++k) {
    o.access = std::array{access_mode::strided, access_mode::merged, access_mode::aligned}[static_cast<std::size_t>(k)];
    count[k] = bfs_job(g, o).run(pick_sources(g, 1, 1)[0]).link.request_count();
  }
  EXPECT_LT(count[2], count[1]);
  EXPECT_LT(count[1], count[0]);
}

TEST(bfs_traffic, joined_lists_ask_less_and_reach_the_same) {
  GARNER_NEEDS_COUNTS();
  graph const g = generated(generator::uniform, 12);
  bfs_asked o;
  o.device = {device_kind::simulated, 0};
  o.verify = true;
  o.variant = bfs_variant::levels;
  o.graph_cache = 0;
  bfs_run const joined = bfs_job(g, o).run(1);
  o.tuning.join_lists = false;
  bfs_run const apart = bfs_job(g, o).run(1);
  EXPECT_EQ(joined.depth_sum, apart.depth_sum);
  EXPECT_EQ(joined.link.bytes_useful, apart.link.bytes_useful);
  EXPECT_LT(joined.link.request_count(), apart.link.request_count());
  EXPECT_LT(joined.link.overfetch(), 1.08);  // separately, sectors between neighbors are mostly requested once, lines are not
  EXPECT_GT(apart.link.overfetch(), joined.link.overfetch());
  EXPECT_GT(apart.link.request_count(), joined.link.request_count() * 11 / 10);
}

TEST(bfs_traffic, turning_round_asks_for_a_part_of_the_edges) {
  GARNER_NEEDS_COUNTS();
  graph const g = generated(generator::kron, 13);
  bfs_asked o;
  o.device = {device_kind::simulated, 0};
  std::uint64_t const source = pick_sources(g, 1, 1)[0];
  o.variant = bfs_variant::levels;
  o.graph_cache = 0;
  bfs_run const levels = bfs_job(g, o).run(source);
  o.variant = bfs_variant::direction;
  bfs_run const both = bfs_job(g, o).run(source);
  EXPECT_EQ(both.depth_sum, levels.depth_sum);
  EXPECT_LT(both.link.bytes_link() * 2, levels.link.bytes_link());
  o.cached_neighbors = 2;
  bfs_run const hinted = bfs_job(g, o).run(source);
  EXPECT_EQ(hinted.depth_sum, levels.depth_sum);
  EXPECT_LT(hinted.link.bytes_link() * 3, both.link.bytes_link() * 2);
}

TEST(bfs_sources, have_edges_and_follow_the_seed) {
  graph const g = make_graph({{100000, 99999}, {3, 4}}, false);
  auto const a = pick_sources(g, 20, 1), b = pick_sources(g, 20, 1), c = pick_sources(g, 20, 2);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_EQ(a.size(), 20u);
  for (auto s : a) EXPECT_TRUE(s == 3 || s == 100000);
  EXPECT_TRUE(pick_sources(make_graph({}, false, 5), 3, 1).empty());
}

TEST(bfs_options, are_checked) {
  graph const g = make_graph({{0, 1}});
  bfs_asked o;
  o.tuning.slice = 33;
  EXPECT_NE(error_of([&] { bfs_job(g, o); }).find("multiple of 32"), std::string::npos);
  o = {};
  o.tuning.vertices_per_team = 0;
  EXPECT_NE(error_of([&] { bfs_job(g, o); }), "");
  o = {};
  o.access = access_mode::paged;
  o.edges = tier::host;
  EXPECT_NE(error_of([&] { bfs_job(g, o); }).find("paged reads tier managed"), std::string::npos);
}

}  // namespace
}  // namespace garner
