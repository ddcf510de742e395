// The shards benchmark: every strategy is measured on every graph, its bytes match the split report, a wrong sum ends the run.
#include "lab/shards.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>

#include "lab/page.hpp"
#include "lab/sample.hpp"

#include "core/device.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

using namespace lab;
using ::testing::HasSubstr;

shards_bench_options small(execution_device where, std::uint32_t shards) {
  shards_bench_options o;
  o.places.assign(shards, where);
  o.graphs = {"PROT", "PROD"};
  o.shrink = 2000, o.width = 16, o.trials = 2;
  o.command = "garner-lab shards";
  return o;
}

TEST(shards_bench, measures_every_way_and_tells_its_bytes) {
  for (device_kind const kind : {device_kind::cpu, device_kind::simulated}) {
    shards_bench_options o = small({kind, 0}, 3);
    if (kind == device_kind::simulated) o.provider = shard_provider::host;
    std::size_t heard = 0;
    shards_file const f = measure_shards(o, [&](shards_file const& all, shard_row const&) { heard = all.rows.size(); });
    EXPECT_EQ(heard, f.rows.size());
    ASSERT_EQ(f.graphs.size(), 2u);
    EXPECT_EQ(f.graphs[0].name, "PROD");  // in the order of the paper
    EXPECT_EQ(f.graphs[1].vertices, 132'534u / 2000);
    for (split_graph const& g : f.graphs) {
      std::set<std::string> strategies;
      std::map<std::string, std::size_t> studies;
      for (shard_row const& r : f.rows) {
        if (r.graph != g.name) continue;
        ++studies[r.study];
        // The links' bytes sum to the total, and they need some time.
        std::uint64_t crossed = 0;
        for (auto const& of : r.links)
          for (std::uint64_t const bytes : of) crossed += bytes;
        EXPECT_EQ(crossed, r.bytes) << r.strategy() << r.study;
        EXPECT_EQ(r.links.size(), r.how.shards == 1 ? 0u : 3u);
        ASSERT_TRUE(r.floor_ms);
        EXPECT_GT(*r.floor_ms, 0);
        EXPECT_GT(r.memory_bytes, static_cast<double>(g.edges * 4));
        EXPECT_EQ(r.layers, r.study == "gcn" ? 2u : r.study == "gin" ? 5u : 1u);
        EXPECT_EQ(r.forward.has_value(), r.study == "gcn" || r.study == "gin");
        if (r.forward) {
          // As in table 3; products come first if they make rows narrower.
          bool const prod = g.name == "PROD";
          EXPECT_EQ(r.forward->inputs, prod ? 100u : 128u);
          EXPECT_EQ(r.forward->classes, prod ? 64u : 112u);
          EXPECT_EQ(r.forward->columns, r.study == "gcn" ? (std::vector<std::uint64_t>{16, 16}) : (std::vector<std::uint64_t>(5, 64)));
          EXPECT_GT(r.forward->ms, 0);
          ASSERT_TRUE(r.forward->floor_ms);
          EXPECT_GT(*r.forward->floor_ms, *r.floor_ms);
          ASSERT_TRUE(r.forward->against_one);
          EXPECT_TRUE(r.how.shards > 1 || *r.forward->against_one == 1);
        }
        if (r.study != "ways") {
          EXPECT_TRUE(r.how.shards == 1 || r.how.strategy != shard_strategy::collective);
          EXPECT_GT(r.ms, 0);
          continue;
        }
        strategies.insert(fmt::format("{} {} {} {} {}", r.how.shards, to_string(r.how.strategy), to_string(r.how.sums),
                                      to_string(r.how.wire), !r.steps.empty()));
        EXPECT_GT(r.ms, 0);
        std::uint64_t const element = r.how.wire == element::f32 ? 4 : 2;
        std::uint64_t const rows = r.how.shards == 1                              ? 0
                                   : r.how.strategy == shard_strategy::bulk       ? g.remote_rows
                                   : r.how.strategy == shard_strategy::collective ? 2 * g.vertices
                                                                                  : g.cut_edges;
        if (r.how.sums == shard_reduction::deterministic) {
          EXPECT_EQ(r.bytes, rows * 16 * element) << to_string(r.how.strategy);
        }
        if (r.how.shards > 1) {
          EXPECT_TRUE(r.most_bytes * 3 >= r.bytes && r.most_bytes < r.bytes);
        }
      }
      EXPECT_EQ(strategies, (std::set<std::string>{"1 bulk exact f32 false", "3 bulk exact f32 false", "3 bulk quick f32 false",
                                                   "3 bulk quick bf16 false", "3 bulk quick f16 false", "3 collective exact f32 false",
                                                   "3 mgg quick f32 false", "3 mgg quick f32 true"}));
      // Unmodified, whole lists, separate warps, synchronous reads; the sweep of the first graph: 6 ps and 4 wpb, 5 dist each.
      std::map<std::string, std::size_t> all{{"ways", 8}, {"gcn", 3}, {"gin", 3}, {"ablation", 4}};
      if (g.name == "PROD") all["sweep"] = 50;
      EXPECT_EQ(studies, all);
    }
    std::string const text = to_json(f);
    EXPECT_EQ(to_json(file_in<shards_file>(json::parse(text), "x.json")), text);
    std::string const page = page_of({.shards = {{"x.json", f}}});
    EXPECT_EQ(f.over.rfind(kind == device_kind::cpu ? "peer: memory of one process" : "host: ", 0), 0u) << f.over;
    EXPECT_THAT(f.no_uvm, HasSubstr(kind == device_kind::cpu ? "managed memory is a device's" : "rows come over host, which copies them"));
    EXPECT_EQ(f.rates.measured, kind == device_kind::cpu);
    expect_all(page, {"PROT: one aggregation, by way",
                      "PROD: bytes that cross between shards",
                      "Figure 10",
                      "collective",
                      "mgg, searched",
                      "one place",
                      "(table 4)",
                      "134,350",
                      "Figure 8",
                      "GIN, forward",
                      " is the quickest of 3 shards, ",
                      "GCN, its aggregations alone",
                      "Rows of 128 elements, 112 classes.",
                      "bytes over each link",
                      "One place takes ",
                      "UVM is left out: ",
                      "Rows of other shards came over ",
                      "Figure 9",
                      "whole lists",
                      "warps apart",
                      "reads waited for",
                      "without asynchronous reads",
                      "dist 16"});
    auto const all = nlohmann::json::parse(text);
    EXPECT_EQ(all["rows"].size(), f.rows.size());
    EXPECT_EQ(all["rows"][0]["ps"], nullptr);
    EXPECT_EQ(all["shards"], 3);
  }
}

// Parts follow the internal order of a graph, and so do its adjacency and traffic.
TEST(shards_bench, a_reordered_graph_is_measured_in_its_order) {
  std::string const file = ::testing::TempDir() + "garner_bench_reordered.gnr";
  save_graph(reorder_graph(generate_graph({generator::kron, 10, 8, 1, {}}), {vertex_order::degree, 1, {}}), file);
  shards_bench_options o = small({}, 3);
  o.graphs = {}, o.files = {file}, o.figures = {"ways"};
  shards_file const f = measure_shards(o);
  ASSERT_EQ(f.graphs.size(), 1u);
  std::size_t seen = 0;
  for (shard_row const& r : f.rows) {
    if (r.how.shards == 1 || r.how.sums != shard_reduction::deterministic || r.how.strategy != shard_strategy::bulk) continue;
    ++seen;
    EXPECT_EQ(r.bytes, f.graphs[0].remote_rows * 16 * sizeof(float));
  }
  EXPECT_EQ(seen, 1u);
  std::filesystem::remove(file);
}

// Means over graphs, as in the paper.
TEST(shards_bench, the_page_tells_means_over_graphs_beside_the_papers) {
  shards_file f;
  for (std::string const name : {"RDD", "PROT"}) {
    f.graphs.emplace_back().name = name;
    shard_row r;
    r.graph = name, r.study = "gin", r.how.shards = 2, r.how.strategy = shard_strategy::mgg, r.ms = 1;
    r.forward = {10, 2, 4, 1, {}, {64}};
    f.rows.push_back(r);
    r.managed = true, r.forward->ms = name == "RDD" ? 12 : 20;  // 3 and 5 times
    f.rows.push_back(r);
    r.managed = false, r.forward = {}, r.study = "ablation", r.how.tuning.whole_lists = true;
    r.against_one = name == "RDD" ? 2 : 1;
    f.rows.push_back(r);
  }
  std::string const page = page_of({.shards = {{"x.json", f}}});
  EXPECT_THAT(page, HasSubstr("GIN: 4.00 times on average; the paper, on eight A100: 4.15."));
  EXPECT_THAT(page, HasSubstr("Without partitions 1.50 times as long on average (the paper, on four GPUs: 3.47)."));
}

// A graph file has neither row width nor classes; --width does not apply to the models.
TEST(shards_bench, models_of_a_file_have_rows_and_classes_as_usual) {
  std::string const file = ::testing::TempDir() + "garner_bench_models.gnr";
  save_graph(generate_graph({generator::kron, 8, 8, 1, {}}), file);
  shards_bench_options o = small({}, 3);
  o.graphs = {}, o.files = {file}, o.figures = {"models"}, o.width = 5;
  shards_file const f = measure_shards(o);
  ASSERT_EQ(f.rows.size(), 6u);
  EXPECT_EQ(f.over, "peer: memory of one process");
  for (shard_row const& r : f.rows) {
    ASSERT_TRUE(r.forward);
    EXPECT_EQ(r.forward->inputs, 128u);
    EXPECT_EQ(r.forward->classes, 32u);
    EXPECT_EQ(r.width, r.study == "gcn" ? 16u : 64u);
    EXPECT_EQ(r.forward->columns,
              r.study == "gcn" ? (std::vector<std::uint64_t>{16, 16}) : (std::vector<std::uint64_t>{64, 64, 64, 64, 32}));
  }
  std::filesystem::remove(file);
}

// Two shards on one GPU: also with rows in managed memory, whose sums are compared like all others.
TEST(shards_bench, rows_in_managed_memory_on_a_device) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  shards_bench_options o = small({device_kind::cuda, 0}, 2);
  o.figures = {"ways", "models"};
  shards_file const f = measure_shards(o);
  EXPECT_TRUE(f.rates.measured);
  std::set<std::string> studies;
  for (shard_row const& r : f.rows) {
    if (!r.managed) continue;
    studies.insert(r.study);
    EXPECT_FALSE(r.floor_ms);
    if (r.study != "ways") {
      ASSERT_TRUE(r.forward);
      EXPECT_FALSE(r.forward->floor_ms);
    }
    EXPECT_TRUE(r.links.empty());
  }
  if (device::describe(0).managed_memory) {
    EXPECT_EQ(studies, (std::set<std::string>{"ways", "gcn", "gin"}));
  } else {
    EXPECT_THAT(f.no_uvm, HasSubstr("no managed memory"));
  }
}

TEST(shards_bench, its_graphs_have_the_sizes_of_the_paper_and_hubs) {
  for (mgg_graph const& g : mgg_graphs) {
    graph_handle const made = make_mgg_graph(g, 512, 3);
    EXPECT_EQ(made.info().vertices, g.vertices / 512);
    EXPECT_EQ(made.info().edges, g.edges / 512);
    adjacency_arrays const lists = adjacency_of(made, false);
    std::uint64_t longest = 0;
    for (std::uint64_t v = 0; v < made.info().vertices; ++v) longest = std::max(longest, lists.offsets[v + 1] - lists.offsets[v]);
    EXPECT_GT(longest, 2 * made.info().edges / made.info().vertices);
  }
}

TEST(shards_bench, refuses) {
  shards_bench_options o = small({}, 2);
  o.graphs = {"REDDIT"};
  EXPECT_THAT(error_of([&] { measure_shards(o); }), HasSubstr("use some of RDD"));
  o = small({}, 17);
  EXPECT_THAT(error_of([&] { measure_shards(o); }), HasSubstr("17 shards: use 1 to 16"));
  o = small({}, 2), o.width = 0;
  EXPECT_THAT(error_of([&] { measure_shards(o); }), HasSubstr("--width 0"));
  o = small({}, 2), o.figures = {"x"};
  EXPECT_THAT(error_of([&] { measure_shards(o); }), HasSubstr("--figures x: of shards, use some of ways,search,models,ablation,sweep"));
  o = small({}, 2), o.shrink = 0;
  EXPECT_THAT(error_of([&] { measure_shards(o); }), HasSubstr("--shrink 0"));
}

}  // namespace
}  // namespace garner::testing
