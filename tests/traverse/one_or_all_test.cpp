// Which of one device and several is predicted to be faster: where figures exist, the prediction is theirs; how it grows; and that the
// functions of the contract follow it.
#include "traverse/one_or_all.hpp"

#include <gmock/gmock.h>

#include "garner/algorithms.hpp"
#include "graph/handle.hpp"
#include "support.hpp"
#include "traverse_support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

graph_info kronecker(int scale) {  // as `garner generate kron` makes it
  graph_info g;
  g.vertices = std::uint64_t{1} << scale, g.edges = g.vertices * 63 / 2, g.id_bytes = 4;
  return g;
}
std::vector<execution_device> gpus(int n) {
  std::vector<execution_device> all;
  for (int k = 0; k < n; ++k) all.push_back({device_kind::cuda, k});
  return all;
}
template <class Asked>
Asked over(int n) {
  Asked o;
  o.devices = gpus(n), o.device = o.devices[0];
  return o;
}
spread_prediction predicted(int scale, job_options const& o, tier one = tier::host, tier all = tier::host) {
  graph_info const g = kronecker(scale);
  return predict_spread(g, g.edges * g.id_bytes, o, one, all);
}
void near(double is, double measured, double within) { EXPECT_NEAR(is, measured, measured * within); }

// docs/benchmarks/spread-h200-x2.json, spread-nothing-kept-h200-x2.json; for one also growth-h200.json.
TEST(one_or_all, predicts_what_was_measured) {
  spread_prediction p = predicted(27, over<components_asked>(2));
  near(p.one_ms, 15.9, 0.1), near(p.all_ms, 12.1, 0.1);
  auto far = over<components_asked>(2);
  far.graph_cache = 0;
  p = predicted(27, far);
  near(p.one_ms, 760, 0.1);
  EXPECT_FALSE(p.first_alone());
  p = predicted(27, over<bfs_asked>(2));
  near(p.one_ms, 22.9, 0.3), near(p.all_ms, 14.9, 0.2);
  auto levels = over<bfs_asked>(2);
  levels.variant = bfs_variant::levels;
  p = predicted(27, levels);
  near(p.one_ms, 356, 0.1), near(p.all_ms, 192, 0.1);
  p = predicted(27, over<pagerank_asked>(2));
  near(p.one_ms, 324, 0.05), near(p.all_ms, 168, 0.05);
  near(predicted(22, over<components_asked>(2)).one_ms, 1.39, 0.5);
  near(predicted(22, over<pagerank_asked>(2)).one_ms, 10.3, 0.1);
}

TEST(one_or_all, small_runs_take_one_and_large_ones_all) {
  for (job_options const& o : {job_options(over<components_asked>(2)), job_options(over<bfs_asked>(2))}) {
    EXPECT_TRUE(predicted(20, o).first_alone());
    EXPECT_TRUE(predicted(23, o).first_alone());
    EXPECT_FALSE(predicted(27, o).first_alone());
    for (int scale = 21; scale <= 30; ++scale)  // once all are faster they stay so
      EXPECT_LE(predicted(scale, o).first_alone(), predicted(scale - 1, o).first_alone()) << scale;
  }
  EXPECT_TRUE(predicted(18, over<pagerank_asked>(2)).first_alone());
  EXPECT_FALSE(predicted(23, over<pagerank_asked>(2)).first_alone());
  // Lists that fit the memory of two devices, and not of one.
  EXPECT_TRUE(predicted(21, over<pagerank_asked>(2), tier::device, tier::device).first_alone());
  EXPECT_FALSE(predicted(21, over<pagerank_asked>(2), tier::host, tier::device).first_alone());
  // Lists in a cache are still work.
  auto cached = over<pagerank_asked>(2);
  cached.graph_cache = std::uint64_t{64} << 30;
  EXPECT_FALSE(predicted(27, cached).first_alone());
  // A search of a road network waits at thousands of levels.
  graph_info road = kronecker(26);
  road.edges = road.vertices * 5 / 2;
  EXPECT_TRUE(predict_spread(road, road.edges * 4, over<bfs_asked>(2), tier::host, tier::host).first_alone());
  auto shallow = over<bfs_asked>(2);
  shallow.variant = bfs_variant::levels, shallow.max_depth = 3;
  EXPECT_FALSE(predict_spread(road, road.edges * 4, shallow, tier::host, tier::host).first_alone());
}

TEST(one_or_all, only_between_different_devices) {
  components_asked o;
  EXPECT_FALSE(may_take_first(o));
  o.devices = {{device_kind::cuda, 1}, {device_kind::cuda, 1}};
  EXPECT_FALSE(may_take_first(o));
  o.devices[1].index = 0;
  EXPECT_TRUE(may_take_first(o));
  for (execution_device& d : o.devices) d.kind = device_kind::cpu;
  EXPECT_FALSE(may_take_first(o));
  EXPECT_FALSE(may_take_first(sssp_asked{}));
}

// What the program does before it loads a graph.
TEST(one_or_all, the_first_runs_alone_if_it_has_the_memory) {
  graph_info const small = kronecker(22), large = kronecker(27);
  auto const taken = [](graph_info const& g, auto o, std::uint64_t device_bytes) {
    auto const before = o;
    bool const took = take_first_alone(g, g.edges * g.id_bytes, {}, o, device_bytes).has_value();
    EXPECT_EQ(o.first_alone, took);
    EXPECT_EQ(o.devices.size(), took ? 0 : before.devices.size());
    EXPECT_EQ(o.edges, before.edges);
    EXPECT_EQ(o.device.index, 3);
    return took;
  };
  auto const at_3 = [](auto o) {
    o.devices = {{device_kind::cuda, 3}, {device_kind::cuda, 1}}, o.device = o.devices[0];
    return o;
  };
  std::uint64_t const gib = std::uint64_t{1} << 30;
  EXPECT_TRUE(taken(small, at_3(components_asked{}), 80 * gib));
  EXPECT_TRUE(taken(small, at_3(bfs_asked{}), 80 * gib));
  EXPECT_FALSE(taken(small, at_3(bfs_asked{}), gib / 64));
  EXPECT_FALSE(taken(large, at_3(components_asked{}), 140 * gib));
  // Lists of 17 GB, half of them on each device, or all of them far.
  EXPECT_FALSE(taken(large, at_3(pagerank_asked{}), 13 * gib));
}

template <class F>
void of_both(F const& run) {
  std::vector<execution_device> const differ = {{device_kind::simulated, 0}, {device_kind::simulated, 1}},
                                      same = {{device_kind::simulated, 0}, {device_kind::simulated, 0}};
  auto const alone = run(differ), shared = run(same), single = run(std::vector<execution_device>{});
  ASSERT_EQ(alone.shards.size(), 1u);  // named: devices were
  EXPECT_EQ(alone.shards[0].device.kind, device_kind::simulated);
  EXPECT_EQ(alone.shards[0].device.index, 0);
  EXPECT_EQ(alone.shards[0].part.vertices, 3000u);
  EXPECT_EQ(alone.shards[0].ms, alone.ms);
  EXPECT_EQ(alone.shards[0].bytes_exchanged, 0u);
  EXPECT_EQ(alone.link.bytes_link(), single.link.bytes_link());
  EXPECT_EQ(alone.shards[0].link.bytes_link(), single.link.bytes_link());
  EXPECT_EQ(shared.shards.size(), 2u);  // parts of one device stay parts
  EXPECT_TRUE(single.shards.empty());
}

TEST(one_or_all, functions_take_the_first_and_name_it) {
  std::vector<arc> edges;
  for (std::uint64_t i = 0; i < 12'000; ++i) edges.push_back({i * 7919 % 3000, i * i % 3000});
  graph_handle const g = graph_access::wrap(make_graph(edges, true, 3000));
  auto const at = [](auto o, std::vector<execution_device> const& devices) {
    o.devices = devices, o.device.kind = device_kind::simulated;
    return o;
  };
  std::vector<std::uint64_t> const labels = components(g).label;
  of_both([&](auto const& devices) { return bfs(g, 1, at(bfs_options{}, devices)).run; });
  of_both([&](auto const& devices) {
    components_result r = components(g, at(components_options{}, devices));
    EXPECT_EQ(r.label, labels);
    return r.run;
  });
  of_both([&](auto const& devices) { return pagerank(g, at(pagerank_options{}, devices)).run; });
  // Edges that shards copy to their devices are not where one would read them: all run.
  components_options copies = at(components_options{}, {{device_kind::simulated, 0}, {device_kind::simulated, 1}});
  copies.edges = tier::device;
  EXPECT_THAT(error_of([&] { components(g, copies); }), ::testing::ContainsRegex("shard [01] of 2 at simulated"));  // simulation has none
  components_options wrong = at(components_options{}, copies.devices);
  wrong.variant = components_variant::emogi;
  EXPECT_NE(error_of([&] { components(g, wrong); }).find("over 2 devices"), std::string::npos);
}

}  // namespace
}  // namespace garner
