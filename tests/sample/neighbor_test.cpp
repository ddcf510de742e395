// The sampler on every device: each sample is a set of distinct in-neighbors of the right size, uniform, with the same bits everywhere.
#include "sample/neighbor.hpp"
#include "graph/handle.hpp"

#include <cmath>
#include <map>
#include <set>

#include "core/random.hpp"
#include "garner/sample.hpp"
#include "graph/pack.hpp"
#include "refused.hpp"
#include "sample/lists.hpp"
#include "sample/score.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

graph random_graph(bool undirected, std::uint32_t id_bytes = 4, bool duplicates = false) {
  std::vector<arc> arcs;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    std::uint64_t u = random_bits(1, 0, i) % 2000, v = random_bits(1, 1, i) % 2000;
    if (i % 4 == 0) v = 9;
    if (v % 5 != 1) arcs.push_back({u, v});
  }
  build_options o;
  o.id_bytes = id_bytes;
  o.keep_duplicates = o.keep_loops = duplicates;
  o.in_edges = !undirected;
  return make_graph(arcs, undirected, 2003, o);
}
graph_handle brought(graph g, execution_device where) { return to_device(graph_access::wrap(std::move(g)), where, tier::host); }

// The reference: in-neighbors of v, from the out-edges.
std::vector<std::set<std::uint64_t>> in_neighbors(graph const& g) {
  std::vector<std::set<std::uint64_t>> in(g.info.vertices);
  for (std::uint64_t u = 0; u < g.info.vertices; ++u)
    for (std::uint64_t i = g.out.offsets[u]; i < g.out.offsets[u + 1]; ++i) in[target_at(g, i)].insert(u);
  return in;
}

std::vector<std::uint64_t> rows_of(graph const& g, execution_device where, sample_options const& o, std::vector<std::uint64_t> const& train,
                                   std::uint64_t number = 0) {
  neighbor_sampler s(g, where, std::nullopt, o);
  auto const near = near_values(s.at(), train, "a test");
  std::uint64_t const n = s.sample(number, near.data(), train.size());
  return host_copy(s.at(), s.rows(), n);
}

class sampler_at : public at_place {};
GARNER_AT_EVERY_PLACE(sampler_at);

TEST_P(sampler_at, draws_different_in_neighbors_as_many_as_there_are_and_no_more_than_the_fanout) {
  for (bool const undirected : {false, true}) {
    graph_handle const h = brought(random_graph(undirected), where());
    auto const in = in_neighbors(random_graph(undirected));
    sample_options o;
    for (std::uint32_t const fanout : {1u, 3u, 12u, 300u}) {
      o.fanouts = {fanout};
      for (std::uint64_t v : {9ull, 1ull, 6ull, 2002ull, 40ull, 41ull}) {
        std::vector<std::uint64_t> const rows = rows_of(graph_access::of(h), where(), o, {v});
        ASSERT_FALSE(rows.empty());
        EXPECT_EQ(rows[0], v);
        std::set<std::uint64_t> const drawn(rows.begin() + 1, rows.end());
        EXPECT_EQ(drawn.size(), rows.size() - 1);
        EXPECT_EQ(drawn.size(), std::min<std::size_t>(fanout, in[v].size())) << "vertex " << v << " fanout " << fanout;
        for (std::uint64_t u : drawn) EXPECT_TRUE(in[v].count(u)) << u << " -> " << v;
      }
    }
  }
}

TEST_P(sampler_at, gives_the_bits_that_the_host_gives_plain_and_packed_in_each_id_width) {
  for (hop_rule const rule : {hop_rule::all, hop_rule::last})
    for (std::uint32_t const id_bytes : {4u, 8u}) {
      sample_options o;
      o.fanouts = {5, 4, 3, 2, 2, 2};
      o.rule = rule;
      o.seed = 77;
      std::vector<std::uint64_t> train;
      for (std::uint64_t v = 0; v < 50; ++v) train.push_back(v * 40);
      std::vector<std::uint64_t> const wanted = rows_of(random_graph(false, 4, true), {}, o, train, 3);
      EXPECT_GT(wanted.size(), 200u);
      EXPECT_EQ(std::set<std::uint64_t>(wanted.begin(), wanted.end()).size(), wanted.size());
      EXPECT_TRUE(std::equal(train.begin(), train.end(), wanted.begin()));
      graph_handle const h = brought(random_graph(false, id_bytes, true), where());
      EXPECT_EQ(rows_of(graph_access::of(h), where(), o, train, 3), wanted);
      EXPECT_NE(rows_of(graph_access::of(h), where(), o, train, 4), wanted);
      if (id_bytes == 8) continue;
      graph packed = random_graph(false, 4, true);
      pack(packed);
      graph_handle const p = brought(std::move(packed), where());
      EXPECT_EQ(rows_of(graph_access::of(p), where(), o, train, 3), wanted);
    }
}

// After many mini-batches a sampler gives the same as a fresh one: no state remains.
TEST_P(sampler_at, forgets_the_mini_batch_before) {
  graph_handle const h = brought(random_graph(true), where());
  sample_options o;
  o.fanouts = {4, 4};
  neighbor_sampler s(graph_access::of(h), where(), std::nullopt, o);
  for (std::uint64_t b = 0; b < 20; ++b) {
    std::vector<std::uint64_t> const train = {b * 13, b * 13 + 1, b * 29 + 700};
    auto const near = near_values(s.at(), train, "a test");
    std::uint64_t const n = s.sample(b, near.data(), b % 5 == 4 ? 0 : train.size());
    std::vector<std::uint64_t> const rows = host_copy(s.at(), s.rows(), n);
    if (b % 5 == 4) EXPECT_TRUE(rows.empty());
    else EXPECT_EQ(rows, rows_of(graph_access::of(h), where(), o, train, b)) << b;
  }
}

// A hop of `last` samples only for vertices that the previous hop reached.
TEST_P(sampler_at, keeps_the_rule_of_hops) {
  // 0 <- 1 <- 2 <- 3, and 0 <- 10 .. 19: with a fanout of one the chain continues, and only `all` samples for 0 again.
  std::vector<arc> arcs{{2, 1}, {3, 2}};
  for (std::uint64_t u = 10; u < 30; ++u) arcs.push_back({u, 0});
  build_options b;
  b.in_edges = true;
  graph_handle const h = brought(make_graph(arcs, false, 0, b), where());
  sample_options o;
  o.fanouts = {1, 1, 1};
  o.rule = hop_rule::last;
  EXPECT_EQ(rows_of(graph_access::of(h), where(), o, {1}), (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(rows_of(graph_access::of(h), where(), o, {0}).size(), 2u);
  o.rule = hop_rule::all;
  EXPECT_EQ(rows_of(graph_access::of(h), where(), o, {1}), (std::vector<std::uint64_t>{1, 2, 3}));
  std::set<std::size_t> sizes;
  for (std::uint64_t k = 0; k < 20; ++k) sizes.insert(rows_of(graph_access::of(h), where(), o, {0}, k).size());
  EXPECT_TRUE(sizes.count(4));  // three different samples of twenty
  EXPECT_EQ(*sizes.rbegin(), 4u);
}

TEST_P(sampler_at, draws_uniformly) {
  constexpr std::uint64_t spokes = 37, times = 4000, fanout = 5;
  std::vector<arc> arcs;
  for (std::uint64_t u = 1; u <= spokes; ++u) arcs.push_back({u, 0});
  graph_handle const h = brought(make_graph(arcs, true), where());
  sample_options o;
  o.fanouts = {fanout};
  neighbor_sampler s(graph_access::of(h), where(), std::nullopt, o);
  auto const near = near_values(s.at(), std::vector<std::uint64_t>{0}, "a test");
  std::vector<double> seen(spokes + 1);
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> pairs;
  for (std::uint64_t b = 0; b < times; ++b) {
    std::uint64_t const count = s.sample(b, near.data(), 1);  // before rows(), whatever the evaluation order of arguments
    std::vector<std::uint64_t> const rows = host_copy(s.at(), s.rows(), count);
    ASSERT_EQ(rows.size(), fanout + 1);
    for (std::size_t i = 1; i < rows.size(); ++i) {
      ++seen[rows[i]];
      for (std::size_t k = i + 1; k < rows.size(); ++k) ++pairs[std::minmax(rows[i], rows[k])];
    }
  }
  // Chi-square over the spokes, and over the pairs; the bounds are five standard deviations up.
  auto const chi = [](double sum, double freedom) { return (sum - freedom) / std::sqrt(2 * freedom); };
  double const wanted = static_cast<double>(times * fanout) / spokes, of_pair = times * 10.0 / (spokes * (spokes - 1) / 2.0);
  double sum = 0, sum_pairs = 0;
  for (std::uint64_t u = 1; u <= spokes; ++u) sum += (seen[u] - wanted) * (seen[u] - wanted) / wanted;
  EXPECT_LT(chi(sum, spokes - 1), 5);
  for (std::uint64_t u = 1; u <= spokes; ++u)
    for (std::uint64_t v = u + 1; v <= spokes; ++v) {
      double const k = pairs[{u, v}];
      sum_pairs += (k - of_pair) * (k - of_pair) / of_pair;
    }
  EXPECT_LT(chi(sum_pairs, spokes * (spokes - 1) / 2.0), 5);
}

TEST(sampler, wants_in_lists_of_a_directed_graph) {
  graph const g = make_graph({{0, 1}, {1, 2}});
  errc code{};
  EXPECT_TRUE(refused(errc::input, "--in-edges", [&] { neighbor_sampler(g, {}, std::nullopt, {}); }));
  sample_options o;
  o.fanouts = {12, 1025};
  EXPECT_TRUE(refused(errc::usage, "fanout 1025", [&] { neighbor_sampler(g, {}, std::nullopt, o); }));
  o.fanouts.assign(7, 2);
  EXPECT_NE(error_of([&] { neighbor_sampler(g, {}, std::nullopt, o); }, &code).find("7 hops"), std::string::npos);
  o = {};
  o.batch = 0;
  EXPECT_TRUE(refused(errc::usage, [&] { neighbor_sampler(g, {}, std::nullopt, o); }));
}

// A mini-batch reads exactly one sector per sample, so a simulated run gives the link traffic.
TEST(sampler, counts_its_requests_when_simulated) {
  GARNER_NEEDS_COUNTS();
  graph const g = random_graph(true);
  sample_options o;
  o.fanouts = {3};
  neighbor_sampler s(g, {device_kind::simulated, 0}, std::nullopt, o);
  auto const near = near_values(s.at(), std::vector<std::uint64_t>{9}, "a test");
  s.sample(0, near.data(), 1);
  traffic const t = s.take_traffic();
  EXPECT_EQ(t.bytes_useful, 3u * 4);
  EXPECT_GE(t.request_count(), 1u);
  EXPECT_LE(t.request_count(), 3u);
}

}  // namespace
}  // namespace garner
