// The cost model of the decision: the floors of the paper's graphs on one and two H200 as calculated by hand, each strategy's bytes, a
// single device if it is faster, and the strategies worth measuring.
#include "shard/decide.hpp"

#include <gtest/gtest.h>

namespace garner {
namespace {

// Equal parts with random edges, each second vertex needed.
shard_sizes parts_of(std::uint64_t vertices, std::uint64_t edges, std::uint64_t n) {
  std::vector<shard_sizes::part> parts(n);
  for (auto& p : parts) {
    p.vertices = vertices / n, p.edges = edges / n, p.remote_edges = n == 1 ? 0 : edges / n * (n - 1) / n;
    p.remote_rows = vertices - p.vertices;
  }
  return shard_sizes(vertices, parts);
}

// One aggregation of rows of 16 f32: precomputed floors, ms.
TEST(decide, knows_the_floors_of_the_papers_graphs) {
  struct {
    char const* name;
    std::uint64_t vertices, edges;
    double one, two;
  } const graphs[] = {{"RDD", 232'965, 114'615'892, 1.33, 0.67},
                      {"ENWIKI", 4'203'323, 202'623'226, 3.27, 1.67},
                      {"PROD", 2'449'029, 61'859'140, 1.02, 0.53},
                      {"PROT", 132'534, 39'561'252, 0.46, 0.23},
                      {"ORKT", 3'072'441, 117'185'083, 1.90, 0.98}};
  for (auto const& g : graphs) {
    EXPECT_NEAR(cost_of(parts_of(g.vertices, g.edges, 1), {}, h200_rates).floor_ms, g.one, 0.011) << g.name;
    EXPECT_NEAR(cost_of(parts_of(g.vertices, g.edges, 2), {}, h200_rates).floor_ms, g.two, 0.011) << g.name;
  }
}

TEST(decide, each_way_moves_its_own_bytes) {
  shard_rates const r{1000, 1000, 100, 0, 0, 0, true};  // no cache; a byte over the link takes as long as ten local ones
  shard_sizes g(1000, {{400, 9000, 5000, 500}, {600, 8000, 300, 200}});
  shard_setting s;
  s.columns = 16;                   // 64 bytes
  shard_cost c = cost_of(g, s, r);  // of the first, which is slowest
  EXPECT_DOUBLE_EQ(c.link_bytes, 500 * 64);
  EXPECT_DOUBLE_EQ(c.memory_bytes, 9000 * 68 + 400 * 64 + 500 * 64);
  EXPECT_DOUBLE_EQ(c.floor_ms, c.memory_bytes / 1e9);
  EXPECT_STREQ(c.bound, "memory");
  s.wire_bytes = 2;  // remote rows are read in the exchanged type: the second is slowest
  c = cost_of(g, s, r);
  EXPECT_DOUBLE_EQ(c.link_bytes, 200 * 32);
  EXPECT_DOUBLE_EQ(c.memory_bytes, 8000 * 4 + 7700 * 64 + 300 * 32 + 600 * 64 + 200 * 32);
  s.wire_bytes = 4, s.strategy = shard_strategy::collective;
  c = cost_of(g, s, r);
  EXPECT_DOUBLE_EQ(c.link_bytes, 600 * 64);
  EXPECT_DOUBLE_EQ(c.memory_bytes, 9000 * 68 + 400 * 64 + 1000 * 64);
  s.strategy = shard_strategy::mgg;
  c = cost_of(g, s, r);
  EXPECT_DOUBLE_EQ(c.link_bytes, 5000 * 64);
  EXPECT_DOUBLE_EQ(c.memory_bytes, 9000 * 4 + 4000 * 64 + 3 * 400 * 64);
  EXPECT_DOUBLE_EQ(c.floor_ms, 5000 * 64 / 1e8);
  EXPECT_STREQ(c.bound, "link");
  s.strategy = shard_strategy::bulk, s.kept = true;
  EXPECT_DOUBLE_EQ(cost_of(g, s, r).link_bytes, 0);
  s.kept = false, s.weighted = true;
  EXPECT_DOUBLE_EQ(cost_of(g, s, r).memory_bytes, 9000 * 72 + 400 * 64 + 500 * 64);
  // On one device remote rows are memory traffic too, and all share it.
  g.one_place = true, s.weighted = false;
  c = cost_of(g, s, r);
  EXPECT_DOUBLE_EQ(c.link_bytes, 0);
  EXPECT_DOUBLE_EQ(c.memory_bytes, 17000 * 68 + 1000 * 64 + 2 * 700 * 64);
}

TEST(decide, what_waits_and_what_hides) {
  shard_rates const r{1000, 1000, 1, 0, 1000, 500, true};  // a link-bound case; a launch is 1 ms, a barrier half of one
  shard_sizes const g(200, {{100, 1000, 500, 100}, {100, 1000, 500, 100}});
  shard_setting s;
  s.columns = 1;
  double const link = 100 * 4 / 1e6;
  // Two launches for each part, and two barriers; a deterministic reduction of two begins with remote rows.
  EXPECT_NEAR(cost_of(g, s, r).ms, link + (1000 * 8 + 100 * 8 + 2 * 100 * 4) / 1e9 + 4 + 1, 1e-6);
  s.sums = shard_reduction::fast;
  EXPECT_NEAR(cost_of(g, s, r).ms, link + 4 + 1, 1e-6);
  EXPECT_STREQ(cost_of(g, s, r).bound, "launches");
}

// Adjacency from host memory overlaps the reduction; compressed adjacency takes less time.
TEST(decide, counts_what_lists_take_of_the_link) {
  shard_rates r{1000, 1000, 100, 0, 0, 0, true};
  shard_sizes const g(1 << 20, {{1 << 19, 20 << 20, 0, 0}, {1 << 19, 10 << 20, 0, 0}});
  shard_setting s;
  s.strategy = shard_strategy::collective;
  double const near = cost_of(g, s, r).ms, floor = cost_of(g, s, r).floor_ms;
  EXPECT_EQ(cost_of(g, s, r).list_bytes, 0);
  s.remote_adjacency = true;
  shard_cost const far = cost_of(g, s, r);
  EXPECT_DOUBLE_EQ(far.list_bytes, 16.0 * (1 << 19) + 4.0 * (20 << 20));
  EXPECT_GT(far.ms, near);
  EXPECT_DOUBLE_EQ(far.floor_ms, std::max(floor, far.list_bytes / r.host_gbs / 1e6));
  r.host_gbs = 1;
  EXPECT_DOUBLE_EQ(cost_of(g, s, r).floor_ms, far.list_bytes / 1e6);
  EXPECT_STREQ(cost_of(g, s, r).bound, "lists");
  s.compressed_adjacency = true;
  shard_cost const packed = cost_of(g, s, r);
  EXPECT_LT(packed.list_bytes, 0.75 * far.list_bytes);  // an end of 20 bits, and two more
  EXPECT_GT(packed.list_bytes, 0.5 * far.list_bytes);
  EXPECT_LT(packed.ms, far.list_bytes / 1e6);
  s.remote_adjacency = false;
  EXPECT_EQ(cost_of(g, s, r).list_bytes, 0);
  EXPECT_GT(cost_of(g, s, r).ms, near);  // it is written, and read again
}

std::vector<shard_pass> const two_layers{{16, 4, false}};
shard_options asked(std::uint32_t n, shard_reduction sums = shard_reduction::deterministic) {
  shard_options o;
  o.shards = n, o.sums = sums;
  return o;
}

TEST(decide, takes_one_device_where_that_is_faster) {
  // Small: launches and barriers; large: two memories.
  auto const small = ways_of(parts_of(2000, 20'000, 2), asked(2), false, two_layers, h200_rates, true);
  EXPECT_EQ(small.front().shards, 1u);
  EXPECT_EQ(small.front().bound, "launches");
  auto const large = ways_of(parts_of(4'203'323, 202'623'226, 2), asked(2), false, two_layers, h200_rates, true);
  EXPECT_EQ(large.front().shards, 2u);
  EXPECT_EQ(large.back().shards, 1u);
  EXPECT_LT(large.front().predicted_ms, 0.7 * large.back().predicted_ms);
  for (auto const& w : large) EXPECT_GE(w.predicted_ms, w.floor_ms);
  // A slow link: all of eight devices wait for it.
  shard_rates slow = h200_rates;
  slow.link_gbs = 5;
  EXPECT_EQ(ways_of(parts_of(4'203'323, 202'623'226, 8), asked(8), false, two_layers, slow, true).front().shards, 1u);
  EXPECT_EQ(ways_of(parts_of(2000, 20'000, 2), asked(2), false, two_layers, h200_rates, false).front().shards, 2u);  // not requested
}

TEST(decide, never_takes_the_papers_strategy_and_few_references_favour_bulk) {
  auto const has = [](auto const& strategies, shard_strategy strategy) {
    return std::any_of(strategies.begin(), strategies.end(), [&](auto const& w) { return w.strategy == strategy; });
  };
  shard_sizes const g = parts_of(1'000'000, 20'000'000, 4);
  for (shard_reduction const sums : {shard_reduction::deterministic, shard_reduction::fast}) {
    auto const ways = ways_of(g, asked(4, sums), false, two_layers, h200_rates, true);
    EXPECT_FALSE(has(ways, shard_strategy::mgg));
    EXPECT_TRUE(has(ways, shard_strategy::collective));
  }
  // Rows needed once each, of few vertices of each part: prefetching gains nothing, least with all of them.
  shard_sizes few(8'000'000, {{1'000'000, 100'000'000, 50'000, 50'000}, {7'000'000, 100'000'000, 50'000, 50'000}});
  EXPECT_EQ(ways_of(few, asked(2), false, two_layers, h200_rates, false).front().strategy, shard_strategy::bulk);
  // If all parts need all rows, one copy per part is one launch less, but gains little.
  EXPECT_EQ(ways_of(parts_of(1'000, 3'000, 4), asked(4), false, two_layers, h200_rates, false).front().strategy,
            shard_strategy::collective);
  // Only bulk exchanges constant rows just once.
  std::vector<shard_pass> const constant{{64, 1, true}};
  auto const kept = ways_of(parts_of(3'000'000, 9'000'000, 8), asked(8), false, constant, h200_rates, false);
  EXPECT_EQ(kept.front().strategy, shard_strategy::bulk);
}

TEST(decide, measures_what_is_near_the_best_alone) {
  std::vector<shard_decision::considered> strategies(4);
  double const ms[] = {1, 1.9, 2, 2.01};
  for (int i = 0; i < 4; ++i) strategies[i].predicted_ms = ms[i];
  EXPECT_EQ(how_many_to_measure(strategies), 3u);
  strategies[2].predicted_ms = 2.01;
  EXPECT_EQ(how_many_to_measure(strategies), 2u);
  strategies[1].predicted_ms = strategies[2].predicted_ms = strategies[3].predicted_ms = 1;
  EXPECT_EQ(how_many_to_measure(strategies), 3u);
  strategies.resize(1);
  EXPECT_EQ(how_many_to_measure(strategies), 1u);
}

TEST(decide, edges_that_lead_anywhere_need_fewer_rows_than_edges) {
  EXPECT_DOUBLE_EQ(distinct_targets(10, 0), 0);
  EXPECT_NEAR(distinct_targets(1, 1e9), 1, 1e-6);
  EXPECT_NEAR(distinct_targets(1000, 1000), 1000 * (1 - 1 / 2.718281828), 1e-6);
  EXPECT_NEAR(distinct_targets(1e6, 1000), 1000, 1e-6);
}

}  // namespace
}  // namespace garner
