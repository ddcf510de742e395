// Shortest paths on every device, access, id width, weight type and variant against Dijkstra: equal distances, parents on shortest paths.
#include "traverse/sssp.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/random.hpp"
#include "far/traffic.hpp"
#include "generated.hpp"
#include "graph/generate.hpp"
#include "support.hpp"
#include "traverse/bfs.hpp"
#include "traverse/frontier.hpp"
#include "traverse/placed.hpp"
#include "traverse/verify_sssp.hpp"

namespace garner {
namespace {
using namespace garner::testing;

std::uint32_t bits_of(float f) {
  std::uint32_t b;
  std::memcpy(&b, &f, 4);
  return b;
}
float real_of(std::uint32_t b) {
  float f;
  std::memcpy(&f, &b, 4);
  return f;
}

graph weighted(std::vector<arc> arcs, std::vector<std::uint32_t> weights, bool undirected, std::uint64_t n, build_options o = {},
               weight_kind kind = weight_kind::u32) {
  edge_list e = make_edges(std::move(arcs), undirected, n);
  e.weights = std::move(weights);
  e.weights_are = kind;
  build_report report;
  return build_graph(std::move(e), o, report);
}
graph weighted_f32(std::vector<arc> arcs, std::vector<float> const& weights, bool undirected, std::uint64_t n) {
  std::vector<std::uint32_t> bits;
  for (float const f : weights) bits.push_back(bits_of(f));
  return weighted(std::move(arcs), bits, undirected, n, {}, weight_kind::f32);
}

// With hubs, loops, duplicates, many weights of 0 for some seeds, and unreachable vertices.
graph random_graph(std::uint64_t seed, std::uint32_t id_bytes, weight_kind kind) {
  std::uint64_t const n = 150 + random_bits(seed, 9, 0) % 700, m = n * (1 + random_bits(seed, 9, 1) % 6) / 2;
  std::vector<arc> arcs;
  std::vector<std::uint32_t> weights;
  for (std::uint64_t i = 0; i < m; ++i) {
    std::uint64_t u = random_bits(seed, 0, i) % n, v = random_bits(seed, 1, i) % n;
    if (i % 3 == 0) u = 5;
    arcs.push_back({u, v});
    auto const w = static_cast<std::uint32_t>(random_bits(seed, 2, i) % (seed % 2 ? 4 : 1000));
    weights.push_back(kind == weight_kind::u32 ? w : bits_of(static_cast<float>(w) * 0.37f));
  }
  build_options o;
  o.id_bytes = id_bytes;
  o.keep_duplicates = seed % 2;
  o.keep_loops = seed % 3 == 0;
  return weighted(arcs, weights, seed % 2 == 0, n, o, kind);
}

// Dijkstra, over internal ids. Sum: std::uint64_t or float, the type of path lengths.
template <class Sum>
std::vector<Sum> dijkstra(graph const& g, std::uint64_t source) {
  constexpr Sum none = std::is_same_v<Sum, float> ? std::numeric_limits<Sum>::infinity() : std::numeric_limits<Sum>::max();
  auto const* const weights = static_cast<std::uint32_t const*>(g.out.weights.data());
  std::vector<Sum> best(g.info.vertices, none);
  using entry = std::pair<Sum, std::uint64_t>;
  std::priority_queue<entry, std::vector<entry>, std::greater<>> open;
  best[source] = 0;
  open.push({Sum{0}, source});
  while (!open.empty()) {
    auto const [d, v] = open.top();
    open.pop();
    if (d > best[v]) continue;
    for (std::uint64_t i = g.out.offsets[v]; i < g.out.offsets[v + 1]; ++i) {
      Sum w;
      if constexpr (std::is_same_v<Sum, float>) w = real_of(weights[i]);
      else w = weights[i];
      std::uint64_t const u = target_at(g, i);
      if (!(d + w < best[u])) continue;
      best[u] = d + w;
      open.push({best[u], u});
    }
  }
  return best;
}

// Parents lead to the source, each over a tight edge.
template <class Sum>
void expect_tree(graph const& g, std::uint64_t source, std::vector<Sum> const& best, std::vector<std::uint64_t> const& parent) {
  auto const* const weights = static_cast<std::uint32_t const*>(g.out.weights.data());
  constexpr Sum none = std::is_same_v<Sum, float> ? std::numeric_limits<Sum>::infinity() : std::numeric_limits<Sum>::max();
  for (std::uint64_t v = 0; v < best.size(); ++v) {
    if (best[v] == none || v == source) {
      EXPECT_EQ(parent[v], v == source ? source : ~std::uint64_t{0});
      continue;
    }
    std::uint64_t const p = parent[v];
    ASSERT_LT(p, best.size());
    bool tight = false;
    for (std::uint64_t i = g.out.offsets[p]; i < g.out.offsets[p + 1]; ++i) {
      Sum w;
      if constexpr (std::is_same_v<Sum, float>) w = real_of(weights[i]);
      else w = weights[i];
      tight |= target_at(g, i) == v && best[p] + w == best[v];
    }
    EXPECT_TRUE(tight) << p << " -> " << v;
    std::uint64_t at = v, steps = 0;
    while (at != source && steps++ < best.size()) at = parent[at];
    ASSERT_EQ(at, source) << "parents of " << v << " go in a ring";
  }
}

class sssp : public at_place {};

TEST_P(sssp, every_access_tier_id_width_weight_and_variant_against_dijkstra) {
  struct shape {
    sssp_variant variant;
    bool split, join;
    std::uint32_t per_team;
    std::optional<double> delta;
  };
  shape const shapes[] = {{sssp_variant::emogi, false, false, 1, {}},    {sssp_variant::emogi, false, false, 8, {}},
                          {sssp_variant::near_far, true, true, 1, {}},   {sssp_variant::near_far, false, false, 1, 1.0},
                          {sssp_variant::near_far, true, false, 8, 7.5}, {sssp_variant::near_far, false, true, 1, 1e30}};
  for (weight_kind kind : {weight_kind::u32, weight_kind::f32})
    for (std::uint32_t id_bytes : {4u, 8u})
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        graph const original = random_graph(seed, id_bytes, kind);
        for (shape const& s : shapes)
          for (sssp_asked o : every_access_and_tier<sssp_asked>(where())) {
            o.variant = s.variant;
            o.delta = s.delta;
            o.tuning.vertices_per_team = s.per_team;
            o.tuning.split_hubs = s.split;
            o.tuning.join_lists = s.join;
            o.tuning.slice = 64;
            o.verify = true;
            graph const g = placed(original, o);
            sssp_job job(g, o);
            SCOPED_TRACE(fmt::format("{} seed {} ids {} kind {} shape {}", to_string(o.access), seed, id_bytes, static_cast<int>(kind),
                                     &s - shapes));
            for (std::uint64_t source : {std::uint64_t{5}, original.info.vertices - 1}) {
              sssp_run const r = job.run(source);
              EXPECT_TRUE(r.verified);
              if (kind == weight_kind::u32) {
                ASSERT_EQ(job.distances(), dijkstra<std::uint64_t>(original, source));
              } else {
                ASSERT_EQ(job.real_distances(), dijkstra<float>(original, source));
              }
            }
          }
      }
}

TEST_P(sssp, sums_rounds_and_parents) {
  sssp_asked o;
  o.device = where();
  o.graph_cache = 0;
  for (std::uint64_t seed : {1u, 2u, 3u})
    for (sssp_variant variant : {sssp_variant::near_far, sssp_variant::emogi}) {
      o.variant = variant;
      graph const original = random_graph(seed, 4, weight_kind::u32);
      graph const g = placed(original, o);
      sssp_job job(g, o);
      sssp_run const r = job.run(5);
      auto const want = dijkstra<std::uint64_t>(original, 5);
      bool const skips_leaves = !original.info.directed && variant != sssp_variant::emogi;
      std::uint64_t reached = 0, sum = 0, largest = 0, edges = 0, read = 0;
      for (std::uint64_t v = 0; v < want.size(); ++v)
        if (want[v] != ~std::uint64_t{0}) {
          ++reached, sum += want[v], largest = std::max(largest, want[v]);
          std::uint64_t const degree = original.out.offsets[v + 1] - original.out.offsets[v];
          if (degree > 1 || v == 5 || !skips_leaves) edges += degree;
        }
      EXPECT_EQ(r.reached, reached);
      EXPECT_EQ(r.distance_sum, sum);
      EXPECT_EQ(r.distance_max, largest);
      EXPECT_GE(r.edges, edges);
      for (auto const& l : r.rounds) read += l.edges;
      EXPECT_EQ(r.edges, read);
      EXPECT_EQ(r.thresholds == 0, variant == sssp_variant::emogi);
      if (where().kind != device_kind::cpu) {
        if (counts_requests()) {
          EXPECT_EQ(r.link.bytes_useful, r.edges * 8);
        }
      }
      expect_tree(original, 5, want, job.parents());

      graph const real = random_graph(seed, 8, weight_kind::f32), real_g = placed(real, o);
      sssp_job real_job(real_g, o);
      sssp_run const f = real_job.run(5);
      auto const real_want = dijkstra<float>(real, 5);
      double real_sum = 0, real_max = 0;
      for (float const d : real_want)
        if (std::isfinite(d)) real_sum += d, real_max = std::max<double>(real_max, d);
      EXPECT_DOUBLE_EQ(f.real_max, real_max);
      EXPECT_NEAR(f.real_sum, real_sum, 1e-9 * real_sum);
      expect_tree(real, 5, real_want, real_job.parents());
      EXPECT_NE(error_of([&] { real_job.distances(); }).find("f32"), std::string::npos);
    }
}

TEST_P(sssp, a_long_path_whose_sums_need_64_bits_and_a_star) {
  auto o = verified<sssp_asked>(where());
  std::vector<arc> path, star;
  std::vector<std::uint32_t> heavy, light;
  for (std::uint64_t v = 0; v < 700; ++v) path.push_back({v, v + 1}), heavy.push_back(0xffffffffu);
  for (std::uint64_t v = 1; v < 5000; ++v) star.push_back({0, v}), light.push_back(static_cast<std::uint32_t>(v));
  for (sssp_variant variant : {sssp_variant::near_far, sssp_variant::emogi}) {
    o.variant = variant;
    graph const far = placed(weighted(path, heavy, true, 701), o), near = placed(weighted(star, light, true, 5000), o);
    EXPECT_EQ(sssp_job(far, o).run(0).distance_max, 700 * std::uint64_t{0xffffffffu});
    sssp_run const r = sssp_job(near, o).run(4999);
    EXPECT_EQ(r.distance_max, 4999u + 4998u);
    EXPECT_EQ(r.reached, 5000u);
  }
}

TEST_P(sssp, sums_just_within_and_beyond_32_bits) {
  auto o = verified<sssp_asked>(where());
  for (std::uint64_t length : {255u, 256u, 300u}) {
    std::vector<arc> path;
    for (std::uint64_t v = 0; v < length; ++v) path.push_back({v, v + 1});
    for (std::uint32_t weight : {(1u << 24) - 1, 1u << 24, (1u << 24) + 1})
      for (sssp_variant variant : {sssp_variant::near_far, sssp_variant::emogi}) {
        SCOPED_TRACE(fmt::format("{} x {} {}", length, weight, variant == sssp_variant::emogi ? "emogi" : "near-far"));
        o.variant = variant;
        graph const g = placed(weighted(path, std::vector<std::uint32_t>(length, weight), true, length + 1), o);
        sssp_job job(g, o);
        for (int again = 0; again < 2; ++again) {  // the second run keeps the finding that distances are too large
          sssp_run const r = job.run(0);
          EXPECT_EQ(r.distance_max, length * weight);
          EXPECT_EQ(r.reached, length + 1);
          EXPECT_LE(r.edges, 2 * length);  // excludes the abandoned search
          EXPECT_EQ(r.source, 0u);
          EXPECT_TRUE(r.verified);
          EXPECT_EQ(job.distances()[length - 1], (length - 1) * weight);
        }
        EXPECT_EQ(job.run(length).distance_max, length * weight);
      }
  }
}

TEST_P(sssp, small_and_empty_graphs_loops_and_duplicates) {
  auto o = verified<sssp_asked>(where());
  graph const none = placed(weighted({}, {}, false, 0), o);
  sssp_job empty(none, o);
  EXPECT_NE(error_of([&] { empty.run(0); }).find("0"), std::string::npos);
  graph const one = placed(weighted({}, {}, false, 1), o);
  sssp_job single(one, o);
  EXPECT_EQ(single.run(0).reached, 1u);
  EXPECT_EQ(single.distances(), (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(single.parents(), (std::vector<std::uint64_t>{0}));
  graph const apart = placed(weighted({{0, 1}}, {7}, true, 40), o);
  sssp_job lonely(apart, o);
  EXPECT_EQ(lonely.run(33).reached, 1u);
  EXPECT_EQ(lonely.run(1).distance_sum, 7u);
  EXPECT_EQ(lonely.run(33).distance_sum, 0u);  // no state of the previous run remains
  build_options keep;
  keep.keep_duplicates = keep.keep_loops = true;
  graph const multi = placed(weighted({{0, 0}, {0, 1}, {0, 1}, {1, 1}, {1, 0}}, {3, 9, 4, 0, 2}, false, 2, keep), o);
  sssp_job several(multi, o);
  EXPECT_EQ(several.run(0).distance_max, 4u);
  EXPECT_EQ(several.run(1).distance_max, 2u);
}

TEST_P(sssp, weights_that_are_no_lengths_are_named) {
  sssp_asked o;
  o.device = where();
  std::vector<arc> const arcs{{0, 1}, {1, 2}, {2, 3}, {3, 0}};
  float const infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (float const bad : {-1.0f, -1e-30f, nan, infinity}) {
    graph const g = placed(weighted_f32(arcs, {1, 2, bad, bad}, false, 4), o);
    errc code{};
    std::string const e = error_of([&] { sssp_job(g, o); }, &code);
    EXPECT_NE(e.find("edge 2 -> 3 has weight"), std::string::npos) << e;
    EXPECT_EQ(code, errc::input);
  }
  graph const zero = placed(weighted_f32(arcs, {1, 2, -0.0f, 3}, false, 4), o);
  o.verify = true;
  EXPECT_EQ(sssp_job(zero, o).run(0).real_max, 3.0);
  graph const large = placed(weighted_f32(arcs, {1, 2, 2e38f, 3}, false, 4), o);
  EXPECT_NE(error_of([&] { sssp_job(large, o); }).find("could sum to more"), std::string::npos);
  graph const bare = make_graph(arcs);
  EXPECT_NE(error_of([&] { sssp_job(bare, o); }).find("--random-weights 1:255"), std::string::npos);
}
GARNER_AT_EVERY_PLACE(sssp);

// Tests the certificate: every way to corrupt a right result must be detected.
TEST_P(sssp, the_certificate_finds_what_is_wrong) {
  executor x(where());
  sssp_asked o;
  o.device = where();
  // 0 -5- 1 -0- 2 -4- 3, 0 -9- 3 and, isolated from them, 4 -0- 5.
  graph const original = weighted({{0, 1}, {1, 2}, {2, 3}, {0, 3}, {4, 5}}, {5, 0, 4, 9, 0}, true, 6), g = placed(original, o);
  auto const offsets = near_copy(x, std::vector<std::uint64_t>(original.out.offsets.begin(), original.out.offsets.end()));
  std::uint64_t const none = ~std::uint64_t{0};
  auto const verdict = [&](std::vector<std::uint64_t> d) -> std::string {
    auto const near_d = near_copy(x, d);
    try {
      verify_sssp(x, sssp_distances<std::uint32_t, whole_distance>{g.view<std::uint32_t>(g.out, offsets.data()), 0, near_d.data()}, g,
                  access_mode::aligned);
    } catch (error const& e) {
      return e.what();
    }
    return "right";
  };
  EXPECT_EQ(verdict({0, 5, 5, 9, none, none}), "right");
  EXPECT_NE(verdict({1, 6, 6, 10, none, none}).find("source"), std::string::npos);
  EXPECT_NE(verdict({0, 6, 6, 9, none, none}).find("vertex 1: an edge"), std::string::npos);     // too large
  EXPECT_NE(verdict({0, 5, 5, none, none, none}).find("vertex 3: an edge"), std::string::npos);  // reached, but reported as unreached
  EXPECT_NE(verdict({0, 5, 5, 8, none, none}).find("vertex 3: no path"), std::string::npos);     // too small
  EXPECT_NE(verdict({0, 4, 4, 8, none, none}).find("vertex 1: no path"), std::string::npos);     // a ring of weight 0 supports itself
  EXPECT_NE(verdict({0, 5, 5, 9, 7, 7}).find("vertex 4: no path"), std::string::npos);           // unreached, but reported as reached
  EXPECT_NE(verdict({0, none, none, none, none, none}).find("vertex 1: an edge"), std::string::npos);
}
TEST_P(sssp, the_certificate_goes_by_f32_sums) {
  auto o = verified<sssp_asked>(where());
  // 1e-3 does not change 1e6 in f32: a plateau of edges with non-zero weights and no effect.
  graph const g = placed(weighted_f32({{0, 1}, {1, 2}, {2, 3}}, {1e6f, 1e-3f, 1e-3f}, true, 4), o);
  sssp_job job(g, o);
  EXPECT_TRUE(job.run(0).verified);
  EXPECT_EQ(job.real_distances(), (std::vector<float>{0, 1e6f, 1e6f, 1e6f}));
  EXPECT_EQ(job.parents(), (std::vector<std::uint64_t>{0, 0, 1, 2}));
}

// A device's closed form equals the count of a trace.
TEST(sssp_traffic, of_the_first_round_is_the_closed_form) {
  GARNER_NEEDS_COUNTS();
  for (std::uint32_t id_bytes : {4u, 8u})
    for (access_mode how : {access_mode::strided, access_mode::merged, access_mode::aligned})
      for (std::uint64_t source = 0; source < 60; ++source) {
        graph const g = random_graph(2, id_bytes, weight_kind::u32);
        sssp_asked o;
        o.device = {device_kind::simulated, 0};
        o.access = how;
        o.variant = sssp_variant::emogi;
        sssp_run const r = sssp_job(g, o).run(source);
        std::uint64_t const begin = g.out.offsets[source], end = g.out.offsets[source + 1];
        run_traffic const want = arc_costs{how, id_bytes, true, true}(begin, end);
        ASSERT_EQ(r.rounds[0].bytes_link, want.sectors() * 32) << to_string(how) << " ids " << id_bytes << " source " << source;
      }
}

TEST(sssp_traffic, near_far_reads_less_than_bellman_ford) {
  GARNER_NEEDS_COUNTS();
  generate_options gen;
  gen.scale = 12;
  gen.build.random_weights = build_options::weight_options{};
  graph const g = generated(gen);
  sssp_asked o;
  o.device = {device_kind::simulated, 0};
  std::uint64_t const source = pick_sources(g, 1, 1)[0];
  sssp_run const near_far = sssp_job(g, o).run(source);
  o.variant = sssp_variant::emogi;
  sssp_run const emogi = sssp_job(g, o).run(source);
  EXPECT_EQ(near_far.distance_sum, emogi.distance_sum);
  EXPECT_LT(near_far.edges, emogi.edges);
  EXPECT_LT(near_far.link.bytes_link(), emogi.link.bytes_link());
}

TEST(sssp_options, are_checked) {
  graph const g = weighted({{0, 1}}, {1}, false, 2);
  for (double const delta : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    sssp_asked o;
    o.delta = delta;
    EXPECT_NE(error_of([&] { sssp_job(g, o); }).find("above 0"), std::string::npos);
  }
  sssp_asked o;
  o.tuning.slice = 33;
  EXPECT_NE(error_of([&] { sssp_job(g, o); }).find("multiple of 32"), std::string::npos);
  o = {};
  o.variant = sssp_variant::emogi;
  o.delta = 1;
  EXPECT_NE(error_of([&] { sssp_job(g, o); }).find("emogi"), std::string::npos);
}

}  // namespace
}  // namespace garner
