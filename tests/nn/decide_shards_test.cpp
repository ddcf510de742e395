// The automatic choice for training over shards: a model's aggregations, the measured strategies, and equal bits for any choice.
#include "nn/decide_shards.hpp"

#include <gmock/gmock.h>

#include "core/device.hpp"
#include "memory/budget.hpp"
#include "nn/communities.hpp"
#include "nn/sharded.hpp"
#include "shard_support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::HasSubstr;

model_options model_of(model_kind kind, std::uint64_t inputs, bool residual = false, std::uint32_t layers = 3) {
  model_options m;
  m.kind = kind, m.inputs = inputs, m.classes = 5, m.hidden = 16, m.layers = layers, m.residual = residual;
  return m;
}

TEST(decide_shards, knows_what_models_aggregate) {
  auto const says = [](model_options const& m, double dropout) {
    std::string all;
    for (model_pass const& p : passes_of(m, dropout))
      all += fmt::format("{}{}{} ", p.columns, p.backward ? "+" : "", p.constant ? "c" : "");
    return all;
  };
  EXPECT_EQ(says(model_of(model_kind::gcn, 100), 0.5), "16+ 16+ 5+ ");  // each GEMM first if rows get narrower
  EXPECT_EQ(says(model_of(model_kind::gcn, 8), 0), "8c 16+ 5+ ");       // rows of the table unchanged
  EXPECT_EQ(says(model_of(model_kind::gcn, 8), 0.5), "8 16+ 5+ ");      // with new dropout each time
  EXPECT_EQ(says(model_of(model_kind::gin, 100), 0), "16+ 16+ 5+ ");
  EXPECT_EQ(says(model_of(model_kind::gin, 8), 0), "8c 16+ 5+ ");
  EXPECT_EQ(says(model_of(model_kind::sage, 100, true), 0), "16+ 16+ 16+ ");
}

shard_options asked(std::uint32_t n, shard_reduction sums = shard_reduction::deterministic) {
  shard_options o;
  o.shards = n, o.sums = sums;
  return o;
}

TEST(decide_shards, measures_on_the_graph_and_tells_why) {
  communities const c(300, 3, 20);
  graph_handle const g = c.graph();
  for (shard_reduction const sums : {shard_reduction::deterministic, shard_reduction::fast}) {
    shard_decision const d = decide_shards(c.model(model_kind::gcn), g, {}, asked(3, sums), std::vector<execution_device>(3));
    EXPECT_EQ(d.options.shards, 3u);
    EXPECT_EQ(d.options.sums, sums);
    EXPECT_TRUE(d.rates_measured);
    ASSERT_EQ(d.strategies.size(), 2u);
    std::optional<double> least;
    for (auto const& w : d.strategies) {
      EXPECT_EQ(w.shards, 3u);
      EXPECT_GE(w.predicted_ms, w.floor_ms);
      if (w.measured_ms) least = std::min(least.value_or(1e9), *w.measured_ms);
    }
    EXPECT_EQ(d.chosen().measured_ms, least);
    EXPECT_EQ(d.chosen().strategy, d.options.strategy);
    EXPECT_THAT(d.why(), HasSubstr("ms of sums an epoch predicted, bound by"));
    EXPECT_THAT(d.why(), ::testing::StartsWith(std::string(to_string(d.options.strategy)) + ": "));
    EXPECT_EQ(d.why().find('\n'), std::string::npos);
  }
  // Simulated, nothing is measured: the rates are those of an H200.
  shard_decision const d =
      decide_shards(c.model(model_kind::gcn), g, {}, asked(2), std::vector<execution_device>(2, {device_kind::simulated, 0}));
  EXPECT_FALSE(d.rates_measured);
  for (auto const& w : d.strategies) EXPECT_FALSE(w.measured_ms);
  EXPECT_EQ(d.options.strategy, d.strategies.front().strategy);
  // A single shard has no choice.
  shard_decision const one = decide_shards(c.model(model_kind::gcn), g, {}, asked(1), std::vector<execution_device>(1));
  EXPECT_EQ(one.strategies.size(), 1u);
  EXPECT_THAT(error_of([&] { decide_shards(c.model(model_kind::gcn), g, {}, asked(3), std::vector<execution_device>(2)); }),
              HasSubstr("3 shards and 2 devices"));
  EXPECT_THAT(error_of([&] { decide_shards(c.model(model_kind::gcn), g, {}, asked(1000), std::vector<execution_device>(1000)); }),
              HasSubstr("use 1 to 16"));
}

TEST(decide_shards, a_way_is_measured_forward_and_backward) {
  graph_handle const g = graph_with_hub(1300, false, true);
  for (shard_strategy const strategy : {shard_strategy::bulk, shard_strategy::collective, shard_strategy::mgg}) {
    shard_options o = asked(3, shard_reduction::fast);
    o.strategy = strategy;
    double const ms = measure_way(g, edge_direction::in, true, aggregation::gcn, passes_of(model_of(model_kind::gcn, 8), 0), o,
                                  std::vector<execution_device>(3));
    EXPECT_GT(ms, 0);
    EXPECT_LT(ms, 60'000);
  }
}

// A strategy that does not fit is skipped; if none fits, the prediction decides.
TEST(decide_shards, a_way_that_does_not_fit_is_left_out) {
  communities const c(300, 3, 20);
  graph_handle const g = c.graph();
  std::uint64_t const before = host_budget().limit();
  host_budget().set_limit(host_budget().used() + 1000);
  shard_decision const d = decide_shards(c.model(model_kind::gcn), g, {}, asked(3), std::vector<execution_device>(3));
  host_budget().set_limit(before);
  EXPECT_FALSE(d.rates_measured);
  EXPECT_EQ(d.options.strategy, d.strategies.front().strategy);
  for (auto const& w : d.strategies) {
    EXPECT_FALSE(w.measured_ms);
    EXPECT_EQ(w.refused.empty(), w.predicted_ms > 2 * d.strategies.front().predicted_ms);
  }
  EXPECT_THAT(d.strategies.front().refused, HasSubstr("over the budget"));
}

TEST(decide_shards, what_fails_on_one_shard_is_what_is_told) {
  graph_handle const g = graph_with_hub(1300, true, false);
  shard_options o = asked(3);
  EXPECT_THAT(error_of([&] {
                measure_way(g, edge_direction::in, false, aggregation::sum, passes_of(model_of(model_kind::gcn, 8), 0), o,
                            {execution_device{}, execution_device{}, execution_device{device_kind::simulated, 0}});
              }),
              HasSubstr("give all shards devices of one kind"));
}

// Two shards on one GPU: no choice between devices, all strategies are available.
TEST(decide_shards, on_a_device) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  graph_handle const g = graph_with_hub(1300, true, false);
  model_options m = model_of(model_kind::gcn, 8);
  shard_decision const d =
      decide_shards(m, g, {}, asked(2, shard_reduction::fast), std::vector<execution_device>(2, {device_kind::cuda, 0}));
  EXPECT_TRUE(d.rates_measured);
  EXPECT_EQ(d.strategies.size(), 3u);
  EXPECT_TRUE(d.chosen().measured_ms);
}

TEST(split_words, a_checkpoint_says_which_way_it_was_made) {
  shard_options o = asked(3);
  o.strategy = shard_strategy::collective;
  EXPECT_EQ(split_words(o), "3 of shards, way collective, exact sums, equal edges, rows of f32");
}

}  // namespace
}  // namespace garner
