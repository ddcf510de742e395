// The public API, through include/garner only except for the serial references: graphs in, results by ascending user ids out, for any
// internal order of the vertices.
#include <garner/garner.hpp>
//
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <set>
#include <thread>

#include "core/device.hpp"
#include "core/random.hpp"
#include "folder.hpp"
#include "refused.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

struct shape {
  char const* name;
  bool undirected = true;
  std::uint32_t id_bytes = 4;
  weight_kind weights = weight_kind::u32;
  bool multi = false;
  std::uint64_t sparse = 1, vertices = 260, edges = 900;
};
std::vector<shape> const shapes = {
    {"undirected, u32"},
    {"undirected, f32", true, 4, weight_kind::f32},
    {"directed, u32, 8 bytes", false, 8},
    {"multigraph with loops, u32", true, 4, weight_kind::u32, true},
    {"directed multigraph with loops, f32, 8 bytes", false, 8, weight_kind::f32, true},
    {"sparse ids, directed, u32", false, 4, weight_kind::u32, false, 1'000'000'007},
    {"no edges", true, 4, weight_kind::u32, false, 1, 40, 0},
    {"one vertex with a loop", true, 4, weight_kind::u32, true, 1, 1, 1},
};

struct raw {
  std::vector<edge> edges;
  std::vector<std::uint32_t> whole;
  std::vector<float> real;
};
// Two parts with a hub each, and isolated vertices.
raw edges_of(shape const& s) {
  raw r;
  std::uint64_t const part = std::max<std::uint64_t>(1, s.vertices / 2 - 10);
  for (std::uint64_t i = 0; i < s.edges; ++i) {
    std::uint64_t const from = random_bits(7, 0, i) % 2 * (s.vertices / 2);
    std::uint64_t const u = from + (random_bits(7, 1, i) % 3 ? random_bits(7, 2, i) % part : 0);
    std::uint64_t const v = from + random_bits(7, 3, i) % part;
    for (std::uint64_t k = 0; k < (s.multi ? 1 + i % 2 : 1); ++k) {
      r.edges.push_back({u * s.sparse, v * s.sparse});
      if (s.weights == weight_kind::u32) r.whole.push_back(static_cast<std::uint32_t>(1 + random_bits(7, 4 + k, i) % 50));
      else r.real.push_back(static_cast<float>(1 + random_bits(7, 4 + k, i) % 64) / 4);
    }
  }
  return r;
}
graph_handle make(shape const& s) {
  raw const r = edges_of(s);
  edge_array a;
  a.edges = r.edges;
  a.weights = r.whole;
  a.real_weights = r.real;
  a.vertices = s.sparse == 1 ? s.vertices : 0;
  build_options o;
  o.undirected = s.undirected;
  o.id_bytes = s.id_bytes;
  o.in_edges = !s.undirected;
  o.keep_duplicates = o.keep_loops = s.multi;
  return build_graph(a, o);
}

// Serial references over the original edges.
struct twin {
  std::vector<std::uint64_t> ids;
  std::vector<std::tuple<std::size_t, std::size_t, double>> arcs;  // by positions

  twin(shape const& s, std::vector<std::uint64_t> all) : ids(std::move(all)) {
    raw const r = edges_of(s);
    auto const at = [&](std::uint64_t id) { return static_cast<std::size_t>(std::lower_bound(ids.begin(), ids.end(), id) - ids.begin()); };
    for (std::size_t i = 0; i < r.edges.size(); ++i) {
      double const w = r.whole.empty() ? static_cast<double>(r.real[i]) : r.whole[i];
      if (!s.multi && r.edges[i].source == r.edges[i].target) continue;
      arcs.emplace_back(at(r.edges[i].source), at(r.edges[i].target), w);
      if (s.undirected) arcs.emplace_back(at(r.edges[i].target), at(r.edges[i].source), w);
    }
  }
  // Bellman-Ford; with unit weights the depths.
  std::vector<double> distances(std::uint64_t source, bool unit) const {
    std::vector<double> d(ids.size(), std::numeric_limits<double>::infinity());
    d[static_cast<std::size_t>(std::lower_bound(ids.begin(), ids.end(), source) - ids.begin())] = 0;
    for (bool again = true; again;) {
      again = false;
      for (auto const& [u, v, w] : arcs)
        if (d[u] + (unit ? 1 : w) < d[v]) d[v] = d[u] + (unit ? 1 : w), again = true;
    }
    return d;
  }
  std::vector<std::uint64_t> labels() const {
    std::vector<std::uint64_t> label = ids;
    for (bool again = true; again;) {
      again = false;
      for (auto const& [u, v, w] : arcs)
        if (label[u] != label[v]) label[u] = label[v] = std::min(label[u], label[v]), again = true;
    }
    return label;
  }
};

std::vector<vertex_order> const orders = {vertex_order::natural, vertex_order::degree, vertex_order::bfs, vertex_order::random};
std::string name_of(shape const& s, vertex_order by) { return std::string(s.name) + ", order " + std::to_string(static_cast<int>(by)); }

class jobs : public at_place {
 protected:
  graph_handle ordered(shape const& s, vertex_order by) const { return to_device(reorder_graph(make(s), {by, 3}), where(), tier::host); }
  template <class Options>
  Options options() const {
    Options o;
    o.device = where();
    o.verify = true;
    return o;
  }
};
GARNER_AT_EVERY_PLACE(jobs);

TEST_P(jobs, bfs_in_any_order) {
  for (shape const& s : shapes)
    for (vertex_order by : orders) {
      SCOPED_TRACE(name_of(s, by));
      graph_handle const g = ordered(s, by);
      auto const ids = g.ids();
      twin const plain(s, ids);
      std::set<std::pair<std::uint64_t, std::uint64_t>> arcs;
      for (auto const& [u, v, w] : plain.arcs) arcs.emplace(u, v);
      for (bfs_variant variant : {bfs_variant::levels, bfs_variant::direction}) {
        auto o = options<bfs_options>();
        o.variant = variant;
        bfs_solver search(g, o);
        for (std::uint64_t const source : {ids.front(), ids[ids.size() / 2], ids.back()}) {
          bfs_run const run = search.run(source);
          EXPECT_TRUE(run.verified);
          EXPECT_EQ(run.source, source);
          auto const expected = plain.distances(source, true);
          auto const depth = search.depths();
          auto const parent = search.parents();
          std::uint64_t reached = 0;
          for (std::size_t k = 0; k < ids.size(); ++k) {
            if (std::isinf(expected[k])) {
              ASSERT_EQ(depth[k], unreached);
              ASSERT_EQ(parent[k], no_vertex);
              continue;
            }
            ++reached;
            ASSERT_EQ(depth[k], expected[k]);
            std::uint64_t const p = g.position(parent[k]);
            if (ids[k] == source) ASSERT_EQ(parent[k], source);
            else ASSERT_TRUE(depth[p] + 1 == depth[k] && arcs.contains({p, k}));
          }
          EXPECT_EQ(run.reached, reached);
          bfs_result const once = bfs(g, source, o);
          EXPECT_EQ(once.depth, depth);
          EXPECT_EQ(once.parent.size(), ids.size());
        }
      }
    }
}

TEST_P(jobs, sssp_in_any_order) {
  for (shape const& s : shapes)
    for (vertex_order by : orders) {
      if (s.edges == 0) continue;  // and so no weights
      SCOPED_TRACE(name_of(s, by));
      graph_handle const g = ordered(s, by);
      auto const ids = g.ids();
      twin const plain(s, ids);
      sssp_solver search(g, options<sssp_options>());
      for (std::uint64_t const source : {ids.front(), ids[ids.size() / 2]}) {
        sssp_run const run = search.run(source);
        EXPECT_TRUE(run.verified);
        auto const expected = plain.distances(source, false);
        auto const whole = search.distances();
        auto const real = search.real_distances();
        auto const parent = search.parents();
        ASSERT_EQ(whole.size(), s.weights == weight_kind::u32 ? ids.size() : 0u);
        ASSERT_EQ(real.size(), s.weights == weight_kind::f32 ? ids.size() : 0u);
        for (std::size_t k = 0; k < ids.size(); ++k) {  // the f32 weights are quarters: sums are exact
          double const is = !real.empty()                    ? static_cast<double>(real[k])
                            : whole[k] == unreached_distance ? std::numeric_limits<double>::infinity()
                                                             : static_cast<double>(whole[k]);
          ASSERT_EQ(is, expected[k]);
          ASSERT_EQ(parent[k] == no_vertex, std::isinf(expected[k]));
          if (parent[k] == no_vertex || ids[k] == source) continue;
          std::uint64_t const p = g.position(parent[k]);
          ASSERT_TRUE(std::any_of(plain.arcs.begin(), plain.arcs.end(), [&](auto const& a) {
            return std::get<0>(a) == p && std::get<1>(a) == k && expected[p] + std::get<2>(a) == expected[k];
          }));
        }
        sssp_result const once = sssp(g, source, options<sssp_options>());
        EXPECT_EQ(once.distance, whole);
        EXPECT_EQ(once.real_distance, real);
      }
    }
}

TEST_P(jobs, components_in_any_order) {
  for (shape const& s : shapes)
    for (vertex_order by : orders)
      for (components_variant variant : {components_variant::afforest, components_variant::emogi}) {
        SCOPED_TRACE(name_of(s, by));
        graph_handle const g = ordered(s, by);
        auto o = options<components_options>();
        o.variant = variant;
        components_result const r = components(g, o);
        EXPECT_TRUE(r.run.verified);
        auto const expected = twin(s, g.ids()).labels();
        EXPECT_EQ(r.label, expected);
        EXPECT_EQ(r.run.components, std::set(expected.begin(), expected.end()).size());
      }
}

TEST_P(jobs, pagerank_in_any_order) {
  for (shape const& s : shapes) {
    graph_handle const natural = ordered(s, vertex_order::natural);
    auto o = options<pagerank_options>();
    o.iterations = 30;
    if (s.edges > 1) o.personalization = {{natural.ids()[3], 1}, {natural.ids()[17], 2}};
    pagerank_result const plain = pagerank(natural, o);
    EXPECT_NEAR(std::accumulate(plain.rank.begin(), plain.rank.end(), 0.0), 1, 1e-5);
    for (vertex_order by : orders) {
      SCOPED_TRACE(name_of(s, by));
      graph_handle const g = ordered(s, by);
      pagerank_result const r = pagerank(g, o);
      EXPECT_TRUE(r.run.verified);
      ASSERT_EQ(r.rank.size(), plain.rank.size());
      double off = 0;
      for (std::size_t k = 0; k < r.rank.size(); ++k) off += std::abs(static_cast<double>(r.rank[k]) - static_cast<double>(plain.rank[k]));
      EXPECT_LT(off, 1e-5);
      auto const top = highest_ranks(g, r, 5);
      ASSERT_EQ(top.size(), std::min<std::size_t>(5, r.rank.size()));
      for (std::size_t k = 0; k < top.size(); ++k) {
        EXPECT_EQ(top[k].rank, r.rank[g.position(top[k].id)]);
        if (k == 0) continue;
        EXPECT_TRUE(top[k].rank < top[k - 1].rank || (top[k].rank == top[k - 1].rank && top[k].id > top[k - 1].id));
      }
    }
  }
}

TEST_P(jobs, of_an_empty_graph) {
  for (vertex_order by : orders) {
    graph_handle const g = to_device(reorder_graph(build_graph({}), {by, 1}), where(), tier::host);
    EXPECT_TRUE(g.ids().empty());
    EXPECT_EQ(components(g, options<components_options>()).label.size(), 0u);
    EXPECT_EQ(pagerank(g, options<pagerank_options>()).rank.size(), 0u);
    EXPECT_TRUE(pick_sources(g, 3).empty());
    EXPECT_TRUE(refused(errc::input, [&] { bfs(g, 0, options<bfs_options>()); }));
  }
}

TEST(contract, the_same_sources_in_any_order) {
  for (shape const& s : shapes)
    for (vertex_order by : orders) {
      auto const picked = pick_sources(reorder_graph(make(s), {by, 3}), 10, 5);
      EXPECT_EQ(picked, pick_sources(make(s), 10, 5));
      EXPECT_EQ(picked.size(), s.edges ? 10u : 0u);
    }
}

TEST(contract, edges_that_make_no_graph_are_named) {
  std::vector<edge> const edges{{0, 1}, {1, 2}};
  std::vector<std::uint32_t> const one{1};
  std::vector<float> const bad{1, -1}, none{1, NAN}, zero{-0.0f, 1};
  errc code{};
  edge_array a;
  a.edges = edges;
  a.weights = one;
  EXPECT_EQ(error_of([&] { build_graph(a); }, &code), "1 weights for 2 edges; give each edge one");
  EXPECT_EQ(code, errc::usage);
  a.real_weights = bad;
  EXPECT_NE(error_of([&] { build_graph(a); }, &code).find("of one kind"), std::string::npos);
  a.weights = {};
  EXPECT_TRUE(refused(errc::input, "edge 1: 1 -> 2: its weight is -1", [&] { build_graph(a); }));
  a.real_weights = none;
  EXPECT_NE(error_of([&] { build_graph(a); }, &code).find("nan"), std::string::npos);
  a.real_weights = zero;
  EXPECT_EQ(sssp(build_graph(a), 0).real_distance, (std::vector<float>{0, 0, 1}));
  std::vector<edge> const last{{0, ~std::uint64_t{0}}};
  a = {};
  a.edges = last;
  EXPECT_NE(error_of([&] { build_graph(a); }, &code).find("2^64 - 2"), std::string::npos);
}

TEST(contract, what_is_dropped_is_reported) {
  std::vector<edge> const edges{{0, 1}, {0, 1}, {2, 2}, {1, 2}};
  build_report report;
  edge_array a;
  a.edges = edges;
  a.vertices = 6;
  graph_handle const g = build_graph(a, {}, &report);
  EXPECT_EQ(g.info().vertices, 6u);
  EXPECT_EQ(g.info().edges, 2u);
  EXPECT_EQ(report.duplicates_dropped, 1u);
  EXPECT_EQ(report.loops_dropped, 1u);
  EXPECT_EQ(report.isolated, 3u);
}

TEST(contract, a_job_reads_where_the_edges_lie_or_says_so) {
  graph_handle const g = make(shapes[0]);
  errc code{};
  bfs_options o;
  o.device = {device_kind::cuda, 0};
  std::string const why = error_of([&] { bfs(g, 0, o); }, &code);
  bool const there = device::count() > 0;
  EXPECT_NE(why.find(there ? "not readable on cuda:0; open the graph for that device" : device::why_none()), std::string::npos) << why;
  EXPECT_EQ(code, there ? errc::usage : errc::device);
  EXPECT_TRUE(refused(errc::usage, [&] { to_device(make(shapes[0]), {}, tier::device); }));
  o.device = {};
  o.edges = tier::device;
  EXPECT_TRUE(refused(errc::usage, [&] { bfs(g, 0, o); }));
}

TEST(contract, a_graph_that_cannot_be_brought_stays_as_it_was) {
  graph_handle g = make(shapes[0]);
  std::uint64_t const edges = g.info().edges;
  EXPECT_TRUE(refused(errc::device, [&] { to_device(std::move(g), {device_kind::cuda, 63}); }));
  ASSERT_TRUE(g);
  EXPECT_EQ(g.info().edges, edges);
  EXPECT_TRUE(to_device(std::move(g), {}));
  EXPECT_FALSE(g);
}

// Edges on another GPU: loaded there, or moved; every algorithm and a score as on the CPU. This tier needs a fast link.
TEST(contract, edges_lie_on_a_peer_of_device) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  execution_device const where{device_kind::cuda, 0};
  if (device::count() < 2 || !device::peer_of(0, 1).fast) {
    EXPECT_TRUE(refused(errc::device, "no fast link", [&] { to_device(make(shapes[0]), where, tier::peer); }));
    GTEST_SKIP() << "needs two GPUs with a fast link";
  }
  std::filesystem::path const file = std::filesystem::temp_directory_path() / ("garner_peer_" + std::to_string(::getpid()) + ".gnr");
  generate_options made;
  made.scale = 12;
  made.build.random_weights = build_options::weight_options{};
  save_graph(generate_graph(made), file);
  open_options near;
  near.device = where, near.edges = tier::peer;
  graph_handle const home = open_graph(file), loaded = open_graph(file, near), brought = to_device(open_graph(file), where, tier::peer);
  std::filesystem::remove(file);
  for (graph_handle const* g : {&loaded, &brought}) {
    SCOPED_TRACE(g == &brought ? "brought" : "loaded");
    auto const at = [&](auto o) {
      o.device = where;
      return o;
    };
    EXPECT_EQ(bfs(*g, 5, at(bfs_options{})).depth, bfs(home, 5).depth);
    EXPECT_EQ(sssp(*g, 5, at(sssp_options{})).distance, sssp(home, 5).distance);
    EXPECT_EQ(components(*g, at(components_options{})).label, components(home).label);
    auto const here = pagerank(*g, at(pagerank_options{})).rank, want = pagerank(home).rank;
    for (std::size_t k = 0; k < want.size(); ++k) ASSERT_NEAR(here[k], want[k], 1e-6);
    score_options s, h;
    s.train = h.train = {1, 2, 3, 500};
    auto const score = scores(*g, at(s)).score, expected = scores(home, h).score;
    for (std::size_t k = 0; k < expected.size(); ++k) ASSERT_NEAR(score[k], expected[k], 1e-4 * (1 + expected[k]));
    // The card that holds them: the owner's, not the reader's.
    EXPECT_TRUE(refused(errc::usage, "are on device 1, for device 0 to read", [&] { bfs(*g, 5); }));
    EXPECT_NE(error_of([&] { scores(*g, h); }).find("are on device 1, for device 0 to read"), std::string::npos);
  }
}

TEST(contract, a_handle_moves) {
  graph_handle a = make(shapes[0]);
  bfs_solver search(a);
  auto const depth = (search.run(0), search.depths());
  graph_handle b = std::move(a);
  search.run(0);  // the graph has not moved
  EXPECT_EQ(search.depths(), depth);
  EXPECT_TRUE(refused(errc::usage, [&] { a.info(); }));
  EXPECT_TRUE(refused(errc::usage, [&] { bfs(a, 0); }));
  a = std::move(b);
  EXPECT_EQ(a.info().vertices, 260u);
}

struct contract_files : ::testing::Test, own_folder {};

TEST_F(contract_files, saved_opened_read_and_converted) {
  for (shape const& s : shapes) {
    if (s.edges == 0) continue;  // and so no weights
    SCOPED_TRACE(s.name);
    graph_handle const g = make(s);
    EXPECT_TRUE(save_graph(reorder_graph(make(s)), at("g.gnr")).empty());
    graph_handle const opened = open_graph(at("g.gnr"));
    EXPECT_EQ(opened.info().order, vertex_order::degree);
    EXPECT_EQ(opened.info().weights, s.weights);
    EXPECT_EQ(opened.info().in_edges, !s.undirected);
    EXPECT_EQ(opened.ids(), g.ids());
    EXPECT_EQ(components(opened).label, components(g).label);
    open_options bare;
    bare.weights = bare.in_edges = false;
    EXPECT_EQ(open_graph(at("g.gnr"), bare).info().weights, weight_kind::none);
    build_options as_it_is;
    as_it_is.undirected = false;
    as_it_is.keep_duplicates = as_it_is.keep_loops = true;
    save_graph(opened, at("g.wel"));
    EXPECT_EQ(read_graph(at("g.wel"), as_it_is).info().edges, g.info().edges);
    build_report report;
    EXPECT_EQ(convert_graph(at("g.wel"), at("h.gnr"), as_it_is, &report).edges, g.info().edges);
    EXPECT_EQ(report.edges_read, g.info().edges);
  }
  errc code{};
  EXPECT_TRUE(refused(errc::io, [&] { open_graph(at("missing.gnr")); }));
  std::ofstream(at("text.gnr")) << "0 1\n";
  EXPECT_TRUE(refused(errc::input, [&] { open_graph(at("text.gnr")); }));
  EXPECT_NE(error_of([&] { read_graph(at("g.gnr")); }, &code).find("open_graph"), std::string::npos);
  EXPECT_TRUE(refused(errc::usage, [&] { save_graph(make(shapes[0]), at("g.foo")); }));
}

TEST(contract, generated_within_a_budget) {
  generate_options o;
  o.scale = 10;
  EXPECT_EQ(generate_graph(o).info().vertices, 1024u);
  limit_host_memory(4096);
  errc code{};
  error_of([&] { generate_graph(o); }, &code);
  limit_host_memory(~std::uint64_t{0});
  EXPECT_EQ(code, errc::memory);
}

TEST(contract, jobs_of_several_threads_take_turns) {
  generate_options o;
  o.scale = 12;
  graph_handle const g = generate_graph(o);
  auto const sources = pick_sources(g, 4);
  std::vector<std::vector<std::uint32_t>> depth(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 4; ++i) threads.emplace_back([&, i] { depth[i] = bfs(g, sources[i]).depth; });
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(depth[i], bfs(g, sources[i]).depth);
}

TEST(contract, long_work_can_be_stopped) {
  graph_handle const g = make(shapes[0]);
  request_interrupt();
  errc code{};
  error_of([&] { bfs(g, 0); }, &code);
  clear_interrupt();
  EXPECT_EQ(code, errc::interrupted);
  EXPECT_EQ(bfs(g, 0).run.source, 0u);
}

}  // namespace
}  // namespace garner::testing
