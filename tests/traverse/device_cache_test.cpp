// The same results for any compression and cache size: all algorithms, uncompressed and compressed, with device budgets from nothing to
// everything, against the uncompressed graph without a cache (which each algorithm's tests compare with a serial reference).
#include <gtest/gtest.h>

#include <cmath>

#include "graph/pack.hpp"
#include "support.hpp"
#include "traverse/bfs.hpp"
#include "traverse/components.hpp"
#include "traverse/job.hpp"
#include "traverse/pagerank.hpp"
#include "traverse/sssp.hpp"
#include "traverse_support.hpp"

namespace garner {
namespace {

using namespace testing;

graph random_graph(std::uint64_t seed, std::uint32_t id_bytes, bool undirected, weight_kind kind) {
  build_options o;
  o.id_bytes = id_bytes;
  o.keep_duplicates = seed % 2;
  o.keep_loops = true;
  o.in_edges = !undirected;
  return hub_graph(seed, 3000, 9000, undirected, kind, o);
}

graph made(std::uint64_t seed, std::uint32_t id_bytes, bool undirected, weight_kind kind, bool packed, execution_device where) {
  graph g = random_graph(seed, id_bytes, undirected, kind);
  if (packed) pack(g);
  return mapped(std::move(g), where);
}

class device_cache : public at_place {
 protected:
  // f(graph, budget, access) for all that must give one result.
  template <class F>
  void each_way(bool undirected, weight_kind kind, F f) {
    for (std::uint64_t seed : {1u, 2u})
      for (std::uint32_t id_bytes : {4u, 8u})
        for (bool packed : {false, true}) {
          graph const g = made(seed, id_bytes, undirected, kind, packed, where());
          ASSERT_EQ(g.info.compressed, packed);
          for (access_mode how : {access_mode::aligned, access_mode::merged, access_mode::strided})
            for (std::uint64_t budget : {std::uint64_t{0}, std::uint64_t{6'000}, std::uint64_t{40'000}, std::uint64_t{10'000'000}}) {
              SCOPED_TRACE(fmt::format("seed {} ids {} compressed {} access {} budget {}", seed, id_bytes, packed, to_string(how), budget));
              f(g, seed, how, budget);
              if (HasFatalFailure()) return;
            }
        }
  }
  template <class Options>
  Options options(access_mode how, std::uint64_t budget, auto variant) const {
    Options o;
    o.device = where(), o.access = how, o.variant = variant, o.graph_cache = budget;
    o.tuning.slice = 64, o.verify = true;
    return o;
  }
  void shortest_paths(bool undirected, weight_kind kind);
  void fits(job_setting const& s, std::uint64_t budget) {
    std::uint64_t all = 0;
    for (cached_part const& c : s.device_cache) all += c.bytes;
    EXPECT_LE(all, where().kind == device_kind::cpu ? 0 : budget);
    if (where().kind != device_kind::cpu && budget > 1'000'000) {
      EXPECT_GT(all, 0u);
    }
  }
};

TEST_P(device_cache, bfs) {
  for (bool undirected : {true, false})
    each_way(undirected, weight_kind::none, [&](graph const& g, std::uint64_t seed, access_mode how, std::uint64_t budget) {
      std::vector<std::uint32_t> const want = serial_depths(random_graph(seed, 4, undirected, weight_kind::none), 5);
      for (bfs_variant v : {bfs_variant::levels, bfs_variant::direction, bfs_variant::emogi}) {
        bfs_job job(g, options<bfs_asked>(how, budget, v));
        EXPECT_TRUE(job.run(5).verified);
        ASSERT_EQ(job.depths(), want);
        if (v != bfs_variant::emogi) fits(job.setting(), budget);
      }
    });
}

TEST_P(device_cache, sssp) {
  for (bool undirected : {true, false})
    for (weight_kind kind : {weight_kind::u32, weight_kind::f32}) shortest_paths(undirected, kind);
}
void device_cache::shortest_paths(bool undirected, weight_kind kind) {
  each_way(undirected, kind, [&](graph const& g, std::uint64_t seed, access_mode how, std::uint64_t budget) {
    sssp_asked plain;
    graph const twin = random_graph(seed, 4, undirected, kind);
    sssp_job want(twin, plain);
    want.run(5);
    for (sssp_variant v : {sssp_variant::near_far, sssp_variant::emogi}) {
      sssp_job job(g, options<sssp_asked>(how, budget, v));
      EXPECT_TRUE(job.run(5).verified);
      if (kind == weight_kind::u32) ASSERT_EQ(job.distances(), want.distances());
      else ASSERT_EQ(job.real_distances(), want.real_distances());
      if (v != sssp_variant::emogi) fits(job.setting(), budget);
    }
  });
}

// The cache holds the shortest lists, complete, and these are not read remotely any more.
TEST(short_lists, leave_the_long_ones_far) {
  GARNER_NEEDS_COUNTS();
  graph const g = made(1, 4, true, weight_kind::u32, false, {device_kind::cpu, 0});
  std::uint64_t const* const offsets = g.out.offsets.data();
  auto const arcs_of = [&](std::uint64_t least, std::uint64_t most) {
    std::uint64_t arcs = 0;
    for (std::uint64_t v = 0; v < g.info.vertices; ++v)
      if (std::uint64_t const d = offsets[v + 1] - offsets[v]; d >= least && d <= most) arcs += d;
    return arcs;
  };
  std::uint64_t const places = ((g.info.vertices + 31) / 32 + 1) * 8;
  auto const run = [&](std::uint64_t budget) {
    sssp_asked o;
    o.device = {device_kind::simulated, 0};
    o.graph_cache = budget;
    sssp_job job(g, o);
    sssp_run const r = job.run(5);
    return std::pair(r, job.setting().device_cache);
  };
  auto const [all_far, nothing] = run(0);
  EXPECT_TRUE(nothing.empty());
  EXPECT_TRUE(run(places).second.empty());
  for (std::uint64_t most : {2u, 5u, 8u}) {
    SCOPED_TRACE(most);
    std::uint64_t const arcs = arcs_of(2, most);  // lists of one are not read
    auto const [r, kept] = run(places + arcs * 8);
    ASSERT_EQ(kept.size(), 1u);
    EXPECT_EQ(kept[0].bytes, places + arcs * 8);
    EXPECT_EQ(kept[0].what, fmt::format("{} edges of lists of up to {}", arcs, most));
    EXPECT_EQ(r.distance_sum, all_far.distance_sum);
    EXPECT_EQ(r.edges, all_far.edges);
    EXPECT_EQ(all_far.link.bytes_useful - r.link.bytes_useful >= arcs_of(2, most) * 6, true);  // most of them are reached
    auto const [more, one_more] = run(places + (arcs + 3 * (most + 1)) * 8 + 7);
    EXPECT_EQ(one_more[0].bytes, places + (arcs + 3 * (most + 1)) * 8);
    EXPECT_LT(more.link.bytes_useful, r.link.bytes_useful);
  }
  EXPECT_EQ(run(1u << 30).first.link.bytes_useful, 0u);
}

TEST_P(device_cache, components) {
  for (bool undirected : {true, false})
    each_way(undirected, weight_kind::none, [&](graph const& g, std::uint64_t seed, access_mode how, std::uint64_t budget) {
      graph const twin = random_graph(seed, 4, undirected, weight_kind::none);
      components_asked plain;
      plain.variant = components_variant::emogi;
      components_job want(twin, plain);
      want.run();
      for (components_variant v : {components_variant::afforest, components_variant::emogi}) {
        components_job job(g, options<components_asked>(how, budget, v));
        EXPECT_TRUE(job.run().verified);
        ASSERT_EQ(job.labels(), want.labels());
        if (v != components_variant::emogi) fits(job.setting(), budget);
      }
    });
}

TEST_P(device_cache, pagerank) {
  for (bool undirected : {true, false})
    each_way(undirected, weight_kind::none, [&](graph const& g, std::uint64_t seed, access_mode how, std::uint64_t budget) {
      graph const twin = random_graph(seed, 4, undirected, weight_kind::none);
      for (pagerank_variant v : {pagerank_variant::pull, pagerank_variant::emogi}) {
        pagerank_asked o;
        o.variant = v;
        if (v == pagerank_variant::pull) o.iterations = 8;
        pagerank_job plain(twin, o);
        plain.run();
        std::vector<float> const want = plain.ranks();
        o.device = where();
        o.access = how;
        o.graph_cache = budget;
        o.verify = true;
        pagerank_job job(g, o);
        ASSERT_NO_THROW(EXPECT_TRUE(job.run().verified)) << "variant " << static_cast<int>(v);
        std::vector<float> const got = job.ranks();
        double l1 = 0, all = 0;
        for (std::size_t k = 0; k < want.size(); ++k) l1 += std::abs(got[k] - want[k]), all += want[k];
        ASSERT_LE(l1 / all, v == pagerank_variant::pull ? 1e-5 : 2e-3);
        if (v != pagerank_variant::emogi) fits(job.setting(), budget);
      }
    });
}

GARNER_AT_EVERY_PLACE(device_cache);

}  // namespace
}  // namespace garner
