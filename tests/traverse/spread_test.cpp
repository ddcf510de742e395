// BFS, components and PageRank over 1 to 8 shards, on every device, compressed or not, directed and undirected: the results of one
// device (PageRank bit for bit), which other tests compare with serial references; rejected options, and failures of shards.
#include "traverse/spread.hpp"

#include "core/random.hpp"
#include "graph/handle.hpp"
#include "graph/pack.hpp"
#include "memory/budget.hpp"
#include "support.hpp"
#include "traverse/bfs.hpp"
#include "traverse/components.hpp"
#include "traverse/pagerank.hpp"
#include "traverse/plan.hpp"
#include "traverse_support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

class spread : public at_place {};
constexpr std::uint32_t counts[] = {1, 2, 3, 5, 8};

std::vector<execution_device> shards_at(execution_device where, std::uint32_t n) { return std::vector<execution_device>(n, where); }

// Some edges are long, others short, so that pairs of parts share many or few edges; a hub in the middle; many small components at
// the end, which also cross boundaries.
graph sample_graph(std::uint64_t seed, bool undirected, bool packs, std::uint32_t id_bytes = 4, std::uint64_t n = 20'000) {
  std::vector<arc> arcs;
  for (std::uint64_t i = 0; i < n * 2; ++i) {
    std::uint64_t u = random_bits(seed, 0, i) % (n / 2), v = random_bits(seed, 1, i) % (n / 2);
    if (i % 5 == 0) u = n / 4 + 3;
    if (i % 3 == 0) v = (u + 1 + v % 40) % (n / 2);
    arcs.push_back({u, v});
  }
  for (std::uint64_t v = n / 2; v + 1 < n; ++v)  // paths, and chains that jump between distant parts
    if (random_bits(seed, 2, v) % 4) arcs.push_back(v % 2 ? arc{v, n / 2 + (v * 7919) % (n / 2)} : arc{v + 1, v});
  build_options o;
  o.id_bytes = id_bytes, o.in_edges = !undirected;
  graph g = make_graph(arcs, undirected, n, o);
  if (packs) pack(g);
  g.name = "sample";
  return g;
}
// Readable by the device, in host memory.
graph readable(graph g, execution_device where) {
  if (where.kind != device_kind::cuda) return g;
  auto const map = [&](memory_block& of) {
    if (!of.bytes()) return;
    memory_block mapped(tier::host, of.bytes(), where.index, "edges");
    std::memcpy(mapped.data(), of.data(), of.bytes());
    of = std::move(mapped);
  };
  for (edge_lists* lists : {&g.out, &g.in}) map(lists->targets), map(lists->packed_targets.words);
  return g;
}
std::vector<tier> tiers_at(execution_device where) {
  return where.kind == device_kind::cuda ? std::vector{tier::host, tier::device} : std::vector{tier::host};
}

template <class F>
void each_case(execution_device where, F const& f) {
  for (bool undirected : {true, false})
    for (bool packs : {false, true})
      for (std::uint32_t id_bytes : {4u, 8u}) {
        if (packs && id_bytes == 8) continue;
        graph const g = readable(sample_graph(3 + packs, undirected, packs, id_bytes), where);
        for (tier const t : tiers_at(where))
          for (std::uint32_t const n : counts) {
            SCOPED_TRACE(fmt::format("{} compressed {} ids {} tier {} shards {}", undirected ? "undirected" : "directed", packs, id_bytes,
                                     to_string(t), n));
            f(g, t, n);
          }
      }
}

TEST_P(spread, searches_are_those_of_one_place) {
  each_case(where(), [&](graph const& g, tier t, std::uint32_t n) {
    for (bfs_variant const variant : {bfs_variant::levels, bfs_variant::direction})
      for (access_mode const how : {access_mode::aligned, access_mode::merged, access_mode::strided}) {
        if (how != access_mode::aligned && n != 3) continue;
        bfs_asked o;
        o.variant = variant, o.access = how, o.verify = true, o.edges = t;
        o.devices = shards_at(where(), n);
        bfs_job job(g, o);
        o.devices.clear(), o.device = where(), o.edges = tier::host;
        bfs_job one(g, o);
        for (std::uint64_t const source : {std::uint64_t{5003}, g.info.vertices - 1}) {
          bfs_run const r = job.run(source), want = one.run(source);
          ASSERT_EQ(job.depths(), one.depths());
          EXPECT_TRUE(r.verified);
          EXPECT_EQ(r.reached, want.reached);
          EXPECT_EQ(r.edges, want.edges);
          EXPECT_EQ(r.depth_max, want.depth_max);
          EXPECT_EQ(r.depth_sum, want.depth_sum);
          ASSERT_EQ(r.levels.size(), want.levels.size());
          for (std::size_t k = 0; k < r.levels.size(); ++k) EXPECT_EQ(r.levels[k].frontier, want.levels[k].frontier);
          ASSERT_EQ(r.shards.size(), n > 1 ? n : 0);
          std::uint64_t vertices = 0, edges = 0, exchanged = 0;
          for (shard_run const& s : r.shards) vertices += s.part.vertices, edges += s.part.edges, exchanged += s.bytes_exchanged;
          if (n > 1) {
            EXPECT_EQ(vertices, g.info.vertices);
            EXPECT_EQ(edges, g.info.edges);
            EXPECT_GT(exchanged, 0u);
          }
        }
      }
  });
}

TEST_P(spread, parents_are_those_of_shortest_paths_and_nothing_is_stale_after_another_search) {
  graph const g = readable(sample_graph(7, true, false), where());
  bfs_asked o;
  o.devices = shards_at(where(), 4), o.verify = true;
  bfs_job job(g, o);
  for (std::uint64_t const source : {std::uint64_t{1}, std::uint64_t{15'000}, std::uint64_t{1}}) {
    job.run(source);
    auto const depth = job.depths();
    auto const parent = job.parents();
    ASSERT_EQ(parent[source], source);
    for (std::uint64_t v = 0; v < depth.size(); ++v) {
      if (depth[v] == unreached) {
        ASSERT_EQ(parent[v], ~std::uint64_t{0});
      } else if (v != source) {
        ASSERT_EQ(depth[parent[v]] + 1, depth[v]);
      }
    }
  }
}

TEST_P(spread, components_are_those_of_one_place) {
  each_case(where(), [&](graph const& g, tier t, std::uint32_t n) {
    for (std::uint32_t const first : {2u, 0u})
      for (auto const budget : {std::optional<std::uint64_t>{}, std::optional<std::uint64_t>{0}, std::optional<std::uint64_t>{1u << 20}}) {
        if ((first == 0 || budget != std::uint64_t{1u << 20}) && n != 3) continue;
        components_asked o;
        o.first_neighbors = first, o.verify = true, o.edges = t, o.graph_cache = budget;
        o.devices = shards_at(where(), n);
        components_job job(g, o);
        o.devices.clear(), o.device = where(), o.edges = tier::host;
        components_job one(g, o);
        components_run const want = one.run();
        for (int again = 0; again < (n == 3 ? 2 : 1); ++again) {
          components_run const r = job.run();
          ASSERT_EQ(job.labels(), one.labels());
          EXPECT_TRUE(r.verified);
          EXPECT_EQ(r.components, want.components);
          EXPECT_EQ(r.largest, want.largest);
          EXPECT_EQ(r.shards.size(), n > 1 ? n : 0);
        }
      }
  });
}

// Every edge crosses two parts: chains of links that go back and forth are exchanged between shards.
TEST_P(spread, components_that_no_part_sees_alone) {
  std::uint64_t const n = 4096;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<arc> arcs;
    for (std::uint64_t i = 0; i < n / 2 + seed * 40; ++i) {
      std::uint64_t const u = random_bits(seed, 0, i) % (n / 2), v = random_bits(seed, 1, i) % (n / 2);
      arcs.push_back(i % 2 ? arc{u, n / 2 + v} : arc{n / 2 + v, u});
    }
    for (bool undirected : {true, false}) {
      graph const g = readable(make_graph(arcs, undirected, n), where());
      components_asked o;
      o.verify = true;
      o.device = where();
      components_job one(g, o);
      components_run const want = one.run();
      o.devices = shards_at(where(), 2 + static_cast<std::uint32_t>(seed % 7));
      components_job job(g, o);
      EXPECT_EQ(job.run().components, want.components);
      ASSERT_EQ(job.labels(), one.labels()) << seed;
    }
  }
}

TEST_P(spread, ranks_are_the_bits_of_one_place) {
  each_case(where(), [&](graph const& g, tier t, std::uint32_t n) {
    for (bool personal : {false, true})
      for (access_mode const how : {access_mode::aligned, access_mode::strided}) {
        if (how != access_mode::aligned && n != 3) continue;
        pagerank_asked o;
        o.verify = true, o.edges = t, o.access = how;
        if (personal) o.personalization = {{3, 1.0}, {19'999, 2.5}}, o.dangling = dangling_mass::drop, o.iterations = 6;
        o.devices = shards_at(where(), n);
        pagerank_job job(g, o);
        o.devices.clear(), o.device = where(), o.edges = tier::host;
        pagerank_job one(g, o);
        pagerank_run const want = one.run(), r = job.run();
        EXPECT_TRUE(r.verified);
        ASSERT_EQ(job.ranks(), one.ranks());
        EXPECT_EQ(r.iterations, want.iterations);
        EXPECT_EQ(r.rank_sum, want.rank_sum);
        EXPECT_EQ(r.l1_change, want.l1_change);
        EXPECT_EQ(r.edges, want.edges);
        job.run();
        ASSERT_EQ(job.ranks(), one.ranks());
      }
  });
}
GARNER_AT_EVERY_PLACE(spread);

// Two devices, each with its own copy of the shared state.
TEST(spread_devices, two_give_what_one_gives) {
  if (device::count() < 2) GTEST_SKIP() << "needs two GPUs";
  if (!device::peer_of(0, 1).can || !device::peer_of(1, 0).can) GTEST_SKIP() << "needs peer access between them";
  std::vector<execution_device> const both = {{device_kind::cuda, 0}, {device_kind::cuda, 1}};
  for (bool packs : {false, true}) {
    graph const g = readable(sample_graph(9, true, packs, 4, 300'000), both[0]);
    for (tier const t : {tier::host, tier::device}) {
      bfs_asked b;
      b.devices = both, b.edges = t, b.verify = true;
      bfs_job search(g, b);
      for (std::uint64_t const source : {1u, 75'003u, 200'000u}) EXPECT_TRUE(search.run(source).verified);
      components_asked c;
      c.devices = both, c.edges = t, c.verify = true;
      EXPECT_TRUE(components_job(g, c).run().verified);
      pagerank_asked p;
      p.device = both[0], p.iterations = 5;
      pagerank_job one(g, p);
      one.run();
      p.devices = both, p.edges = t, p.verify = true;
      pagerank_job two(g, p);
      EXPECT_TRUE(two.run().verified);
      EXPECT_EQ(two.ranks(), one.ranks());
    }
  }
}

// On a simulated device each list crosses the link once, whichever shard reads it.
TEST(spread_traffic, shards_read_their_own_lists_and_no_more) {
  GARNER_NEEDS_COUNTS();
  graph const g = sample_graph(5, true, false);
  execution_device const where{device_kind::simulated, 0};
  pagerank_asked o;
  o.device = where, o.iterations = 3, o.graph_cache = 0;
  traffic const one = pagerank_job(g, o).run().link;
  o.devices = shards_at(where, 3);
  pagerank_run const r = pagerank_job(g, o).run();
  EXPECT_EQ(r.link.bytes_useful, one.bytes_useful);
  // Except for a sector in which warps of two parts would have been one.
  auto const near = [](traffic const& a, traffic const& b, double sectors) {
    EXPECT_NEAR(static_cast<double>(a.bytes_link()), static_cast<double>(b.bytes_link()), 32 * sectors);
  };
  near(r.link, one, 2 * 3);
  traffic sum;
  for (shard_run const& s : r.shards) sum += s.link;
  EXPECT_EQ(sum.bytes_link(), r.link.bytes_link());
  // Each reads the values of the two others, and their blocks' sums of 32 bytes.
  EXPECT_EQ(r.rounds[0].bytes_exchanged, 2 * (g.info.vertices * 4 + (g.info.vertices + 2047) / 2048 * 32));

  bfs_asked b;
  b.device = where, b.variant = bfs_variant::levels, b.graph_cache = 0, b.tuning.queue_small = false;
  traffic const search = bfs_job(g, b).run(1).link;
  b.devices = shards_at(where, 4);
  bfs_run const s = bfs_job(g, b).run(1);
  EXPECT_EQ(s.link.bytes_useful, search.bytes_useful);
  near(s.link, search, 3.0 * static_cast<double>(s.levels.size()));
}

// In the end shards look up the roots that others own, and not a label per vertex.
TEST(spread_traffic, components_exchange_roots_and_not_labels) {
  std::uint64_t const n = 100'000;
  std::vector<arc> edges;
  for (std::uint64_t i = 0; i < 4 * n; ++i) edges.push_back({random_bits(1, 0, i) % n, random_bits(1, 1, i) % n});
  graph const g = make_graph(edges, true, n);
  for (device_kind const kind : {device_kind::cpu, device_kind::simulated}) {
    components_asked o;
    o.devices = shards_at({kind, 0}, 2);
    components_run const r = components_job(g, o).run();
    EXPECT_GT(r.phases.back().bytes_exchanged, 0u);
    EXPECT_LT(r.phases.back().bytes_exchanged, n);
  }
}
// Each vertex of the second shard hangs on one of the first, which the second sees too: one exchange, and another after the rest.
TEST(spread_traffic, components_stop_exchanging_when_nothing_is_new) {
  std::uint64_t const n = 64 * 1024;
  std::vector<arc> edges;
  for (std::uint64_t v = 0; v < n / 2; ++v) edges.push_back({v, v + n / 2});
  graph const g = make_graph(edges, true, n);
  components_asked o;
  o.devices = shards_at({}, 2);
  components_run const r = components_job(g, o).run();
  EXPECT_EQ(r.components, n / 2);
  ASSERT_EQ(r.phases.size(), 2u);
  EXPECT_EQ(r.phases[0].bytes_exchanged, n / 8 + n / 2 * 4);  // bits, and roots that were linked
  EXPECT_EQ(r.phases[1].bytes_exchanged, n / 8 + n / 2 * 4);  // bits, and roots of the second shard's vertices
}

TEST(spread_errors, what_does_not_go_together_is_said) {
  graph const g = sample_graph(5, true, false);
  auto const of_bfs = [&](auto change) {
    bfs_asked o;
    o.devices = shards_at({}, 2);
    change(o);
    return error_of([&] { bfs_job(g, o).run(0); });
  };
  EXPECT_EQ(of_bfs([](bfs_asked& o) { o.devices.resize(17); }), "17 shards: use 1 to 16");
  EXPECT_EQ(of_bfs([](bfs_asked& o) { o.devices[1].kind = device_kind::simulated; }),
            "a shard at cpu and one at simulated: give all shards devices of one kind");
  EXPECT_EQ(of_bfs([](bfs_asked& o) { o.variant = bfs_variant::emogi; }),
            "variant emogi is the paper's program, for one device; over 2 devices use levels or direction");
  EXPECT_EQ(of_bfs([](bfs_asked& o) { o.access = access_mode::copied, o.variant = bfs_variant::levels; }),
            "access copied over 2 shards: use strided, merged or aligned");
  EXPECT_NE(
      of_bfs([](bfs_asked& o) { o.edges = tier::managed, o.access = access_mode::paged; }).find("edges in tier managed over 2 shards"),
      std::string::npos);
  EXPECT_NE(of_bfs([](bfs_asked& o) { o.edges = tier::file; }).find("edges in tier file over 2 shards"), std::string::npos);
  EXPECT_EQ(of_bfs([](bfs_asked& o) { o.cached_neighbors = 4; }), "4 cached neighbors per vertex over 2 shards: use 0 to 3");
  components_asked c;
  c.devices = shards_at({}, 2), c.variant = components_variant::emogi;
  EXPECT_EQ(error_of([&] { components_job job(g, c); }),
            "variant emogi is the paper's program, for one device; over 2 devices use afforest");
  pagerank_asked p;
  p.devices = shards_at({}, 2), p.variant = pagerank_variant::emogi;
  EXPECT_EQ(error_of([&] { pagerank_job job(g, p); }), "variant emogi is the paper's program, for one device; over 2 devices use pull");
  p.variant = pagerank_variant::pull, p.by_degree = true;
  EXPECT_EQ(error_of([&] { pagerank_job job(g, p); }), "by_degree over 2 shards is not there; leave it out");
  graph const small = make_graph({{0, 1}, {1, 2}}, true, 3);
  bfs_asked b;
  b.devices = shards_at({}, 4);
  EXPECT_NE(error_of([&] { bfs_job job(small, b); }).find("4 shards, and "), std::string::npos);
}

TEST(spread_errors, shards_without_edges_or_vertices_work) {
  graph const few = make_graph({{0, 1}, {1, 2}, {5, 6}}, true, 40);  // two words of 32 vertices for eight shards
  bfs_asked b;
  b.devices = shards_at({}, 8), b.verify = true;
  bfs_job search(few, b);
  EXPECT_EQ(search.run(0).reached, 3u);
  EXPECT_EQ(search.depths(), serial_depths(few, 0));
  EXPECT_EQ(search.run(39).reached, 1u);
  components_asked c;
  c.devices = b.devices, c.verify = true;
  EXPECT_EQ(components_job(few, c).run().components, 37u);
  pagerank_asked p;
  p.devices = b.devices, p.verify = true;
  EXPECT_TRUE(pagerank_job(few, p).run().converged);
  graph const none = make_graph({}, true, 10);
  EXPECT_EQ(components_job(none, c).run().components, 10u);
  EXPECT_EQ(bfs_job(none, b).run(9).reached, 1u);
}

TEST(spread_errors, a_shard_that_fails_ends_the_others_with_its_reason) {
  std::vector<execution_device> const places(5);
  errc code{};
  std::string const said = error_of(
      [&] {
        on_each_shard(places, [&](std::uint32_t k, shard_group& group) {
          executor x({});
          group.join(k, x);
          for (int again = 0; again < 3; ++again) group.threads()->barrier(k);
          if (k == 3) fail(errc::memory, "no room");
          while (true) group.threads()->barrier(k);
        });
      },
      &code);
  EXPECT_EQ(said, "shard 3 of 5 at cpu: no room");
  EXPECT_EQ(code, errc::memory);
  // Also before their first barrier.
  EXPECT_EQ(error_of([&] {
              on_each_shard(places, [&](std::uint32_t k, shard_group& group) {
                if (k == 0) fail(errc::memory, "no room");
                executor x({});
                group.join(k, x);
              });
            }),
            "shard 0 of 5 at cpu: no room");
}

TEST(spread_errors, nobody_waits_for_a_shard_that_has_ended) {
  std::string const said = error_of([&] {
    on_each_shard(std::vector<execution_device>(3), [&](std::uint32_t k, shard_group& group) {
      executor x({});
      group.join(k, x);
      if (k != 1) group.threads()->barrier(k);
    });
  });
  EXPECT_NE(said.find("rank 1 of 3 has stopped: it has ended"), std::string::npos) << said;
}

TEST(spread_errors, a_job_goes_on_after_a_run_that_was_refused) {
  graph const g = sample_graph(5, true, false);
  bfs_asked o;
  o.devices = shards_at({}, 3);
  bfs_job job(g, o);
  EXPECT_NE(error_of([&] { job.run(1'000'000); }).find("1000000"), std::string::npos);
  job.run(1);
  EXPECT_EQ(job.depths(), serial_depths(g, 1));
}

// The planned memory of each shard is exact.
TEST(spread_plan, bytes_are_those_that_the_budget_counts) {
  graph const g = sample_graph(5, true, false, 4, 400'000);
  auto const holds = [&](auto const& o, auto make) {
    auto const parts = plan_parts(g.info, o, {}, g.name, g.out.offsets.data());
    std::uint64_t planned = (g.info.vertices + parts.size()) * 8;  // the parts' offsets
    for (job_part const& p : parts) planned += p.near_bytes(tier::host);
    std::uint64_t const before = host_budget().used();
    auto const job = make(o);
    std::uint64_t const taken = host_budget().used() - before;
    EXPECT_LE(taken, planned + 100'000);
    EXPECT_GE(taken, planned / 10 * 8);
  };
  bfs_asked b;
  b.devices = shards_at({device_kind::simulated, 0}, 4), b.variant = bfs_variant::levels;
  holds(b, [&](bfs_asked const& o) { return std::make_unique<bfs_job>(g, o); });
  b.variant = bfs_variant::direction;
  holds(b, [&](bfs_asked const& o) { return std::make_unique<bfs_job>(g, o); });
  components_asked c;
  c.devices = b.devices;
  holds(c, [&](components_asked const& o) { return std::make_unique<components_job>(g, o); });
  pagerank_asked p;
  p.devices = b.devices;
  holds(p, [&](pagerank_asked const& o) { return std::make_unique<pagerank_job>(g, o); });
}

// Remote parts of the compressed directory and of lists begin at groups of blocks: a graph with several.
TEST(spread_parts, lists_that_begin_in_a_later_group_of_blocks) {
  std::uint64_t const n = 30'000;
  std::vector<arc> arcs;
  for (std::uint64_t i = 0; i < 400'000; ++i) arcs.push_back({random_bits(1, 0, i) % n, random_bits(1, 1, i) % n});
  for (bool packs : {false, true}) {
    graph g = make_graph(arcs, true, n);
    if (packs) pack(g);
    for (device_kind const kind : {device_kind::cpu, device_kind::simulated}) {
      bfs_asked o;
      o.devices = shards_at({kind, 0}, 5), o.verify = true;
      bfs_job search(g, o);
      EXPECT_EQ(search.run(7).reached, n);
      pagerank_asked p;
      p.iterations = 2;
      p.device = {kind, 0};
      pagerank_job one(g, p);
      one.run();
      p.devices = o.devices, p.verify = true;
      pagerank_job all(g, p);
      all.run();
      EXPECT_EQ(all.ranks(), one.ranks());
    }
  }
}

}  // namespace
}  // namespace garner
