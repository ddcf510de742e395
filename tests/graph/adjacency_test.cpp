// make_adjacency against a serial stable sort, for any edges, width and stride; and in-edges that are made later.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/progress.hpp"
#include "core/random.hpp"
#include "garner/handle.hpp"
#include "graph/handle.hpp"
#include "graph/relation.hpp"
#include "memory/budget.hpp"
#include "support.hpp"

namespace garner {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

struct ends {
  std::vector<std::int64_t> source, target;
};

// Input layouts: 4 or 8 bytes, every `stride`-th number of an array, backward if negative.
struct lying {
  std::vector<std::int64_t> wide;
  std::vector<std::int32_t> narrow;
  edge_ends as;
  lying(std::vector<std::int64_t> const& of, std::uint32_t bytes, std::int64_t stride) {
    std::uint64_t const step = static_cast<std::uint64_t>(std::abs(stride)), n = of.size();
    wide.resize(n * step, -7), narrow.resize(n * step, -7);
    for (std::uint64_t i = 0; i < n; ++i) {
      std::uint64_t const at = (stride < 0 ? n - 1 - i : i) * step;
      wide[at] = of[i], narrow[at] = static_cast<std::int32_t>(of[i]);
    }
    std::uint64_t const first = stride < 0 && n ? (n - 1) * step : 0;
    as = {bytes == 8 ? static_cast<void const*>(wide.data() + first) : narrow.data() + first, n, stride, bytes};
  }
};

void expect_as_sorted(ends const& e, adjacency_options options, std::uint32_t bytes = 8, std::int64_t stride = 1) {
  auto const& [draws, drawn] = options.backward ? std::tie(e.source, e.target) : std::tie(e.target, e.source);
  std::vector<std::uint64_t> order(e.source.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&, &whose = draws, &neighbor = drawn](std::uint64_t a, std::uint64_t b) {
    return std::pair(whose[a], neighbor[a]) < std::pair(whose[b], neighbor[b]);
  });
  std::vector<float> weights(order.size());
  for (std::uint64_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(random_bits(9, 0, i) % 1000);
  lying const from(e.source, bytes, stride), to(e.target, bytes, stride);
  for (device_kind const where : {device_kind::cpu, device_kind::simulated})
    for (bool const ids : {false, true})
      for (bool const weighted : {false, true}) {
        options.device = {where};
        options.edge_ids = ids;
        options.weights = weighted ? std::span<float const>(weights) : std::span<float const>();
        adjacency const made = make_adjacency(from.as, to.as, options);
        graph_info const& info = made.graph.info();
        ASSERT_EQ(info.vertices, std::max<std::uint64_t>(1, std::max(options.sources, options.targets)));
        ASSERT_EQ(info.edges, order.size());
        ASSERT_EQ(made.in_order, std::is_sorted(order.begin(), order.end()));
        ASSERT_EQ(made.edge_ids != nullptr, ids && !made.in_order);
        ASSERT_EQ(info.weights, weighted && !order.empty() ? weight_kind::f32 : weight_kind::none);
        adjacency_arrays const lists = adjacency_of(made.graph);
        std::uint64_t wrong = 0, begin = 0;
        for (std::uint64_t v = 0; v < info.vertices; ++v) {
          wrong += lists.offsets[v] != begin;
          while (begin < order.size() && static_cast<std::uint64_t>(draws[order[begin]]) == v) ++begin;
        }
        wrong += lists.offsets[info.vertices] != order.size();
        for (std::uint64_t k = 0; k < order.size(); ++k) {
          wrong += static_cast<std::uint32_t const*>(lists.targets)[k] != static_cast<std::uint64_t>(drawn[order[k]]);
          if (made.edge_ids) wrong += static_cast<std::uint32_t const*>(made.edge_ids)[k] != order[k];
          if (lists.weights) wrong += static_cast<float const*>(lists.weights)[k] != weights[order[k]];
        }
        ASSERT_EQ(wrong, 0u);
      }
}

ends drawn_ends(std::uint64_t count, std::uint64_t sources, std::uint64_t targets, std::uint64_t seed, std::uint64_t hubs = 0) {
  ends e;
  for (std::uint64_t i = 0; i < count; ++i) {
    e.source.push_back(static_cast<std::int64_t>(random_bits(seed, 0, i) % sources));
    e.target.push_back(static_cast<std::int64_t>(random_bits(seed, 1, i) % (hubs && i % 3 ? std::min(hubs, targets) : targets)));
  }
  return e;
}

TEST(adjacency, is_what_a_stable_sort_makes) {
  for (bool const backward : {false, true}) {
    SCOPED_TRACE(backward);
    auto const options = [&](std::uint64_t sources, std::uint64_t targets) { return adjacency_options{sources, targets, backward}; };
    expect_as_sorted({}, options(0, 0));
    expect_as_sorted({}, options(5, 3));
    expect_as_sorted({{0, 0, 0}, {0, 0, 0}}, options(1, 1));         // loops and duplicates of one node
    expect_as_sorted({{1, 0, 1, 2}, {1, 1, 1, 1}}, options(3, 9));   // isolated nodes at the end
    expect_as_sorted(drawn_ends(1000, 20, 30, 1), options(20, 30));  // one bucket
    expect_as_sorted(drawn_ends(150000, 9000, 70000, 2), options(9000, 70000));
    expect_as_sorted(drawn_ends(150000, 50, 4, 3), options(50, 4));                       // duplicates, hundreds of each
    expect_as_sorted(drawn_ends(150000, 100000, 100000, 4, 2), options(100000, 100000));  // two hubs
    expect_as_sorted(drawn_ends(150000, 300000, 1, 5), options(300000, 1));               // one list
    expect_as_sorted({std::vector<std::int64_t>(120000, 3), std::vector<std::int64_t>(120000, 2)}, options(9, 9));  // one edge
  }
  expect_as_sorted(drawn_ends(1300000, 700000, 900000, 6, 1000), {700000, 900000});  // more than are moved at once
}

TEST(adjacency, lists_are_in_the_order_of_times) {
  ends const e = drawn_ends(150000, 300, 2000, 13, 3);
  std::vector<std::int64_t> of_edges(e.source.size()), of_sources(300), of_targets(2000);
  for (std::uint64_t i = 0; i < of_edges.size(); ++i) of_edges[i] = static_cast<std::int64_t>(random_bits(14, 0, i) % 100) - 50;
  for (std::uint64_t i = 0; i < 2000; ++i) of_targets[i] = of_sources[i % 300] = static_cast<std::int64_t>(random_bits(14, 1, i) % 9);
  for (device_kind const where : {device_kind::cpu, device_kind::simulated})
    for (bool const backward : {false, true})
      for (bool const of_edge : {false, true}) {
        adjacency_options options{300, 2000, backward};
        options.device = {where};
        options.times_of_edges = of_edge, options.times = of_edge ? of_edges : backward ? of_targets : of_sources;
        auto const& [draws, drawn] = backward ? std::tie(e.source, e.target) : std::tie(e.target, e.source);
        std::vector<std::uint64_t> order(e.source.size());
        std::iota(order.begin(), order.end(), 0);
        auto const key = [&, &whose = draws, &neighbor = drawn](std::uint64_t i) {
          return std::tuple(whose[i], options.times[of_edge ? i : static_cast<std::uint64_t>(neighbor[i])], neighbor[i], i);
        };
        std::sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) { return key(a) < key(b); });
        adjacency const made = make_adjacency(lying(e.source, 8, 1).as, lying(e.target, 8, 1).as, options);
        adjacency_arrays const lists = adjacency_of(made.graph);
        std::uint64_t wrong = 0;
        for (std::uint64_t k = 0; k < order.size(); ++k) {
          wrong += static_cast<std::uint32_t const*>(lists.targets)[k] != static_cast<std::uint64_t>(drawn[order[k]]);
          wrong += static_cast<std::uint32_t const*>(made.edge_ids)[k] != order[k];
        }
        EXPECT_EQ(wrong, 0u);
        EXPECT_FALSE(made.in_order);
      }
  // Edges in order already; and the same number of times.
  std::vector<std::int64_t> const source{1, 0, 2}, target{0, 0, 1}, ages{3, 2, 9};
  adjacency_options options{3, 2};
  options.times = ages;
  EXPECT_FALSE(make_adjacency(lying(source, 8, 1).as, lying(target, 8, 1).as, options).in_order);
  std::vector<std::int64_t> const sorted{0, 1, 2};
  adjacency const same = make_adjacency(lying(sorted, 8, 1).as, lying(target, 8, 1).as, {3, 2, false, false, {}, "edge_index", sorted});
  EXPECT_TRUE(same.in_order);
  EXPECT_EQ(same.edge_ids, nullptr);
  options.times_of_edges = true, options.times = std::span(ages).first(2);
  EXPECT_EQ(error_of([&] { make_adjacency(lying(source, 8, 1).as, lying(target, 8, 1).as, options); }),
            "edge_index: 2 times for 3 edges; give each edge one");
}

TEST(adjacency, reads_numbers_of_4_and_8_bytes_strided_and_backward) {
  ends const e = drawn_ends(100000, 3000, 4000, 7, 20);
  for (std::uint32_t const bytes : {4u, 8u})
    for (std::int64_t const stride : {1, 2, -1, -3}) {
      SCOPED_TRACE(fmt::format("{} bytes, stride {}", bytes, stride));
      expect_as_sorted(e, {3000, 4000}, bytes, stride);
    }
}

TEST(adjacency, edges_in_order_are_seen) {
  ends e = drawn_ends(300000, 500, 700, 8);
  std::vector<std::pair<std::int64_t, std::int64_t>> both;
  for (std::uint64_t i = 0; i < e.source.size(); ++i) both.emplace_back(e.target[i], e.source[i]);
  std::sort(both.begin(), both.end());
  for (std::uint64_t i = 0; i < both.size(); ++i) std::tie(e.target[i], e.source[i]) = both[i];
  expect_as_sorted(e, {500, 700});
  EXPECT_TRUE(make_adjacency(lying(e.source, 8, 1).as, lying(e.target, 8, 1).as, {500, 700}).in_order);
  std::swap(e.source[131071], e.source[131072]), std::swap(e.target[131071], e.target[131072]);  // across two parts
  expect_as_sorted(e, {500, 700});
}

TEST(adjacency, the_first_edge_that_cannot_be_is_named) {
  ends e = drawn_ends(200000, 50, 60, 3);
  execution_device where;
  auto const said = [&](std::uint32_t bytes) {
    adjacency_options options{50, 60};
    options.device = where;
    return error_of([&] { make_adjacency(lying(e.source, bytes, 1).as, lying(e.target, bytes, 1).as, options); });
  };
  for (device_kind const kind : {device_kind::cpu, device_kind::simulated}) {
    where.kind = kind;
    e.source[150000] = 50, e.target[199999] = -1;
    for (std::uint32_t const bytes : {4u, 8u})
      EXPECT_EQ(said(bytes), "edge_index: source 50 of edge 150000 does not exist; there are 50 vertices of its type");
    e.source[150000] = 0;
    for (std::uint32_t const bytes : {4u, 8u})
      EXPECT_EQ(said(bytes), "edge_index: target -1 of edge 199999 does not exist; there are 60 vertices of its type");
  }
  ends const one{{0}, {0}};
  EXPECT_THROW(make_adjacency(lying(one.source, 8, 1).as, lying(one.target, 8, 1).as, {0, 1}), id_error);
  std::vector<float> const weights{-1};
  EXPECT_THAT(error_of([&] {
                make_adjacency(lying(one.source, 8, 1).as, lying(one.target, 8, 1).as, {1, 1, false, false, weights});
              }),
              HasSubstr("the weight of edge 0 is -1"));
}

TEST(adjacency, it_can_be_interrupted_and_refused_memory_and_made_again) {
  ends const e = drawn_ends(300000, 5000, 5000, 11);
  lying const from(e.source, 8, 1), to(e.target, 8, 1);
  std::uint64_t const used = host_budget().used();
  std::uint64_t interrupted = 0;
  for (std::uint64_t const checks : {0u, 3u, 12u, 30u, 45u}) {
    request_interrupt_after(checks);
    try {
      make_adjacency(from.as, to.as, {5000, 5000});
    } catch (error const& problem) {
      EXPECT_EQ(problem.code(), errc::interrupted);
      ++interrupted;
    }
    clear_interrupt();
    EXPECT_EQ(host_budget().used(), used);
  }
  EXPECT_GT(interrupted, 2u);
  std::uint64_t const limit = host_budget().limit();
  host_budget().set_limit(used + 300000 * 4 + 5001 * 8);  // no memory to move keys
  EXPECT_THAT(error_of([&] { make_adjacency(from.as, to.as, {5000, 5000}); }), HasSubstr("edges, to sort"));
  host_budget().set_limit(limit);
  EXPECT_EQ(host_budget().used(), used);
  expect_as_sorted(e, {5000, 5000});
}

// As needed from 2^32 edges on.
TEST(adjacency, edge_ids_of_8_bytes_are_the_same) {
  struct source : edge_source {
    ends e = drawn_ends(250000, 300, 400, 12);
    std::string called = "edges";
    std::string const& name() const override { return called; }
    std::uint64_t count() const override { return e.source.size(); }
    void read(std::uint64_t first, std::uint64_t n, arc* to) const override {
      for (std::uint64_t i = 0; i < n; ++i)
        to[i] = {static_cast<std::uint64_t>(e.source[first + i]), static_cast<std::uint64_t>(e.target[first + i])};
    }
    void check(arc const&, std::uint64_t) const override {}
  } const edges;
  relation const narrow = make_relation(edges, {"a", "b", 300, 400}, direction::pulled),
                 wide = make_relation(edges, {"a", "b", 300, 400}, direction::pulled, {.edge_id_bytes = 8});
  EXPECT_TRUE(wide.edge_ids.empty());
  EXPECT_TRUE(std::equal(narrow.edge_ids.begin(), narrow.edge_ids.end(), wide.wide_edge_ids.begin(), wide.wide_edge_ids.end()));
}

// --- in-edges made later ---
std::vector<edge> edges_of(ends const& e) {
  std::vector<edge> all;
  for (std::uint64_t i = 0; i < e.source.size(); ++i)
    all.push_back({static_cast<std::uint64_t>(e.source[i]), static_cast<std::uint64_t>(e.target[i])});
  return all;
}

TEST(make_in_edges, are_those_that_a_build_makes_and_leave_who_uses_the_graph_alone) {
  auto const edges = edges_of(drawn_ends(20000, 300, 300, 13));
  build_options with;
  with.in_edges = true;
  std::uint64_t const wanted = digest_of(build_graph({edges}, with));
  std::uint64_t const used = host_budget().used();
  {
    graph_handle g = make_in_edges(build_graph({edges}));
    EXPECT_TRUE(g.info().in_edges);
    EXPECT_EQ(digest_of(g), wanted);
    EXPECT_EQ(digest_of(make_in_edges(std::move(g))), wanted);  // once
    auto held = std::make_shared<graph_handle>(build_graph({edges}));
    adjacency_arrays const lists = adjacency_of(*held);
    graph_handle beside = make_in_edges(held);
    EXPECT_FALSE(held->info().in_edges);
    EXPECT_EQ(adjacency_of(beside).targets, lists.targets);  // shared
    EXPECT_EQ(adjacency_of(beside).offsets, lists.offsets);
    held.reset();
    EXPECT_EQ(digest_of(beside), wanted);
  }
  EXPECT_EQ(host_budget().used(), used);
  build_options undirected;
  undirected.undirected = true;
  EXPECT_FALSE(make_in_edges(build_graph({edges}, undirected)).info().in_edges);
}

}  // namespace
}  // namespace garner
