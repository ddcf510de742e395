// The summary against counts by hand, and against the slow way on random graphs.
#include "graph/summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/random.hpp"

using namespace garner;

namespace {

std::vector<std::uint64_t> offsets_of(std::vector<std::uint64_t> const& degrees) {
  std::vector<std::uint64_t> offsets{0};
  for (std::uint64_t d : degrees) offsets.push_back(offsets.back() + d);
  return offsets;
}
graph_info info_of(std::vector<std::uint64_t> const& offsets, bool directed = false) {
  graph_info info;
  info.vertices = offsets.size() - 1;
  info.edges = offsets.back();
  info.directed = directed;
  return info;
}

TEST(summary, counts_a_small_graph) {
  auto const offsets = offsets_of({0, 1, 3, 4, 24, 0, 100, 5});
  auto const s = summarize(info_of(offsets), offsets.data());
  EXPECT_EQ(s.degree_min, 0u);
  EXPECT_EQ(s.degree_max, 100u);
  EXPECT_EQ(s.degree_median, 3u);  // 0 0 1 3 | 4 5 24 100
  EXPECT_DOUBLE_EQ(s.degree_mean, 137.0 / 8);
  EXPECT_EQ(s.isolated, 2u);
  EXPECT_EQ(s.lists, 6u);
  EXPECT_EQ(s.lists_on_lines, 2u);  // those that start at edges 0 (vertex 1) and 32 (vertex 6)
  ASSERT_EQ(s.bins.size(), 8u);     // 0 | 1 | 2-3 | 4-7 | 8-15 | 16-31 | 32-63 | 64-127
  std::uint64_t const low[]{0, 1, 2, 4, 8, 16, 32, 64}, high[]{0, 1, 3, 7, 15, 31, 63, 127};
  std::uint64_t const vertices[]{2, 1, 1, 2, 0, 1, 0, 1}, edges[]{0, 1, 3, 9, 0, 24, 0, 100};
  for (std::size_t k = 0; k < 8; ++k) {
    EXPECT_EQ(s.bins[k].low, low[k]);
    EXPECT_EQ(s.bins[k].high, high[k]);
    EXPECT_EQ(s.bins[k].vertices, vertices[k]) << k;
    EXPECT_EQ(s.bins[k].edges, edges[k]) << k;
  }
  ASSERT_EQ(s.shares.size(), 14u);
  EXPECT_EQ(s.shares[0].edges, 0u);
  EXPECT_EQ(s.shares[1].degree, 8u);
  EXPECT_EQ(s.shares[1].edges, 13u);
  EXPECT_EQ(s.shares[2].edges, 13u);
  EXPECT_EQ(s.shares[3].degree, 24u);
  EXPECT_EQ(s.shares[3].edges, 37u);
  EXPECT_DOUBLE_EQ(s.shares[12].share, 37.0 / 137);
  EXPECT_EQ(s.shares[13].degree, 100u);
  EXPECT_DOUBLE_EQ(s.shares[13].share, 1);
}

TEST(summary, graphs_without_vertices_or_edges) {
  auto const nothing = offsets_of({});
  auto s = summarize(info_of(nothing), nothing.data());
  EXPECT_EQ(s.isolated, 0u);
  EXPECT_TRUE(s.bins.empty());
  EXPECT_DOUBLE_EQ(s.shares.back().share, 1);
  auto const lonely = offsets_of({0, 0, 0});
  s = summarize(info_of(lonely), lonely.data());
  EXPECT_EQ(s.isolated, 3u);
  EXPECT_EQ(s.lists, 0u);
  EXPECT_EQ(s.bins.size(), 1u);
}

TEST(summary, isolated_vertices_of_a_directed_graph_need_its_in_lists) {
  auto const out = offsets_of({2, 0, 0}), in = offsets_of({0, 2, 0});
  EXPECT_FALSE(summarize(info_of(out, true), out.data()).isolated);
  EXPECT_EQ(summarize(info_of(out, true), out.data(), in.data()).isolated, 1u);
}

TEST(summary, agrees_with_sorting_the_degrees) {
  for (std::uint64_t top : {4u, 90u, 3000u, 100000u}) {
    std::vector<std::uint64_t> degrees(600'001);  // more than one chunk
    for (std::size_t v = 0; v < degrees.size(); ++v)
      degrees[v] = scale_bits(static_cast<std::uint32_t>(random_bits(1, top, v)), static_cast<std::uint32_t>(top));
    auto const offsets = offsets_of(degrees);
    graph_info info = info_of(offsets);
    info.id_bytes = 8;
    auto const s = summarize(info, offsets.data());
    std::uint64_t on_lines = 0;
    for (std::size_t v = 0; v < degrees.size(); ++v) on_lines += degrees[v] && offsets[v] % 16 == 0;
    EXPECT_EQ(s.lists_on_lines, on_lines);
    std::sort(degrees.begin(), degrees.end());
    EXPECT_EQ(s.degree_median, degrees[degrees.size() / 2]);
    EXPECT_EQ(s.degree_min, degrees.front());
    EXPECT_EQ(s.degree_max, degrees.back());
    std::uint64_t vertices = 0, edges = 0;
    for (auto const& b : s.bins) vertices += b.vertices, edges += b.edges;
    EXPECT_EQ(vertices, info.vertices);
    EXPECT_EQ(edges, info.edges);
    for (auto const& p : s.shares) {
      std::uint64_t below = 0;
      for (std::uint64_t d : degrees) below += d <= p.degree ? d : 0;
      EXPECT_EQ(p.edges, below) << p.degree;
    }
  }
}

}  // namespace
