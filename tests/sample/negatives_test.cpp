// Negative samples: their number, types and distribution, and none that is an edge.
#include <set>

#include "core/random.hpp"
#include "garner/subgraph.hpp"
#include "graph/handle.hpp"
#include "graph/pack.hpp"
#include "graph/reorder.hpp"
#include "refused.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

graph dense_graph(std::uint32_t id_bytes = 4) {
  std::vector<arc> arcs;
  for (std::uint64_t i = 0; i < 6000; ++i) arcs.push_back({random_bits(1, 0, i) % 100, random_bits(1, 1, i) % 100});
  build_options o;
  o.id_bytes = id_bytes;
  return make_graph(arcs, false, 100, o);
}
std::set<std::pair<std::int64_t, std::int64_t>> edges_of(graph_handle const& g) {
  adjacency_arrays const l = adjacency_of(g);
  std::set<std::pair<std::int64_t, std::int64_t>> all;
  for (std::uint64_t v = 0; v < g.info().vertices; ++v)
    for (std::uint64_t i = l.offsets[v]; i < l.offsets[v + 1]; ++i)
      all.insert({static_cast<std::int64_t>(v),
                  static_cast<std::int64_t>(g.info().id_bytes == 8 ? static_cast<std::uint64_t const*>(l.targets)[i]
                                                                   : static_cast<std::uint32_t const*>(l.targets)[i])});
  return all;
}
std::vector<std::int64_t> sources_of(std::uint64_t n) {
  std::vector<std::int64_t> s;
  for (std::uint64_t i = 0; i < n; ++i) s.push_back(static_cast<std::int64_t>(i % 90));
  return s;
}

TEST(negatives, are_as_many_as_asked_and_uniform) {
  negative_options o;
  o.amount = 0.3;
  vertex_pairs const few = sample_negatives(1, sources_of(11), 90, 7, o);
  EXPECT_EQ(few.sources.size(), 4u);  // rounded up
  EXPECT_EQ(few.targets.size(), 4u);
  o.amount = 20;
  vertex_pairs const many = sample_negatives(1, std::vector<std::int64_t>(1000, 3), 10, 7, o);
  std::vector<std::uint64_t> seen(70);
  for (std::size_t k = 0; k < many.sources.size(); ++k) {
    ASSERT_LT(static_cast<std::uint64_t>(many.sources[k]), 10u);
    ASSERT_LT(static_cast<std::uint64_t>(many.targets[k]), 7u);
    ++seen[static_cast<std::size_t>(many.sources[k] * 7 + many.targets[k])];
  }
  double chi = 0;
  for (std::uint64_t n : seen) chi += (static_cast<double>(n) - 20000.0 / 70) * (static_cast<double>(n) - 20000.0 / 70) / (20000.0 / 70);
  EXPECT_LT(chi, 120);  // of 69 degrees of freedom: one in 10,000
  EXPECT_EQ(sample_negatives(1, std::vector<std::int64_t>(1000, 3), 10, 7, o).targets, many.targets);
  EXPECT_NE(sample_negatives(2, std::vector<std::int64_t>(1000, 3), 10, 7, o).targets, many.targets);
  o.seed = 2;
  EXPECT_NE(sample_negatives(1, std::vector<std::int64_t>(1000, 3), 10, 7, o).targets, many.targets);
  EXPECT_TRUE(sample_negatives(1, {}, 0, 0, o).targets.empty());
}

TEST(negatives, of_triplets_stand_source_by_source) {
  negative_options o;
  o.kind = negative_kind::triplet;
  o.amount = 3;
  vertex_pairs const drawn = sample_negatives(4, sources_of(50), 90, 1000, o);
  EXPECT_TRUE(drawn.sources.empty());
  EXPECT_EQ(drawn.targets.size(), 150u);
  EXPECT_GT(std::set<std::int64_t>(drawn.targets.begin(), drawn.targets.end()).size(), 100u);
}

TEST(negatives, are_no_edges_where_that_is_asked) {
  auto const check = [](graph_handle const& g) {
    auto const edges = edges_of(g);
    ASSERT_GT(edges.size(), 4000u);  // of 10,000: nearly half of the candidates are edges
    negative_options o;
    o.never_positive = true;
    o.amount = 4;
    auto const sources = sources_of(500);
    vertex_pairs const pairs = sample_negatives(7, sources, 100, 100, o, &g);
    for (std::size_t k = 0; k < pairs.sources.size(); ++k) EXPECT_FALSE(edges.count({pairs.sources[k], pairs.targets[k]}));
    o.kind = negative_kind::triplet;
    vertex_pairs const targets = sample_negatives(7, sources, 100, 100, o, &g);
    std::set<std::int64_t> found;
    for (std::size_t k = 0; k < targets.targets.size(); ++k) {
      EXPECT_FALSE(edges.count({sources[k / 4], targets.targets[k]}));
      found.insert(targets.targets[k]);
    }
    EXPECT_EQ(found.size(), 100u);
  };
  check(graph_access::wrap(dense_graph()));
  check(graph_access::wrap(dense_graph(8)));
  graph packed = dense_graph();
  pack(packed);
  check(graph_access::wrap(std::move(packed)));
  check(reorder_graph(graph_access::wrap(dense_graph()), {vertex_order::random, 3, {}}));
}

// Among 40 vertices 0 leads to all but `kept`, and each other one to all.
TEST(negatives, are_drawn_of_what_is_left_where_that_is_rare) {
  std::int64_t const n = 40;
  auto const lead = [&](std::set<std::int64_t> const& kept, std::uint32_t id_bytes) {
    std::vector<arc> arcs;
    for (std::int64_t u = 0; u < n; ++u)
      for (std::int64_t v = 0; v < n; ++v)
        for (int twice = 0; twice < 2; ++twice)
          if (u || !kept.count(v)) arcs.push_back({static_cast<std::uint64_t>(u), static_cast<std::uint64_t>(v)});
    build_options o;
    o.keep_loops = o.keep_duplicates = true;
    o.id_bytes = id_bytes;
    return make_graph(arcs, false, n, o);
  };
  for (std::set<std::int64_t> const& kept : {std::set<std::int64_t>{0}, {39}, {17}, {3, 9}, {0, 1, 20, 38, 39}}) {
    std::vector<graph_handle> graphs;
    graphs.push_back(graph_access::wrap(lead(kept, 4)));
    graphs.push_back(graph_access::wrap(lead(kept, 8)));
    graph packed = lead(kept, 4);
    pack(packed);
    graphs.push_back(graph_access::wrap(std::move(packed)));
    graphs.push_back(reorder_graph(graph_access::wrap(lead(kept, 4)), {vertex_order::random, 3, {}}));
    for (negative_kind const kind : {negative_kind::triplet, negative_kind::binary}) {
      negative_options o;
      o.never_positive = true;
      o.kind = kind;
      std::vector<std::int64_t> const sources(1000, 0);
      vertex_pairs const first = sample_negatives(5, sources, n, n, o, &graphs[0]);
      std::vector<std::uint64_t> seen(static_cast<std::size_t>(n));
      for (std::size_t k = 0; k < 1000; ++k) {
        EXPECT_TRUE(kept.count(first.targets[k]));
        EXPECT_TRUE(kind == negative_kind::triplet || first.sources[k] == 0);
        ++seen[static_cast<std::size_t>(first.targets[k])];
      }
      for (std::int64_t const v : kept) {
        double const mean = 1000.0 / static_cast<double>(kept.size());
        EXPECT_LT(std::abs(static_cast<double>(seen[static_cast<std::size_t>(v)]) - mean), 5 * std::sqrt(mean)) << v;
      }
      for (graph_handle const& g : graphs) {
        vertex_pairs const again = sample_negatives(5, sources, n, n, o, &g);
        EXPECT_EQ(again.targets, first.targets);
        EXPECT_EQ(again.sources, first.sources);
      }
    }
  }
  // Ids beyond the types' ends never appear.
  negative_options o;
  o.never_positive = true;
  graph_handle const g = graph_access::wrap(lead({39}, 4));
  EXPECT_NE(error_of([&] {
              sample_negatives(1, std::vector<std::int64_t>{1}, 40, 39, o, &g);
            }).find("every vertex leads to each of 39 vertices, so that no negative is left; use never_positive"),
            std::string::npos);
}

TEST(negatives, refuse_what_cannot_be) {
  std::vector<arc> arcs;
  for (std::uint64_t v = 0; v < 20; ++v) arcs.push_back({5, v});
  build_options keep;
  keep.keep_loops = true;
  graph_handle const g = graph_access::wrap(make_graph(arcs, false, 20, keep));
  negative_options o;
  o.never_positive = true;
  o.kind = negative_kind::triplet;
  std::vector<std::int64_t> const all{4, 5}, outside{3, -1}, fine{4};
  errc code{};
  EXPECT_TRUE(refused(errc::input,
                      "vertex 5 leads to each of 20 vertices, so that no negative is left; leave the vertex out, or use never_positive",
                      [&] { sample_negatives(3, all, 20, 20, o, &g); }));
  EXPECT_EQ(error_of([&] { sample_negatives(3, outside, 20, 20, o, &g); }, &code),
            "source -1 at position 1 of mini-batch 3: there are vertices 0 to 19");
  EXPECT_TRUE(refused(errc::usage, "need a graph", [&] { sample_negatives(3, fine, 20, 20, o); }));
  EXPECT_TRUE(refused(errc::input, "has 20 vertices", [&] { sample_negatives(3, fine, 20, 30, o, &g); }));
  EXPECT_NE(error_of([&] { sample_negatives(3, fine, 20, 0, {}); }, &code).find("both counts must be above 0"), std::string::npos);
  for (double const amount : {0.0, -1.0, 1.5, std::nan("")}) {
    o.amount = amount;
    EXPECT_TRUE(refused(errc::usage, "negatives an edge", [&] { sample_negatives(3, fine, 20, 20, o, &g); })) << amount;
  }
}

}  // namespace
}  // namespace garner
