// PageRank on every device, access and id width against serial f64 references that push along out-edges.
#include "traverse/pagerank.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/random.hpp"
#include "far/matrix.hpp"
#include "far/traffic.hpp"
#include "generated.hpp"
#include "graph/generate.hpp"
#include "refused.hpp"
#include "simulated_runs.hpp"
#include "support.hpp"
#include "traverse/job.hpp"
#include "traverse/placed.hpp"
#include "traverse/verify_pagerank.hpp"

namespace garner {
namespace {
using namespace garner::testing;

// A hub with more edges than a piece holds, both ways; vertices without out-edges; loops and duplicates in some.
graph random_graph(std::uint64_t seed, bool undirected, std::uint32_t id_bytes, std::uint64_t hub_arcs = 0) {
  std::uint64_t const n = 200 + random_bits(seed, 9, 0) % 1500, m = n * (1 + random_bits(seed, 9, 1) % 6) / 2;
  std::vector<arc> arcs;
  for (std::uint64_t i = 0; i < m + hub_arcs; ++i) {
    std::uint64_t u = random_bits(seed, 0, i) % n, v = random_bits(seed, 1, i) % n;
    if (i >= m) v = 5 + 32 * (i % 2);
    if (i % 3 == 0 && i < m) u = 5;
    if (u % 7 != 3) arcs.push_back({u, v});
  }
  build_options o;
  o.id_bytes = id_bytes;
  o.keep_duplicates = hub_arcs || seed % 2;
  o.keep_loops = seed % 3 == 0;
  o.in_edges = !undirected;
  return make_graph(arcs, undirected, n, o);
}

std::vector<double> jumps_of(graph const& g, pagerank_asked const& o) {
  std::uint64_t const n = g.info.vertices;
  if (o.personalization.empty()) return std::vector<double>(n, 1.0 / static_cast<double>(n));
  std::vector<double> jump(n);
  double all = 0;
  for (auto const& [v, w] : o.personalization) jump[g.internal_id(v)] += w, all += w;
  for (double& w : jump) w /= all;
  return jump;
}

// Random weights from almost zero to almost infinity; for some vertices all are 0.
void put_weights(graph& g, weight_kind kind, float scale = 1) {
  g.info.weights = kind;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> seen;
  for (edge_lists* lists : {&g.out, &g.in}) {
    if (lists->offsets.empty()) continue;
    lists->weights = memory_block(tier::host, g.info.edges * 4, -1, "weights");
    auto* const to = static_cast<std::uint32_t*>(lists->weights.data());
    seen.clear();
    for (std::uint64_t v = 0; v < g.info.vertices; ++v)
      for (std::uint64_t i = lists->offsets[v]; i < lists->offsets[v + 1]; ++i) {
        std::uint64_t const other = g.info.id_bytes == 8 ? static_cast<std::uint64_t const*>(lists->targets.data())[i]
                                                         : static_cast<std::uint32_t const*>(lists->targets.data())[i];
        bool const in = lists == &g.in;
        std::uint64_t const a = in ? other : v, b = in ? v : other, from = g.info.directed ? a : std::min(a, b),
                            target = g.info.directed ? b : std::max(a, b);
        std::uint64_t const bits = random_bits(77, from, target * 8 + seen[{a, b}]++);  // the same in both directions
        std::uint32_t const whole = from % 11 == 4 ? 0 : static_cast<std::uint32_t>(bits % 9);
        float const real = static_cast<float>(whole) * scale;
        to[i] = kind == weight_kind::u32 ? whole * 400'000'000u / 8 : std::bit_cast<std::uint32_t>(real);
      }
  }
}
double weight_at(graph const& g, std::uint64_t i) {
  std::uint32_t const bits = static_cast<std::uint32_t const*>(g.out.weights.data())[i];
  return g.info.weights == weight_kind::u32 ? bits : static_cast<double>(std::bit_cast<float>(bits));
}

struct serial_ranks {
  std::vector<double> rank;
  double change = 0;
  std::uint64_t iterations = 0;
};
serial_ranks serial_pull(graph const& g, pagerank_asked const& o, std::uint64_t iterations, double tolerance = 0) {
  std::uint64_t const n = g.info.vertices;
  std::vector<double> const jump = jumps_of(g, o);
  serial_ranks r{jump, 0, 0};
  while (r.iterations < iterations) {
    std::vector<double> next(n);
    double dangling = 0;
    for (std::uint64_t u = 0; u < n; ++u) {
      std::uint64_t const begin = g.out.offsets[u], end = g.out.offsets[u + 1];
      double all = o.weighted ? 0 : static_cast<double>(end - begin);
      for (std::uint64_t i = begin; i < end && o.weighted; ++i) all += weight_at(g, i);
      if (all == 0 && o.dangling == dangling_mass::redistribute) dangling += r.rank[u];
      for (std::uint64_t i = begin; i < end && all > 0; ++i)
        next[target_at(g, i)] += r.rank[u] * ((o.weighted ? weight_at(g, i) : 1) / all);
    }
    r.change = 0;
    for (std::uint64_t v = 0; v < n; ++v) {
      next[v] = (1 - o.damping) * jump[v] + o.damping * (next[v] + dangling * jump[v]);
      r.change += std::abs(next[v] - r.rank[v]);
    }
    r.rank = next;
    ++r.iterations;
    if (r.change <= tolerance) break;
  }
  return r;
}

// The solution of value = (1 - damping) + damping (sum of value / degree): the paper's variant approaches it from below.
std::vector<double> serial_push(graph const& g, double damping) {
  std::uint64_t const n = g.info.vertices;
  std::vector<double> value(n, 1 - damping);
  for (int k = 0; k < 300; ++k) {
    std::vector<double> next(n, 1 - damping);
    for (std::uint64_t u = 0; u < n; ++u)
      for (std::uint64_t i = g.out.offsets[u]; i < g.out.offsets[u + 1]; ++i)
        next[target_at(g, i)] += damping * value[u] / static_cast<double>(g.out.offsets[u + 1] - g.out.offsets[u]);
    value = next;
  }
  return value;
}

template <class A, class B>
double distance(std::vector<A> const& a, std::vector<B> const& b) {
  double d = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t v = 0; v < a.size() && v < b.size(); ++v) d += std::abs(static_cast<double>(a[v]) - static_cast<double>(b[v]));
  return d;
}

class pagerank : public at_place {};

TEST_P(pagerank, pull_with_every_access_tier_and_id_width_against_the_serial_twin) {
  for (std::uint32_t id_bytes : {4u, 8u})
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      graph const original = random_graph(seed, seed % 2 == 0, id_bytes, seed < 2 ? 30'000 : 0);
      for (pagerank_asked o : every_access_and_tier<pagerank_asked>(where()))
        for (dangling_mass dangling : {dangling_mass::redistribute, dangling_mass::drop}) {
          o.dangling = dangling;
          o.iterations = 7;
          o.verify = true;
          graph const g = placed(original, o);
          SCOPED_TRACE(fmt::format("{} seed {} ids {} {}", to_string(o.access), seed, id_bytes, to_string(dangling)));
          pagerank_job job(g, o);
          pagerank_run const r = job.run();
          serial_ranks const want = serial_pull(original, o, 7);
          auto const ranks = job.ranks();
          ASSERT_LT(distance(ranks, want.rank), 2e-6);
          EXPECT_EQ(r.iterations, 7u);
          EXPECT_EQ(r.edges, 7 * original.info.edges);
          EXPECT_NEAR(r.l1_change, want.change, 2e-6);
          EXPECT_NEAR(r.rank_sum, dangling == dangling_mass::redistribute ? 1 : distance(want.rank, std::vector<int>(ranks.size())), 2e-6);
          EXPECT_TRUE(r.verified);
          EXPECT_EQ(job.run().rank_sum, r.rank_sum);
          EXPECT_EQ(job.ranks(), ranks) << "the same bits again";
          if (id_bytes != 4 || (where().kind == device_kind::cuda && o.edges != tier::device)) continue;
          for (bool by_degree : {true, false}) {
            pagerank_asked how = o;
            how.by_degree = by_degree;
            pagerank_job again(g, how);
            auto const& parts = again.setting().device_cache;
            bool const told = std::any_of(parts.begin(), parts.end(), [](cached_part const& p) { return p.what.ends_with("by degree"); });
            EXPECT_EQ(told, by_degree);
            EXPECT_TRUE(again.run().verified);
            EXPECT_EQ(again.ranks(), ranks) << "the same bits in another order";
          }
        }
    }
}

TEST_P(pagerank, weighted_against_the_serial_twin) {
  struct {
    weight_kind kind;
    float scale;
  } const weights[] = {{weight_kind::u32, 1}, {weight_kind::f32, 0.37f}, {weight_kind::f32, 1e-45f}, {weight_kind::f32, 4e37f}};
  for (std::uint32_t id_bytes : {4u, 8u})
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      graph original = random_graph(seed, seed % 2 == 0, id_bytes, seed < 2 ? 30'000 : 0);
      put_weights(original, weights[seed].kind, weights[seed].scale);
      for (pagerank_asked o : every_access_and_tier<pagerank_asked>(where())) {
        o.iterations = 7;
        o.weighted = true;
        o.verify = true;
        if (seed == 3) o.personalization = {{5, 2}, {9, 0}};
        graph const g = placed(original, o);
        SCOPED_TRACE(fmt::format("{} seed {} ids {}", to_string(o.access), seed, id_bytes));
        pagerank_job job(g, o);
        pagerank_run const r = job.run();
        auto const ranks = job.ranks();
        ASSERT_LT(distance(ranks, serial_pull(original, o, 7).rank), 2e-6);
        EXPECT_TRUE(r.verified && r.weighted);
        EXPECT_NEAR(r.rank_sum, 1, 2e-6);
        job.run();
        EXPECT_EQ(job.ranks(), ranks) << "the same bits again";
        if (id_bytes == 4 && (where().kind != device_kind::cuda || o.edges == tier::device)) {
          o.by_degree = true;
          pagerank_job again(g, o);
          EXPECT_TRUE(again.run().verified);
          EXPECT_EQ(again.ranks(), ranks) << "the same bits in another order";
          o.by_degree.reset();
        }
        o.weighted = false;
        pagerank_job alike(g, o);
        EXPECT_FALSE(alike.run().weighted);
        EXPECT_GT(distance(alike.ranks(), ranks), 0.01);
        EXPECT_LT(distance(alike.ranks(), serial_pull(original, o, 7).rank), 2e-6);
      }
    }
}

TEST_P(pagerank, emogi_with_every_access_tier_and_id_width_against_the_serial_twin) {
  for (std::uint32_t id_bytes : {4u, 8u})
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      graph const original = random_graph(seed, seed % 2 == 0, id_bytes, seed < 2 ? 30'000 : 0);
      std::vector<double> const want = serial_push(original, 0.85);
      for (pagerank_asked o : every_access_and_tier<pagerank_asked>(where()))
        for (double tolerance : {1e-3, 1e-5}) {
          o.variant = pagerank_variant::emogi;
          o.tolerance = tolerance;
          o.verify = true;
          graph const g = placed(original, o);
          SCOPED_TRACE(fmt::format("{} seed {} ids {} tolerance {}", to_string(o.access), seed, id_bytes, tolerance));
          pagerank_job job(g, o);
          pagerank_run const r = job.run();
          auto const n = static_cast<double>(want.size());
          // The unpushed residual is at most the tolerance per vertex, and all of it would add at most that / (1 - damping).
          EXPECT_LE(distance(job.ranks(), want), n * (tolerance / 0.15 + 1e-4));
          EXPECT_LE(r.l1_change, n * tolerance);
          EXPECT_TRUE(r.converged);
          EXPECT_TRUE(r.verified);
          EXPECT_GT(r.iterations, 5u);
          EXPECT_EQ(r.rounds[0].vertices, want.size());
          EXPECT_EQ(r.rounds[0].edges, original.info.edges);
        }
    }
}

TEST_P(pagerank, stops_at_the_tolerance_or_the_count) {
  graph const original = random_graph(4, true, 4);
  for (double tolerance : {1e-2, 1e-4, 1e-6}) {
    pagerank_asked o;
    o.device = where();
    o.tolerance = tolerance;
    o.verify = true;
    graph const g = placed(original, o);
    pagerank_run const r = pagerank_job(g, o).run();
    // Near 1e-7 the rounding of ranks to f32 counts too.
    auto const want = static_cast<double>(serial_pull(original, o, 1000, tolerance).iterations);
    EXPECT_NEAR(static_cast<double>(r.iterations), want, tolerance < 1e-5 ? 2 : 0);
    EXPECT_TRUE(r.converged);
    EXPECT_LE(r.l1_change, tolerance);
    o.variant = pagerank_variant::emogi;
    o.iterations = 3;
    pagerank_run const few = pagerank_job(g, o).run();
    EXPECT_EQ(few.iterations, 3u);
    EXPECT_FALSE(few.converged && tolerance < 1e-3);
    EXPECT_TRUE(few.verified) << "what was pushed is right, though more was to be";
  }
}

TEST_P(pagerank, personal_start) {
  graph const original = random_graph(2, true, 4), directed = random_graph(3, false, 4);
  for (graph const* from : {&original, &directed}) {
    pagerank_asked o;
    o.device = where();
    o.iterations = 10;
    o.damping = 0.6;
    o.personalization = {{5, 1.0}, {17, 2.5}, {5, 0.5}};
    o.verify = true;
    graph const g = placed(*from, o);
    pagerank_job job(g, o);
    EXPECT_NEAR(job.run().rank_sum, 1, 1e-6);
    EXPECT_LT(distance(job.ranks(), serial_pull(*from, o, 10).rank), 2e-6);
    o.personalization = {{1u << 30, 1.0}};
    EXPECT_NE(error_of([&] { pagerank_job(g, o); }).find("1073741824"), std::string::npos);
    for (double const wrong : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
      o.personalization = {{5, wrong}, {17, 1}};
      EXPECT_NE(error_of([&] { pagerank_job(g, o); }).find("use a number from 0"), std::string::npos) << wrong;
    }
    o.personalization = {{5, 0.0}, {17, 0.0}};
    EXPECT_NE(error_of([&] { pagerank_job(g, o); }).find("are all 0"), std::string::npos);
    o.personalization = {{5, 0.0}, {17, 3.0}};
    pagerank_job zero(g, o);
    zero.run();
    EXPECT_LT(distance(zero.ranks(), serial_pull(*from, o, 10).rank), 2e-6);
  }
}

TEST_P(pagerank, small_and_empty_graphs) {
  auto o = verified<pagerank_asked>(where());
  build_options loops;
  loops.keep_loops = loops.in_edges = true;
  for (pagerank_variant variant : {pagerank_variant::pull, pagerank_variant::emogi}) {
    o.variant = variant;
    bool const pulls = variant == pagerank_variant::pull;
    graph const none = placed(make_graph({}), o);
    pagerank_job empty(none, o);
    EXPECT_EQ(empty.run().iterations, 0u);
    EXPECT_TRUE(empty.ranks().empty());
    graph const one = placed(make_graph({}, false, 1), o);
    pagerank_job single(one, o);
    single.run();
    EXPECT_FLOAT_EQ(single.ranks()[0], pulls ? 1.0f : 0.15f);
    graph const apart = placed(make_graph({}, true, 100), o);
    pagerank_job lonely(apart, o);
    EXPECT_NEAR(lonely.run().rank_sum, pulls ? 1 : 15, 1e-4);
    graph const loop = placed(make_graph({{0, 0}}, false, 1, loops), o);
    pagerank_job self(loop, o);
    self.run();
    EXPECT_NEAR(self.ranks()[0], 1, 0.01);
    graph const chain = placed(make_graph({{0, 1}, {1, 2}}, false, 3, loops), o);
    pagerank_job line(chain, o);
    line.run();
    auto const ranks = line.ranks();
    EXPECT_NEAR(ranks[1] / ranks[0], 1.85, 1e-3);
    EXPECT_NEAR(ranks[2] / ranks[0], 1 + 0.85 * 1.85, 1e-3);
  }
}
GARNER_AT_EVERY_PLACE(pagerank);

// Tests the certificate: it must not accept everything.
TEST_P(pagerank, the_certificate_finds_what_is_wrong) {
  executor x(where());
  graph original = random_graph(2, true, 4);
  put_weights(original, weight_kind::f32, 0.7f);
  pagerank_asked o;
  o.device = where();
  graph const g = placed(original, o);
  auto const offsets = near_copy(x, std::vector<std::uint64_t>(original.out.offsets.begin(), original.out.offsets.end()));
  std::vector<double> const exact = serial_pull(original, o, 300).rank, pushed = serial_push(original, 0.85);
  bool weighted = false;
  auto const verdict = [&](std::vector<double> const& ranks, bool pull) -> std::string {
    std::vector<float> const narrow(ranks.begin(), ranks.end());
    auto const near = near_copy(x, narrow);
    pagerank_claim<std::uint32_t> c{
        g.view<std::uint32_t>(g.out, offsets.data()), near.data(), nullptr, 1, 0.85, false, 1e-6, 1e-3, 1e-4, 0x1p-24};
    if (pull) {
      c.jump_all = 1.0 / static_cast<double>(ranks.size());
      c.redistribute = true;
      c.below = c.above = c.l1 = 1e-4;
      c.slack = c.slack_an_arc = 0;
      c.weighted = weighted;
    }
    try {
      verify_pagerank(x, c, g, access_mode::aligned);
    } catch (error const& e) {
      return e.what();
    }
    return "right";
  };
  auto const changed = [&](std::vector<double> ranks, std::size_t v, double by) {
    ranks[v] += by;
    return ranks;
  };
  EXPECT_EQ(verdict(exact, true), "right");
  EXPECT_EQ(verdict(pushed, false), "right");
  EXPECT_NE(verdict(changed(exact, 40, 2e-4), true).find("vertex 40"), std::string::npos);
  EXPECT_NE(verdict(changed(exact, 40, -2e-4), true).find("wrong"), std::string::npos);
  EXPECT_NE(verdict(changed(exact, 41, std::nan("")), true).find("vertex"), std::string::npos);
  EXPECT_NE(verdict(changed(exact, 41, -1), true).find("wrong at vertex"), std::string::npos);
  std::vector<double> little = exact;  // each a little, all together too much
  for (std::size_t v = 0; v < little.size(); ++v) little[v] += (v % 2 ? 1 : -1) * 1.5e-4 / static_cast<double>(little.size());
  EXPECT_NE(verdict(little, true).find("L1"), std::string::npos);
  EXPECT_NE(verdict(changed(pushed, 40, 0.1), false).find("vertex"), std::string::npos);
  EXPECT_NE(verdict(changed(pushed, 40, -0.1), false).find("vertex"), std::string::npos);
  EXPECT_NE(verdict(serial_push(original, 0.8), false).find("vertex"), std::string::npos);
  EXPECT_NE(verdict(std::vector<double>(exact.size(), 0), true).find("wrong"), std::string::npos);
  weighted = true;
  o.weighted = true;
  std::vector<double> const heavy = serial_pull(original, o, 300).rank;
  EXPECT_EQ(verdict(heavy, true), "right");
  EXPECT_NE(verdict(exact, true).find("wrong"), std::string::npos) << "all edges have the same weight";
  EXPECT_NE(verdict(changed(heavy, 40, 2e-4), true).find("vertex 40"), std::string::npos);
  weighted = false;
  EXPECT_NE(verdict(heavy, true).find("wrong"), std::string::npos);
}

TEST(pagerank_traffic, a_simulated_push_is_that_of_all_lists) {
  GARNER_NEEDS_COUNTS();
  for (std::uint32_t id_bytes : {4u, 8u}) {
    graph const g = random_graph(1, true, id_bytes, 30'000);
    for (access_mode how : {access_mode::merged, access_mode::aligned}) {
      pagerank_asked o;
      o.device = {device_kind::simulated, 0};
      o.graph_cache = 0;
      o.access = how;
      o.iterations = 2;
      pagerank_run const r = pagerank_job(g, o).run();
      EXPECT_EQ(r.link.bytes_useful, 2 * g.info.edges * id_bytes);
      EXPECT_EQ(r.rounds[0].bytes_link, r.rounds[1].bytes_link);
      EXPECT_LT(r.link.overfetch(), how == access_mode::aligned ? 1.1 : 1.4);
      o.variant = pagerank_variant::emogi;
      runs const lists = adjacency_of(g.out.offsets, g.info.vertices, [](std::uint64_t) { return true; });
      traffic const want = id_bytes == 4 ? trace<32>(lists, how) : trace<32, std::uint64_t>(lists, how);
      EXPECT_EQ(pagerank_job(g, o).run().rounds[0].bytes_link, want.bytes_link());
    }
  }
}

TEST(pagerank_places, agree) {
  graph const g = generated(generator::kron, 12);
  pagerank_asked o;
  o.iterations = 15;
  pagerank_job host(g, o);
  o.device = {device_kind::simulated, 0};
  pagerank_job simulated(g, o);
  EXPECT_NEAR(host.run().rank_sum, 1, 1e-6);
  simulated.run();
  EXPECT_LT(distance(host.ranks(), simulated.ranks()), 1e-5);
  EXPECT_LT(distance(host.ranks(), serial_pull(g, o, 15).rank), 1e-5);
}

TEST(pagerank_top, is_in_order_and_by_user_ids) {
  build_options compact;
  compact.numbering = build_options::ids::compact;
  graph const g = make_graph({{100000, 99999}, {3, 99999}, {3, 4}}, true, 0, compact);
  auto const top = highest_ranks(g, {0.1f, 0.4f, 0.4f, 0.1f}, 3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].id, 4u);
  EXPECT_EQ(top[1].id, 99999u);
  EXPECT_EQ(top[2].id, 3u);
  EXPECT_TRUE(highest_ranks(g, {}, 10).empty());
}

TEST(pagerank_options, a_copy_by_degree_must_pay) {
  graph_info info;
  info.vertices = 1 << 20, info.edges = 1 << 25;
  pagerank_asked o;
  EXPECT_FALSE(pagerank_job::may_copy_by_degree(info, o)) << "at the host";
  o.device = {device_kind::cuda, 0};
  EXPECT_FALSE(pagerank_job::may_copy_by_degree(info, o)) << "far lists";
  std::uint64_t const without = pagerank_job::state_bytes(info, o);
  o.edges = tier::device;
  EXPECT_TRUE(pagerank_job::may_copy_by_degree(info, o));
  EXPECT_EQ(pagerank_job::state_bytes(info, o), without + info.vertices * 4 + info.edges * 4);
  for (std::uint64_t few : {1u, 5u, 6u}) {
    o.iterations = few;
    EXPECT_EQ(pagerank_job::may_copy_by_degree(info, o), few == 6);
  }
  o.iterations.reset();
  o.tolerance = 1;  // the first iteration of at most 2, the second of 1.7, ... the fifth of 1.04
  o.damping = 0.5;
  EXPECT_FALSE(pagerank_job::may_copy_by_degree(info, o));
  o.damping = 0.9;
  EXPECT_TRUE(pagerank_job::may_copy_by_degree(info, o));
  info.order = vertex_order::degree;
  EXPECT_FALSE(pagerank_job::may_copy_by_degree(info, o)) << "they lie so";
  o.by_degree = true;
  EXPECT_TRUE(pagerank_job::may_copy_by_degree(info, o)) << "as said";
}

TEST(pagerank_options, are_checked) {
  graph const g = make_graph({{0, 1}}), both = make_graph({{0, 1}}, true);
  pagerank_asked o;
  EXPECT_TRUE(refused(errc::input, "garner convert --in-edges", [&] { pagerank_job(g, o); }));
  for (double damping : {-0.1, 1.0, std::nan("")}) {
    o.damping = damping;
    EXPECT_NE(error_of([&] { pagerank_job(both, o); }).find("damping"), std::string::npos);
  }
  o = {};
  o.tolerance = 0;
  EXPECT_NE(error_of([&] { pagerank_job(both, o); }).find("tolerance"), std::string::npos);
  o = {};
  o.iterations = 0;
  EXPECT_NE(error_of([&] { pagerank_job(both, o); }).find("1 or more"), std::string::npos);
  o = {};
  o.variant = pagerank_variant::emogi;
  o.personalization = {{0, 1}};
  EXPECT_TRUE(refused(errc::usage, "pull", [&] { pagerank_job(both, o); }));
  o = {};
  o.weighted = true;
  EXPECT_TRUE(refused(errc::input, "has no weights; ", [&] { pagerank_job(both, o); }));
  graph weighted = make_graph({{0, 1}, {1, 2}}, true);
  put_weights(weighted, weight_kind::u32);
  o.variant = pagerank_variant::emogi;
  EXPECT_TRUE(refused(errc::usage, "for weights use pull", [&] { pagerank_job(weighted, o); }));
  o.variant = pagerank_variant::pull;
  o.devices = {o.device, o.device};
  EXPECT_TRUE(refused(errc::usage, "weighted ranks do not run over 2 devices", [&] { pagerank_job(weighted, o); }));
  o = {};
  o.by_degree = true;
  o.variant = pagerank_variant::emogi;
  EXPECT_TRUE(refused(errc::usage, "by_degree goes with variant pull", [&] { pagerank_job(both, o); }));
  o.variant = pagerank_variant::pull;
  EXPECT_NE(error_of([&] { pagerank_job(random_graph(2, true, 8), o); }).find("4-byte"), std::string::npos);
  o = {};
  o.access = access_mode::paged;
  o.edges = tier::host;
  EXPECT_NE(error_of([&] { pagerank_job(both, o); }).find("paged reads tier managed"), std::string::npos);
}

}  // namespace
}  // namespace garner
