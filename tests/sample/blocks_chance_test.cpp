// Which edges blocks sample: by weights, by LABOR, and each as often as it should be.
#include <cmath>

#include "graph/pack.hpp"
#include "sample/taken_blocks.hpp"

namespace garner {
namespace {
using namespace garner::testing;

class blocks_at : public at_place {};
GARNER_AT_EVERY_PLACE(blocks_at);

TEST_P(blocks_at, draw_by_weights_without_replacement_and_never_a_weight_of_zero) {
  graph_handle const g = brought(weighted_graph(), where());
  graph const home = weighted_graph();
  auto const lists = adjacency_of(home, true);
  block_options o;
  o.weighted = o.edge_ids = true;
  auto const seeds = some_seeds(40, 400);
  for (bool const replace : {false, true})
    for (std::int64_t const f : {1, 3, 50, -1}) {
      o.replace = replace;
      block_sampler s(where(), g, {f}, o);
      sampled_subgraphs const d = taken(s, s.sample(0, seeds));
      std::map<std::int64_t, std::vector<std::int64_t>> by_target;
      for (std::size_t k = 0; k < d.relations[0].col.size(); ++k) by_target[d.relations[0].col[k]].push_back(d.relations[0].edge[k]);
      for (std::size_t i = 0; i < seeds.size(); ++i) {
        auto const& list = lists[static_cast<std::size_t>(seeds[i])];
        std::map<std::int64_t, entry> possible;
        for (entry const& e : list)
          if (e.weight > 0) possible[static_cast<std::int64_t>(e.edge)] = e;
        auto const& mine = by_target[static_cast<std::int64_t>(i)];
        std::size_t const wanted = f < 0     ? possible.size()
                                   : replace ? (possible.empty() ? 0 : static_cast<std::size_t>(f))
                                             : std::min<std::size_t>(static_cast<std::size_t>(f), possible.size());
        EXPECT_EQ(mine.size(), wanted);
        if (!replace || f < 0) {
          EXPECT_EQ(std::set<std::int64_t>(mine.begin(), mine.end()).size(), mine.size());
        }
        for (std::int64_t const e : mine) EXPECT_TRUE(possible.count(e));
      }
      graph_handle const at_home = graph_access::wrap(weighted_graph());
      block_sampler host({}, at_home, {f}, o);
      EXPECT_TRUE(d == taken(host, host.sample(0, seeds)));
    }
}

// Chi-square of each edge's sample count against the probability of its weight (one sample, and many with replacement),
// and against uniform probability (many samples).
TEST_P(blocks_at, draw_each_edge_as_often_as_it_should_be) {
  graph const home = weighted_graph();
  auto const lists = adjacency_of(home, true);
  ASSERT_GT(lists[7].size(), 1000u);
  ASSERT_LT(lists[5].size(), 32u);
  graph_handle const g = brought(weighted_graph(), where());
  std::uint64_t const batches = where().kind == device_kind::simulated ? 40 : 200, trees = 100;
  for (int const how : {0, 1, 2, 3}) {
    bool const weighted = how < 3;
    std::int64_t const v = how == 2 ? 5 : 7, fanout = how == 0 ? 1 : how == 3 ? 5 : 40;
    auto const& list = lists[static_cast<std::size_t>(v)];
    double total = 0;
    for (entry const& e : list) total += e.weight;
    block_options o;
    o.weighted = weighted, o.replace = how == 1 || how == 2, o.edge_ids = o.disjoint = true;
    block_sampler s(where(), g, {fanout}, o);
    std::map<std::int64_t, std::uint64_t> count;
    std::uint64_t all = 0;
    for (std::uint64_t b = 0; b < batches; ++b) {
      sampled_subgraphs const d = taken(s, s.sample(b, std::vector<std::int64_t>(trees, v)));
      for (std::int64_t const e : d.relations[0].edge) ++count[e], ++all;
    }
    EXPECT_EQ(all, batches * trees * static_cast<std::uint64_t>(fanout));
    double chi = 0, freedom = -1;
    for (entry const& e : list) {
      if (weighted && e.weight == 0) continue;
      double const expected = static_cast<double>(all) * (weighted ? e.weight / total : 1.0 / static_cast<double>(list.size()));
      double const off = static_cast<double>(count[static_cast<std::int64_t>(e.edge)]) - expected;
      chi += off * off / expected, freedom += 1;
    }
    EXPECT_LT(chi, freedom + 4 * std::sqrt(2 * freedom)) << how;
    EXPECT_GT(chi, freedom - 5 * std::sqrt(2 * freedom));
  }
}

// Two of a long list without replacement: the second by the weights of the rest. A list whose largest weight is far above
// the others is scanned.
TEST_P(blocks_at, draw_two_of_a_long_list_by_weights) {
  for (std::uint32_t const heavy : {3u, 3000u}) {
    auto const made = [&] {
      edge_list e = make_edges({}, false, 130);
      e.weights_are = weight_kind::u32;
      for (std::uint64_t i = 1; i < 130; ++i)
        e.arcs.push_back({i, 0}), e.weights.push_back(i == 9 ? heavy : static_cast<std::uint32_t>(i % 4));
      build_report report;
      build_options o;
      o.in_edges = true;
      return build_graph(std::move(e), o, report);
    };
    graph const home = made();
    auto const list = adjacency_of(home, true)[0];
    graph_handle const g = brought(made(), where());
    block_options o;
    o.weighted = o.edge_ids = o.disjoint = true;
    block_sampler s(where(), g, {2}, o);
    std::map<std::int64_t, std::uint64_t> count;
    std::uint64_t const batches = where().kind == device_kind::simulated ? 40 : 200, trees = 100;
    for (std::uint64_t b = 0; b < batches; ++b) {
      sampled_subgraphs const d = taken(s, s.sample(b, std::vector<std::int64_t>(trees, 0)));
      for (std::size_t k = 0; k + 1 < d.relations[0].edge.size(); k += 2) EXPECT_NE(d.relations[0].edge[k], d.relations[0].edge[k + 1]);
      for (std::int64_t const e : d.relations[0].edge) ++count[e];
    }
    double total = 0, odds = 0, chi = 0, freedom = -1;
    for (entry const& e : list) total += e.weight;
    for (entry const& e : list) odds += e.weight / (total - e.weight);
    for (entry const& e : list) {
      if (e.weight == 0) {
        EXPECT_EQ(count[static_cast<std::int64_t>(e.edge)], 0u);
        continue;
      }
      double const p = e.weight / total, expected = static_cast<double>(batches * trees) * p * (1 + odds - e.weight / (total - e.weight));
      double const off = static_cast<double>(count[static_cast<std::int64_t>(e.edge)]) - expected;
      chi += off * off / expected, freedom += 1;
    }
    EXPECT_LT(chi, freedom + 4 * std::sqrt(2 * freedom)) << heavy;
    EXPECT_GT(chi, freedom - 6 * std::sqrt(2 * freedom)) << heavy;
    graph_handle const at_home = graph_access::wrap(made());
    block_sampler host({}, at_home, {2}, o);
    EXPECT_TRUE(taken(s, s.sample(7, std::vector<std::int64_t>(trees, 0))) ==
                taken(host, host.sample(7, std::vector<std::int64_t>(trees, 0))));
  }
}

// The reference sorts each list by its neighbors' random numbers.
TEST_P(blocks_at, keep_by_labor_the_neighbors_of_the_smallest_numbers) {
  std::uint64_t chosen = 0;
  for (int kind = 0; kind < 6; ++kind) {
    auto const made = [&] {
      graph g = kind == 3 ? weighted_graph() : random_graph(kind == 1, kind == 2 ? 8 : 4);
      if (kind == 4) pack(g);
      return g;
    };
    graph const home = kind == 4 ? random_graph(false) : made();
    graph_handle const there = brought(made(), where());
    auto const lists = adjacency_of(home, true);
    auto const seeds = some_seeds(60, home.info.vertices);
    for (std::uint64_t const number : {0u, 9u})
      for (std::vector<std::int64_t> const& fanouts : {std::vector<std::int64_t>{5, 3, 2}, {40, 2}, {1100, 0, 4}, {-1, 3}}) {
        block_options o;
        o.labor = o.edge_ids = true, o.seed = 21, o.disjoint = kind == 5;
        if (kind == 3) o.rule = hop_rule::all;
        block_sampler s(where(), there, fanouts, o);
        sampled_subgraphs const d = taken(s, s.sample(number, seeds));
        expect_blocks(d, lists, seeds, fanouts, o);
        std::uint64_t const key = random_bits(21, number * 8, 0);
        std::size_t at = 0;
        for (std::size_t h = 0; h < fanouts.size(); ++h)
          for (std::size_t const end = at + d.relations[0].by_hop[h]; at < end;) {
            std::int64_t const col = d.relations[0].col[at];
            auto const& list = lists[static_cast<std::size_t>(d.types[0].ids[static_cast<std::size_t>(col)])];
            std::vector<std::pair<std::uint64_t, std::int64_t>> keyed;
            for (entry const& e : list)
              keyed.push_back({mix(key + 0x9e3779b97f4a7c15ull * (e.neighbor + 1)) >> 1, static_cast<std::int64_t>(e.edge)});
            bool const some = fanouts[h] >= 0 && list.size() > static_cast<std::size_t>(fanouts[h]);
            if (some) std::sort(keyed.begin(), keyed.end());
            for (std::size_t k = 0; at < end && d.relations[0].col[at] == col; ++k, ++at) {
              ASSERT_EQ(d.relations[0].edge[at], keyed[k].second) << "graph " << kind << ", hop " << h;
              chosen += some;
            }
          }
      }
  }
  EXPECT_GT(chosen, 10000u);
}

// One hop over two relations from one type: a node has one random number in both. The same id of another type has a different one.
TEST_P(blocks_at, have_one_number_a_neighbor_of_a_type_in_all_relations) {
  std::vector<arc> arcs;
  for (std::uint64_t u = 2; u < 300; ++u) arcs.push_back({u, 0}), arcs.push_back({u, 1});
  build_options how;
  how.in_edges = true;
  graph_handle const g = brought(make_graph(arcs, false, 300, how), where());
  block_options o;
  o.labor = true;
  std::vector<sampled_relation> relations(3);
  for (std::uint32_t r = 0; r < 3; ++r) relations[r] = {.adjacency = &g, .from = r == 2 ? 1u : 0u, .to = 2, .fanouts = {30}};
  block_sampler s(where(), {sampled_type{.vertices = 300}, sampled_type{.vertices = 300}, sampled_type{.vertices = 300}}, relations, o);
  sampled_subgraphs const d = taken(s, s.sample(4, std::vector<std::int64_t>{0, 1}, 2), 3, 3);
  for (sampled_subgraphs::edges const& e : d.relations) EXPECT_EQ(e.row.size(), 60u);
  EXPECT_EQ(d.types[0].ids.size(), 30u) << "both seeds keep the same, by both relations";
  EXPECT_EQ(d.types[1].ids.size(), 30u);
  std::set<std::int64_t> const first(d.types[0].ids.begin(), d.types[0].ids.end()), second(d.types[1].ids.begin(), d.types[1].ids.end());
  EXPECT_FALSE(first == second);
}

TEST_P(blocks_at, keep_each_neighbor_by_labor_as_often_as_it_should_be) {
  std::uint64_t const leaves = 100, batches = where().kind == device_kind::simulated ? 400 : 1000;
  std::vector<arc> arcs;
  for (std::uint64_t u = 1; u <= leaves; ++u) arcs.push_back({u, 0});
  build_options how;
  how.in_edges = true;
  graph_handle const g = brought(make_graph(arcs, false, leaves + 1, how), where());
  block_options o;
  o.labor = true;
  block_sampler s(where(), g, {5}, o);
  std::vector<double> count(leaves + 1);
  for (std::uint64_t b = 0; b < batches; ++b) {
    sampled_subgraphs const d = taken(s, s.sample(b, std::vector<std::int64_t>{0}));
    ASSERT_EQ(d.types[0].ids.size(), 6u);
    for (std::size_t k = 1; k < 6; ++k) ++count[static_cast<std::size_t>(d.types[0].ids[k])];
  }
  double const expected = static_cast<double>(batches) * 5 / static_cast<double>(leaves), freedom = static_cast<double>(leaves) - 1;
  double chi = 0;  // five distinct ones per mini-batch: their counts scatter less, by 1 - 5 / leaves
  for (std::uint64_t u = 1; u <= leaves; ++u) chi += (count[u] - expected) * (count[u] - expected) / expected / 0.95;
  EXPECT_LT(chi, freedom + 4 * std::sqrt(2 * freedom));
  EXPECT_GT(chi, freedom - 4 * std::sqrt(2 * freedom));
}

TEST(blocks, have_fewer_vertices_by_labor) {
  generate_options how;
  how.scale = 13;
  graph_handle const g = generate_graph(how);
  auto const seeds = some_seeds(512, g.info().vertices);
  std::uint64_t vertices[2] = {}, edges[2] = {};
  for (bool const labor : {false, true}) {
    block_options o;
    o.labor = labor;
    block_sampler s({}, g, {10, 10}, o);
    for (std::uint64_t b = 0; b < 10; ++b) {
      sampled_subgraph const drawn = s.sample(b, seeds);
      vertices[labor] += drawn.of_type(0).count, edges[labor] += drawn.of_relation(0).by_hop[0];
    }
  }
  EXPECT_EQ(edges[0], edges[1]) << "as many a seed";
  EXPECT_LT(static_cast<double>(vertices[1]), 0.8 * static_cast<double>(vertices[0]));
}

}  // namespace
}  // namespace garner
