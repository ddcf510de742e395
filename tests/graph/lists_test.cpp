// The adjacency as arrays: the graph's own if uncompressed and in order, equal copies otherwise.
#include <map>
#include <vector>

#include "garner/handle.hpp"
#include "graph/handle.hpp"
#include "graph/pack.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

using row = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

std::vector<row> rows_of(graph_handle const& g) {
  adjacency_arrays const lists = adjacency_of(g);
  std::vector<row> rows(g.info().vertices);
  for (std::uint64_t v = 0; v < rows.size(); ++v)
    for (std::uint64_t i = lists.offsets[v]; i < lists.offsets[v + 1]; ++i) {
      std::uint64_t const target = g.info().id_bytes == 8 ? static_cast<std::uint64_t const*>(lists.targets)[i]
                                                          : static_cast<std::uint32_t const*>(lists.targets)[i];
      rows[v].emplace_back(target, lists.weights ? static_cast<std::uint32_t const*>(lists.weights)[i] : 0);
    }
  return rows;
}

graph_handle make(std::uint32_t id_bytes, bool weights) {
  generate_options o;
  o.kind = generator::web;
  o.scale = 8;
  o.build.id_bytes = id_bytes;
  if (weights) o.build.random_weights = build_options::weight_options{};
  return generate_graph(o);
}

TEST(adjacency_of, are_the_graphs_own_where_they_lie_plain) {
  for (std::uint32_t id_bytes : {4u, 8u})
    for (bool weights : {false, true}) {
      graph_handle const h = make(id_bytes, weights);
      graph const& g = graph_access::of(h);
      adjacency_arrays const lists = adjacency_of(h);
      EXPECT_EQ(lists.offsets, g.out.offsets.data());
      EXPECT_EQ(lists.targets, g.out.targets.data());
      EXPECT_EQ(lists.weights, weights ? g.out.weights.data() : nullptr);
      EXPECT_FALSE(lists.offsets_copied || lists.targets_copied || lists.weights_copied);
    }
}

TEST(adjacency_of, of_the_other_side_hold_who_leads_to_each) {
  for (vertex_order order : {vertex_order::natural, vertex_order::random}) {
    std::vector<edge> edges;
    for (std::uint64_t i = 0; i < 2000; ++i) edges.push_back({i * i % 257, i * 31 % 199});
    build_options o;
    o.in_edges = true;
    graph_handle const g = reorder_graph(build_graph({edges}, o), {order, 1, {}});
    ASSERT_TRUE(g.info().directed);
    adjacency_arrays const out = adjacency_of(g), in = adjacency_of(g, true);
    std::multimap<std::uint64_t, std::uint64_t> there, back;
    for (std::uint64_t v = 0; v < g.info().vertices; ++v) {
      for (std::uint64_t i = out.offsets[v]; i < out.offsets[v + 1]; ++i)
        there.emplace(v, static_cast<std::uint32_t const*>(out.targets)[i]);
      for (std::uint64_t i = in.offsets[v]; i < in.offsets[v + 1]; ++i) back.emplace(static_cast<std::uint32_t const*>(in.targets)[i], v);
    }
    EXPECT_EQ(there, back);
  }
  std::vector<edge> const two{{0, 1}, {1, 2}};
  graph_handle const without = build_graph({two});
  errc code{};
  EXPECT_NE(error_of([&] { adjacency_of(without, true); }, &code).find("no in-edges"), std::string::npos);
  EXPECT_EQ(code, errc::input);
}

TEST(adjacency_of, are_the_same_in_every_order_and_packed) {
  for (std::uint32_t id_bytes : {4u, 8u})
    for (bool weights : {false, true}) {
      std::vector<row> const plain = rows_of(make(id_bytes, weights));
      for (vertex_order order : {vertex_order::natural, vertex_order::degree, vertex_order::random})
        for (bool packed : {false, true}) {
          graph_handle h = reorder_graph(make(id_bytes, weights), {order, 1, {}});
          if (packed) {
            graph g = graph_access::take(std::move(h));
            pack(g);
            h = graph_access::wrap(std::move(g));
          }
          EXPECT_EQ(rows_of(h), plain) << static_cast<int>(order) << packed;
          EXPECT_EQ(adjacency_of(h).targets_copied, packed || order != vertex_order::natural);
        }
    }
}

TEST(adjacency_of, copies_outlive_the_graph) {
  adjacency_arrays lists;
  {
    graph_handle const h = reorder_graph(make(4, false), {vertex_order::random, 1, {}});
    lists = adjacency_of(h);
  }
  EXPECT_EQ(lists.offsets[0], 0u);
  EXPECT_EQ(lists.offsets[256], adjacency_of(make(4, false)).offsets[256]);
}

TEST(adjacency_of, device_edges_are_copied) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  std::vector<row> const plain = rows_of(make(4, true));
  for (bool packed : {false, true}) {
    graph_handle h = make(4, true);
    if (packed) {
      graph g = graph_access::take(std::move(h));
      pack(g);
      h = graph_access::wrap(std::move(g));
    }
    h = to_device(std::move(h), {device_kind::cuda, 0}, tier::device);
    EXPECT_TRUE(adjacency_of(h).targets_copied);
    EXPECT_EQ(rows_of(h), plain);
  }
}

}  // namespace
}  // namespace garner::testing
