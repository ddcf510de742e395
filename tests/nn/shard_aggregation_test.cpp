// Aggregation over parts whose remote rows the caller exchanges: against a single part, bit for bit with deterministic reduction; and the
// digest for comparing graphs between processes.
#include "garner/aggregate.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "shard_support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

class shard_aggregation_at : public at_place {
 protected:
  // All parts' rows after one call, in the graph's order; the test exchanges rows by hand.
  std::vector<float> run(graph_handle const& g, shard_options const& o, bool weighted, aggregation how, bool back,
                         std::vector<float> const& rows, std::uint64_t columns) {
    executor x(where());
    std::vector<float> out;
    std::vector<std::uint64_t> first(o.shards + 1, g.info().vertices);
    std::vector<shard_aggregation> parts;
    for (std::uint32_t s = 0; s < o.shards; ++s) parts.emplace_back(g, edge_direction::in, weighted, o, s, where());
    for (std::uint32_t s = 0; s < o.shards; ++s) first[s] = parts[s].first();
    for (std::uint32_t s = 0; s < o.shards; ++s) {
      shard_aggregation& part = parts[s];
      std::vector<float> brought;
      std::uint64_t const end = first[s] + part.count();
      EXPECT_EQ(end, first[s + 1]);
      for (std::uint32_t k = 0; k < o.shards; ++k)
        for (std::uint32_t const row : part.needs(back)[k]) {
          EXPECT_LT(row, parts[k].count());
          auto const from = rows.begin() + static_cast<std::ptrdiff_t>((first[k] + row) * columns);
          brought.insert(brought.end(), from, from + static_cast<std::ptrdiff_t>(columns));
        }
      auto const in = near_copy(x, std::vector<float>(rows.begin() + static_cast<std::ptrdiff_t>(first[s] * columns),
                                                      rows.begin() + static_cast<std::ptrdiff_t>(end * columns)));
      auto const others = near_copy(x, brought);
      auto to = near_copy(x, std::vector<float>(part.count() * columns, 77));
      for (int k = 0; k < 2; ++k) {
        part.begin(k ? how : aggregation::sum, back, in.data(), to.data(), columns);
        part.finish(k ? how : aggregation::sum, back, in.data(), others.data(), to.data(), columns);
      }
      auto const mine = host_copy(x, to.data(), part.count() * columns);
      out.insert(out.end(), mine.begin(), mine.end());
    }
    return out;
  }
};
GARNER_AT_EVERY_PLACE(shard_aggregation_at);

TEST_P(shard_aggregation_at, parts_give_what_one_gives) {
  constexpr std::uint64_t n = 600, columns = 8;
  for (bool const undirected : {true, false}) {
    graph_handle const g = graph_with_hub(n, undirected, true);
    std::vector<float> rows(n * columns);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(unit_float(random_bits(3, 0, i))) - 0.5f;
    for (aggregation const how : {aggregation::sum, aggregation::mean, aggregation::gcn})
      for (bool const back : {false, true})
        for (bool const weighted : {false, true}) {
          shard_options o;
          std::vector<float> const one = run(g, o, weighted, how, back, rows, columns);
          for (std::uint32_t const shards : {2u, 19u}) {
            o.shards = shards, o.sums = shard_reduction::deterministic;
            EXPECT_EQ(run(g, o, weighted, how, back, rows, columns), one) << shards << " " << to_string(how) << back << weighted;
            o.sums = shard_reduction::fast;
            std::vector<float> const quick = run(g, o, weighted, how, back, rows, columns);
            ASSERT_EQ(quick.size(), one.size());
            for (std::size_t i = 0; i < one.size(); ++i) ASSERT_NEAR(quick[i], one[i], 1e-3 * (1 + std::abs(one[i]))) << i;
          }
        }
  }
}

// In host memory, 64 columns at a time, with adjacency on the device or streamed: the bits of rows on the device.
TEST_P(shard_aggregation_at, rows_in_host_memory_give_what_rows_here_give) {
  constexpr std::uint64_t n = 600;
  graph_handle const g = graph_with_hub(n, false, true);
  for (std::uint64_t const columns : {1u, 64u, 200u}) {
    std::vector<float> rows(n * columns);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(unit_float(random_bits(3, 0, i))) - 0.5f;
    for (bool const weighted : {false, true})
      for (bool const streamed : {false, true}) {
        shard_options o;
        o.remote_adjacency = streamed, o.list_window = 512;
        shard_aggregation part(g, edge_direction::in, weighted, o, 0, where());
        for (aggregation const how : {aggregation::sum, aggregation::mean, aggregation::gcn})
          for (bool const back : {false, true}) {
            std::vector<float> out(rows.size(), 77);
            part.reduce_host(how, back, rows.data(), out.data(), columns);
            EXPECT_EQ(out, run(g, {}, weighted, how, back, rows, columns)) << columns << to_string(how) << back << weighted << streamed;
          }
      }
  }
}

TEST(shard_aggregation, says_what_is_wrong) {
  graph_handle const g = graph_with_hub(60, true, false), directed = build_graph({.edges = std::vector<edge>{{0, 1}, {1, 2}}});
  shard_options o;
  o.shards = 49;
  EXPECT_THAT(error_of([&] { shard_aggregation(g, edge_direction::in, false, o, 0, {}); }),
              ::testing::HasSubstr("49 shards with the deterministic reduction: use 1 to 48"));
  o.sums = shard_reduction::fast;
  EXPECT_EQ(shard_aggregation(g, edge_direction::in, false, o, 48, {}).needs(true).size(), 49u);
  EXPECT_THAT(error_of([&] { shard_aggregation(g, edge_direction::in, false, o, 49, {}); }),
              ::testing::HasSubstr("shard 49 of 49: shards count from 0"));
  EXPECT_THAT(error_of([&] { shard_aggregation(g, edge_direction::in, true, o, 0, {}); }), ::testing::HasSubstr("has no weights"));
  o.shards = 3;
  std::vector<float> some(60);
  EXPECT_THAT(error_of([&] {
                shard_aggregation(g, edge_direction::in, false, o, 0, {}).reduce_host(aggregation::sum, false, some.data(), some.data(), 1);
              }),
              ::testing::HasSubstr("rows in host memory, and the graph is in 3 parts"));
  o.strategy = shard_strategy::mgg;
  EXPECT_THAT(error_of([&] { shard_aggregation(g, edge_direction::in, false, o, 0, {}); }), ::testing::HasSubstr("use bulk"));
  o.strategy = shard_strategy::bulk;
  EXPECT_THAT(error_of([&] { shard_aggregation(directed, edge_direction::in, false, o, 0, {}); }), ::testing::HasSubstr("has no in-edges"));
}

TEST(shard_aggregation, vertices_are_told_by_position) {
  graph_handle const g = reorder_graph(graph_with_hub(100, true, false));
  shard_options o;
  o.shards = 3;
  std::vector<std::int64_t> all;
  for (std::uint32_t s = 0; s < 3; ++s) {
    shard_aggregation const part(g, edge_direction::in, false, o, s, {});
    std::vector<std::int64_t> const some = part.positions();
    EXPECT_EQ(some.size(), part.count());
    EXPECT_TRUE(part.symmetric());
    all.insert(all.end(), some.begin(), some.end());
  }
  EXPECT_EQ(all[0], 7);  // the hub comes first
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<std::int64_t>(i));
}

TEST(digest, is_of_what_a_graph_says) {
  auto const of = [](std::vector<edge> const& edges, bool undirected, std::vector<std::uint32_t> const& weights = {},
                     bool in_edges = false) {
    build_options o;
    o.undirected = undirected, o.in_edges = in_edges;
    return digest_of(build_graph({.edges = edges, .weights = weights, .vertices = 5}, o));
  };
  std::vector<edge> const edges{{0, 1}, {1, 2}, {2, 4}};
  std::uint64_t const first = of(edges, true);
  EXPECT_EQ(of({{2, 4}, {1, 2}, {0, 1}}, true), first);
  std::vector<std::uint64_t> const others{of(edges, false), of(edges, false, {}, true), of({{0, 1}, {1, 2}, {2, 3}}, true),
                                          of(edges, true, {1, 2, 3}), of(edges, true, {1, 2, 4})};
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_NE(others[i], first) << i;
    for (std::size_t k = 0; k < i; ++k) EXPECT_NE(others[i], others[k]) << i << " " << k;
  }
  graph_handle g = graph_with_hub(3000, false, true);
  std::uint64_t const plain = digest_of(g);
  g = reorder_graph(std::move(g));
  EXPECT_NE(digest_of(g), plain);
  EXPECT_EQ(digest_of(reorder_graph(std::move(g), {vertex_order::natural})), plain);
}

}  // namespace
}  // namespace garner
