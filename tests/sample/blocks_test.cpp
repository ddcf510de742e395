// Blocks on every device, compared with a serial reference: nodes, edges, and the permitted samples.
#include "garner/subgraph.hpp"

#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "core/progress.hpp"
#include "core/random.hpp"
#include "graph/container.hpp"
#include "graph/handle.hpp"
#include "graph/pack.hpp"
#include "graph/reorder.hpp"
#include "sample/blocks.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

// The result, on the host.
struct sampled_subgraphs {
  struct vertices {
    std::vector<std::int64_t> ids;
    std::vector<std::uint32_t> tree;
    std::vector<std::uint64_t> by_hop;
    bool operator==(vertices const&) const = default;
  };
  struct edges {
    std::vector<std::int64_t> row, col, edge;
    std::vector<std::uint64_t> by_hop;
    bool operator==(edges const&) const = default;
  };
  std::vector<vertices> types;
  std::vector<edges> relations;
  bool operator==(sampled_subgraphs const&) const = default;
};
sampled_subgraphs taken(block_sampler& s, sampled_subgraph const& b, std::size_t types = 1, std::size_t relations = 1) {
  executor& x = s.inside().at();
  sampled_subgraphs d;
  for (std::size_t t = 0; t < types; ++t) {
    sampled_subgraph::vertices const& v = b.of_type(t);
    d.types.push_back({host_copy(x, v.ids, v.count), v.tree ? host_copy(x, v.tree, v.count) : std::vector<std::uint32_t>{}, v.by_hop});
    EXPECT_EQ(std::accumulate(v.by_hop.begin(), v.by_hop.end(), std::uint64_t{0}), v.count);
  }
  for (std::size_t r = 0; r < relations; ++r) {
    sampled_subgraph::edges const& e = b.of_relation(r);
    auto const copy = [&](std::int64_t const* at) { return at ? host_copy(x, at, e.count) : std::vector<std::int64_t>{}; };
    d.relations.push_back({copy(e.row), copy(e.col), copy(e.edge), e.by_hop});
  }
  return d;
}

// Adjacency by node, with the data of each entry.
struct entry {
  std::uint64_t neighbor, edge;
  double weight;
};
std::vector<std::vector<entry>> adjacency_of(graph const& g, bool in) {
  edge_lists const& l = in && g.info.directed ? g.in : g.out;
  std::vector<std::vector<entry>> all(g.info.vertices);
  for (std::uint64_t v = 0; v < g.info.vertices; ++v)
    for (std::uint64_t i = l.offsets[v]; i < l.offsets[v + 1]; ++i) {
      std::uint64_t const u = g.info.id_bytes == 8 ? static_cast<std::uint64_t const*>(l.targets.data())[i]
                                                   : static_cast<std::uint32_t const*>(l.targets.data())[i];
      double w = 1;
      if (l.weights.bytes()) w = static_cast<std::uint32_t const*>(l.weights.data())[i];
      all[v].push_back({u, i, w});
    }
  return all;
}

graph random_graph(bool undirected, std::uint32_t id_bytes = 4) {
  std::vector<arc> arcs;
  for (std::uint64_t i = 0; i < 12000; ++i) {
    std::uint64_t u = random_bits(1, 0, i) % 1000, v = random_bits(1, 1, i) % 1000;
    if (i % 4 == 0) v = 9;
    if (v % 5 != 1) arcs.push_back({u, v});
  }
  build_options o;
  o.id_bytes = id_bytes;
  o.keep_duplicates = o.keep_loops = true;
  o.in_edges = !undirected;
  return make_graph(arcs, undirected, 1003, o);
}
graph weighted_graph() {
  edge_list e = make_edges({}, false, 400);
  e.weights_are = weight_kind::u32;
  for (std::uint64_t i = 0; i < 8000; ++i) {
    std::uint64_t const v = i % 3 == 0 ? 7 : random_bits(2, 1, i) % 400;
    e.arcs.push_back({random_bits(2, 0, i) % 400, v});
    e.weights.push_back(static_cast<std::uint32_t>(i % 4));
  }
  build_report report;
  build_options o;
  o.in_edges = o.keep_duplicates = true;
  return build_graph(std::move(e), o, report);
}
graph_handle brought(graph g, execution_device where) { return to_device(graph_access::wrap(std::move(g)), where, tier::host); }
std::vector<std::int64_t> some_seeds(std::uint64_t n, std::uint64_t vertices, std::uint64_t salt = 0) {
  std::vector<std::int64_t> s;
  for (std::uint64_t i = 0; i < n; ++i) s.push_back(static_cast<std::int64_t>(random_bits(5, salt, i) % vertices));
  s.push_back(9 % static_cast<std::int64_t>(vertices));
  return s;
}

// Invariants of any sample of one relation: seeds first; edges in the order of hops, each in its target's list, nodes in the
// order in which edges first reach them; as many edges per target as its list has, or the fanout.
void expect_blocks(sampled_subgraphs const& d, std::vector<std::vector<entry>> const& lists, std::vector<std::int64_t> const& seeds,
                   std::vector<std::int64_t> const& fanouts, block_options const& o) {
  auto const& v = d.types[0];
  auto const& e = d.relations[0];
  ASSERT_EQ(v.by_hop.size(), fanouts.size() + 1);
  ASSERT_EQ(e.by_hop.size(), fanouts.size());
  ASSERT_GE(v.ids.size(), seeds.size());
  EXPECT_TRUE(std::equal(seeds.begin(), seeds.end(), v.ids.begin()));
  std::map<std::pair<std::int64_t, std::uint32_t>, std::size_t> number;
  auto const tree = [&](std::size_t i) { return o.disjoint ? v.tree[i] : 0; };
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    if (o.disjoint) {
      ASSERT_EQ(v.tree[i], i);
    }
    number.insert({{seeds[i], tree(i)}, i});
  }
  std::size_t at = 0, known = seeds.size(), begin = 0;
  for (std::size_t h = 0; h < fanouts.size(); ++h) {
    std::size_t const from = o.rule == hop_rule::all ? 0 : begin, to = known;
    std::size_t const first = at;
    for (std::size_t i = from; i < to; ++i) {
      auto const& list = lists[static_cast<std::size_t>(v.ids[i])];
      auto const f = static_cast<std::size_t>(fanouts[h]);
      std::size_t const wanted = fanouts[h] < 0 ? list.size() : list.empty() ? 0 : o.replace ? f : std::min(f, list.size());
      std::set<std::int64_t> positions;
      for (std::size_t k = 0; k < wanted; ++k, ++at) {
        ASSERT_LT(at, e.col.size());
        ASSERT_EQ(e.col[at], static_cast<std::int64_t>(i)) << "hop " << h;
        auto const it =
            std::find_if(list.begin(), list.end(), [&](entry const& x) { return x.edge == static_cast<std::uint64_t>(e.edge[at]); });
        ASSERT_NE(it, list.end());
        positions.insert(e.edge[at]);
        auto const key = std::make_pair(static_cast<std::int64_t>(it->neighbor), tree(i));
        auto const [mine, fresh] = number.insert({key, known});
        if (fresh) {
          ASSERT_LT(known, v.ids.size());
          ASSERT_EQ(v.ids[known], key.first);
          if (o.disjoint) {
            ASSERT_EQ(v.tree[known], key.second);
          }
          ++known;
        }
        ASSERT_EQ(e.row[at], static_cast<std::int64_t>(mine->second));
      }
      if (!o.replace || fanouts[h] < 0) {
        EXPECT_EQ(positions.size(), wanted);
      }
    }
    EXPECT_EQ(e.by_hop[h], at - first);
    EXPECT_EQ(v.by_hop[h + 1], known - to);
    begin = to;
  }
  EXPECT_EQ(at, e.col.size());
  EXPECT_EQ(known, v.ids.size());
}

class blocks_at : public at_place {};
GARNER_AT_EVERY_PLACE(blocks_at);

TEST_P(blocks_at, hold_what_the_rules_say_and_the_bits_of_the_host) {
  std::uint64_t kinds = 0;
  for (bool const undirected : {false, true})
    for (bool const in : {true, false})
      for (hop_rule const rule : {hop_rule::last, hop_rule::all})
        for (bool const replace : {false, true})
          for (bool const disjoint : {false, true}) {
            block_options o;
            o.rule = rule, o.replace = replace, o.disjoint = disjoint, o.edge_ids = true, o.seed = 3 + kinds;
            graph_handle const home = graph_access::wrap(random_graph(undirected)), there = brought(random_graph(undirected), where());
            auto const lists = adjacency_of(graph_access::of(home), in);
            std::vector<std::int64_t> const seeds = some_seeds(20, 1003, kinds);
            for (std::vector<std::int64_t> const& fanouts :
                 {std::vector<std::int64_t>{5, 3, 2}, {1}, {40, 0, 4}, {-1}, {2, -1}, {0}, {0, 0}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 2}}) {
              block_sampler a({}, home, fanouts, o, in ? edge_direction::in : edge_direction::out);
              block_sampler b(where(), there, fanouts, o, in ? edge_direction::in : edge_direction::out);
              sampled_subgraph const of_a = a.sample(7, seeds), of_b = b.sample(7, seeds);
              sampled_subgraphs const d = taken(a, of_a);
              expect_blocks(d, lists, seeds, fanouts, o);
              EXPECT_TRUE(d == taken(b, of_b));
              EXPECT_TRUE(d == taken(b, b.sample(7, seeds))) << "twice";
              ++kinds;
            }
          }
  EXPECT_EQ(kinds, 256u);
}

// Host memory that a device can read (HMM, GH200) still belongs to the caller, and may be reused once start() has returned.
TEST_P(blocks_at, have_copied_what_lies_in_host_memory_when_start_returns) {
  graph_handle const g = brought(random_graph(true), where());
  block_sampler s(where(), g, {6, 5, 4}, {});
  auto const seeds = some_seeds(50, 1003);
  sampled_subgraphs const wanted = taken(s, s.sample(1, seeds));
  sampled_subgraph b;
  {
    auto passing = std::make_unique<std::vector<std::int64_t>>(seeds);
    s.start(b, 1, *passing);
    std::ranges::fill(*passing, 0);
  }
  s.finish(b);
  EXPECT_TRUE(wanted == taken(s, b));
}

TEST_P(blocks_at, come_from_packed_lists_and_wide_ids_with_the_same_bits) {
  block_options o;
  o.edge_ids = true;
  auto const seeds = some_seeds(50, 1003);
  graph_handle const home = graph_access::wrap(random_graph(true));
  block_sampler a({}, home, {6, 5, 4}, o);
  sampled_subgraphs const wanted = taken(a, a.sample(1, seeds));
  graph_handle const wide = brought(random_graph(true, 8), where());
  block_sampler b(where(), wide, {6, 5, 4}, o);
  EXPECT_TRUE(wanted == taken(b, b.sample(1, seeds)));
  graph packed = random_graph(true);
  pack(packed);
  graph_handle const p = brought(std::move(packed), where());
  block_sampler c(where(), p, {6, 5, 4}, o);
  EXPECT_TRUE(wanted == taken(c, c.sample(1, seeds)));
  EXPECT_FALSE(wanted == taken(c, c.sample(2, seeds)));
}

TEST_P(blocks_at, have_the_same_bits_where_some_lists_are_kept_near) {
  auto const seeds = some_seeds(50, 1003);
  for (bool const packs : {false, true}) {
    graph g = random_graph(true);
    if (packs) pack(g);
    graph_handle const h = brought(std::move(g), where());
    block_options o;
    o.edge_ids = true;
    block_sampler none(where(), h, {6, 5}, o);
    o.graph_cache = 20000;
    block_sampler some(where(), h, {6, 5}, o);
    o.graph_cache = 1u << 30;
    block_sampler all(where(), h, {6, 5}, o);
    sampled_subgraphs const wanted = taken(none, none.sample(1, seeds));
    EXPECT_TRUE(wanted == taken(some, some.sample(1, seeds)));
    EXPECT_TRUE(wanted == taken(all, all.sample(1, seeds)));
    if (where().kind == device_kind::cuda) {
      EXPECT_GT(all.bytes(), some.bytes());
      EXPECT_GT(some.bytes(), none.bytes());
    }
  }
}

std::vector<float> some_scores(std::uint64_t vertices) {
  std::vector<float> scores(vertices);
  for (std::size_t v = 0; v < scores.size(); ++v) scores[v] = static_cast<float>(random_bits(5, 3, v) % 100);
  return scores;
}

TEST_P(blocks_at, have_the_same_bits_where_lists_are_kept_by_score) {
  reorder_options by;
  by.by = vertex_order::degree;
  auto const packed = [](graph g) {
    pack(g);
    return g;
  };
  std::vector<graph (*)()> const graphs{[] { return random_graph(true); }, [] { return random_graph(false); },
                                        [] { return random_graph(true, 8); }, [] { return weighted_graph(); }};
  std::uint64_t compared = 0;
  for (std::size_t kind = 0; kind < graphs.size(); ++kind)
    for (bool const packs : {false, true})
      for (bool const reorders : {false, true}) {
        graph g = graphs[kind]();
        if (packs && g.info.id_bytes == 8) continue;
        if (reorders) g = reorder(std::move(g), by, {});
        if (packs) g = packed(std::move(g));
        bool const has_weights = g.info.weights != weight_kind::none;
        std::uint64_t const n = g.info.vertices;
        graph_handle const h = brought(std::move(g), where());
        std::vector<float> const scores = some_scores(n);
        std::vector<std::int64_t> times(n);
        for (std::size_t v = 0; v < n; ++v) times[v] = static_cast<std::int64_t>(random_bits(8, 0, v) % 50);
        auto const seeds = some_seeds(40, n);
        for (int how = 0; how < 7; ++how) {
          block_options o;
          o.edge_ids = o.inner_edge_ids = true;  // the user's edge ids are read over the link
          o.replace = o.disjoint = how == 1;
          if (how == 2) o.rule = hop_rule::all;
          if (how == 3) o.induced = true;
          if (how == 4) o.temporal = temporal_rule::uniform;
          if (how == 5 && !has_weights) continue;
          o.weighted = how == 5, o.labor = how == 6;
          std::vector<std::int64_t> const fanouts = how == 2 ? std::vector<std::int64_t>{-1, 3} : std::vector<std::int64_t>{6, 5};
          auto const draw = [&](traffic* link = nullptr, std::uint64_t* near = nullptr) {
            block_sampler s(where(), h, fanouts, o, edge_direction::in, times);
            EXPECT_EQ(s.take_traffic().bytes_link(), 0u) << "keeping lists is not drawing";
            if (near) *near = s.bytes();
            sampled_subgraphs const d = taken(s, s.sample(1, seeds));
            if (link) *link = s.take_traffic();
            return d;
          };
          traffic all_far;
          std::uint64_t none_near = 0, before = 0;
          sampled_subgraphs const wanted = draw(&all_far, &none_near);
          o.scores = scores;
          for (std::uint64_t const budget : {0u, 50u, 3000u, 20000u, 1u << 30}) {
            o.graph_cache = budget;
            traffic link;
            std::uint64_t near = 0;
            EXPECT_TRUE(wanted == draw(&link, &near)) << "graph " << kind << " " << packs << reorders << ", how " << how << ", " << budget;
            ++compared;
            if (where().kind == device_kind::cpu) {
              EXPECT_EQ(near, none_near);  // all adjacency is local there
              continue;
            }
            EXPECT_GE(near, before);
            before = near;
            EXPECT_LE(near, none_near + budget + (budget ? 16 * n : 0));
            if (where().kind != device_kind::simulated) continue;
            if (budget == 0) {
              EXPECT_EQ(link.bytes_link(), all_far.bytes_link());
            } else if (budget == 20000) {
              if (counts_requests()) {
                EXPECT_LT(link.bytes_useful, all_far.bytes_useful) << "graph " << kind << " " << packs << reorders << ", how " << how;
              }
            } else if (budget > 20000 && !(how == 3 && packs)) {  // for an empty compressed list among the induced edges, a block is read
              EXPECT_EQ(link.bytes_link(), 0u) << "graph " << kind << " " << packs << reorders << ", how " << how;
            }
          }
        }
      }
  EXPECT_EQ(compared, (2u * 4 * 6 + 2 * 6 + 4 * 7) * 5);
}

// In random order, as in typical graphs.
TEST(blocks, ask_less_of_far_lists_that_are_kept_by_score_than_of_the_first) {
  GARNER_NEEDS_COUNTS();
  generate_options how;
  how.scale = 12;
  graph_handle const g = generate_graph(how);
  execution_device const simulated{device_kind::simulated, 0};
  std::vector<std::int64_t> seeds;
  for (std::int64_t v = 0; v < 4096; v += 8) seeds.push_back(v);
  score_options of;
  of.by = score_kind::expected;
  of.sampling = {{10, 5}, hop_rule::last, 64, 1};
  std::vector<std::uint64_t> const ids = g.ids();
  for (std::int64_t const k : seeds) of.train.push_back(ids[static_cast<std::size_t>(k)]);
  std::vector<float> const score = scores(g, of).score;
  block_options o;
  auto const asked = [&] {
    block_sampler s(simulated, g, {10, 5}, o);
    for (std::uint64_t b = 0; b < 8; ++b) s.sample(b, std::span<std::int64_t const>(seeds).subspan(b * 64, 64));
    return s.take_traffic().request_count();
  };
  std::uint64_t const none = asked();
  for (double const share : {0.05, 0.1, 0.2, 0.3}) {
    o.graph_cache = static_cast<std::uint64_t>(share * static_cast<double>(g.info().edges) * 4);
    o.scores = {};
    std::uint64_t const first = asked();
    o.scores = score;
    std::uint64_t const best = asked();
    EXPECT_LT(first, none);
    EXPECT_GT(4 * (none - best), 5 * (none - first)) << share;
    std::string const about = block_sampler(simulated, g, {10, 5}, o).about();
    EXPECT_NE(about.find(" near: the lists of "), std::string::npos) << about;
  }
}

TEST(blocks, refuse_scores_that_are_not_one_a_vertex) {
  graph_handle const g = graph_access::wrap(random_graph(true));
  execution_device const simulated{device_kind::simulated, 0};
  block_options o;
  o.graph_cache = 1000;
  std::vector<float> score = some_scores(1002);
  o.scores = score;
  EXPECT_EQ(error_of([&] { block_sampler(simulated, g, {2}, o); }), "1002 scores for 1003 vertices of type 0; give each one");
  score.push_back(std::nanf(""));
  o.scores = score;
  EXPECT_NE(error_of([&] { block_sampler(simulated, g, {2}, o); }).find("score of row 1002 is not a number"), std::string::npos);
  EXPECT_NE(error_of([&] {
              block_sampler(simulated, {{1003}, {1003}}, {{&g, edge_direction::in, 0, 1, {2}}}, o);
            }).find("give each type its own"),
            std::string::npos);
}

TEST_P(blocks_at, name_vertices_by_position_whatever_their_order_inside) {
  auto const seeds = some_seeds(30, 1003);
  reorder_options by;
  by.by = vertex_order::degree;
  graph_handle g = brought(reorder(random_graph(true), by, {}), where());
  auto const lists = adjacency_of(random_graph(true), true);
  block_sampler s(where(), g, {4, 4}, {});
  sampled_subgraphs const d = taken(s, s.sample(0, seeds));
  EXPECT_TRUE(std::equal(seeds.begin(), seeds.end(), d.types[0].ids.begin()));
  for (std::size_t k = 0; k < d.relations[0].row.size(); ++k) {
    auto const v = static_cast<std::size_t>(d.types[0].ids[static_cast<std::size_t>(d.relations[0].col[k])]);
    auto const u = static_cast<std::uint64_t>(d.types[0].ids[static_cast<std::size_t>(d.relations[0].row[k])]);
    EXPECT_TRUE(std::any_of(lists[v].begin(), lists[v].end(), [&](entry const& e) { return e.neighbor == u; }));
  }
  EXPECT_GT(d.relations[0].row.size(), 200u);
}

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

TEST_P(blocks_at, draw_no_edge_that_is_later_than_its_seed) {
  graph_handle const g = brought(random_graph(false), where());
  graph const home = random_graph(false);
  auto const lists = adjacency_of(home, true);
  std::vector<std::int64_t> of_vertices(1003), of_edges(home.info.edges);
  for (std::size_t i = 0; i < of_vertices.size(); ++i) of_vertices[i] = static_cast<std::int64_t>(random_bits(8, 0, i) % 50);
  for (std::size_t i = 0; i < of_edges.size(); ++i) of_edges[i] = static_cast<std::int64_t>(random_bits(8, 1, i) % 50);
  auto const seeds = some_seeds(30, 1003);
  std::vector<std::int64_t> seed_times;
  for (std::size_t i = 0; i < seeds.size(); ++i) seed_times.push_back(static_cast<std::int64_t>(i));
  for (int const how : {0, 1, 2, 3}) {
    bool const by_edge = how % 2 == 1, in_order = how > 1;
    if (in_order) {  // lists are ordered by neighbor
      for (std::size_t i = 0; i < of_vertices.size(); ++i) of_vertices[i] = static_cast<std::int64_t>(i / 20);
      for (auto const& list : lists) {
        std::vector<std::int64_t> times;
        for (entry const& x : list) times.push_back(of_edges[x.edge]);
        std::sort(times.begin(), times.end());
        for (std::size_t i = 0; i < list.size(); ++i) of_edges[list[i].edge] = times[i];
      }
    }
    for (temporal_rule const rule : {temporal_rule::uniform, temporal_rule::last})
      for (std::int64_t const f : {4, 400, -1}) {
        block_options o;
        o.temporal = rule, o.edge_ids = true, o.replace = f < 0;  // all of them: each once
        auto const make = [&](execution_device p, graph_handle const& h) {
          return block_sampler(p, {{1003, by_edge ? std::span<std::int64_t const>{} : of_vertices}},
                               {{&h,
                                 edge_direction::in,
                                 0,
                                 0,
                                 {f, 2},
                                 by_edge ? std::span<std::int64_t const>(of_edges) : std::span<std::int64_t const>{},
                                 in_order}},
                               o);
        };
        block_sampler s = make(where(), g);
        sampled_subgraphs const d = taken(s, s.sample(0, seeds, 0, seed_times));
        auto const& e = d.relations[0];
        ASSERT_FALSE(d.types[0].tree.empty());
        auto const time_of = [&](entry const& x) { return by_edge ? of_edges[x.edge] : of_vertices[x.neighbor]; };
        std::map<std::int64_t, std::multiset<std::int64_t>> drawn;
        for (std::size_t k = 0; k < e.row.size(); ++k) {
          auto const tree = d.types[0].tree[static_cast<std::size_t>(e.col[k])];
          EXPECT_EQ(d.types[0].tree[static_cast<std::size_t>(e.row[k])], tree);
          auto const v = static_cast<std::size_t>(d.types[0].ids[static_cast<std::size_t>(e.col[k])]);
          auto const it = std::find_if(lists[v].begin(), lists[v].end(),
                                       [&](entry const& x) { return x.edge == static_cast<std::uint64_t>(e.edge[k]); });
          ASSERT_NE(it, lists[v].end());
          EXPECT_EQ(static_cast<std::int64_t>(it->neighbor), d.types[0].ids[static_cast<std::size_t>(e.row[k])]);
          EXPECT_LE(time_of(*it), seed_times[tree]);
          if (k < e.by_hop[0]) drawn[e.col[k]].insert(time_of(*it));
        }
        for (std::size_t i = 0; i < seeds.size(); ++i) {
          std::multiset<std::int64_t, std::greater<>> possible;
          for (entry const& x : lists[static_cast<std::size_t>(seeds[i])])
            if (time_of(x) <= seed_times[i]) possible.insert(time_of(x));
          auto const& mine = drawn[static_cast<std::int64_t>(i)];
          std::size_t const wanted = f < 0 ? possible.size() : std::min<std::size_t>(static_cast<std::size_t>(f), possible.size());
          ASSERT_EQ(mine.size(), wanted);
          if (rule == temporal_rule::last && wanted) {
            EXPECT_EQ(*mine.begin(), *std::next(possible.begin(), static_cast<std::ptrdiff_t>(wanted) - 1));
          }
        }
        graph_handle const h = graph_access::wrap(random_graph(false));
        block_sampler host = make({}, h);
        EXPECT_TRUE(d == taken(host, host.sample(0, seeds, 0, seed_times)));
      }
  }
}

// The data by position: for every candidate edge its target, neighbor, edge id and tree.
using drawn_edges = std::multiset<std::array<std::int64_t, 4>>;
drawn_edges edges_of(sampled_subgraphs const& d) {
  auto const& e = d.relations[0];
  drawn_edges all;
  for (std::size_t k = 0; k < e.row.size(); ++k) {
    auto const v = static_cast<std::size_t>(e.col[k]), u = static_cast<std::size_t>(e.row[k]);
    all.insert({d.types[0].ids[v], d.types[0].ids[u], e.edge[k], d.types[0].tree.empty() ? 0 : d.types[0].tree[v]});
  }
  return all;
}

TEST_P(blocks_at, take_times_and_name_edges_by_position_in_every_order) {
  graph_handle const plain = graph_access::wrap(random_graph(false));
  // A reordered graph has parallel edges by weight.
  graph_handle const plain_weighted = graph_access::wrap(reorder(reorder(weighted_graph(), {}), {vertex_order::natural}));
  std::vector<std::int64_t> of_vertices(1003), of_edges(plain.info().edges), none;
  for (std::size_t i = 0; i < of_vertices.size(); ++i) of_vertices[i] = static_cast<std::int64_t>(random_bits(8, 0, i) % 50);
  for (std::size_t i = 0; i < of_edges.size(); ++i) of_edges[i] = static_cast<std::int64_t>(random_bits(8, 1, i) % 50);
  auto const seeds = some_seeds(30, 1003), few = some_seeds(30, 400);
  std::vector<float> const scores = some_scores(1003);
  for (vertex_order const by : {vertex_order::degree, vertex_order::bfs, vertex_order::random, vertex_order::score})
    for (bool const packs : {false, true})
      for (edge_direction const side : {edge_direction::in, edge_direction::out}) {
        auto const ordered = [&](graph g) {
          std::uint64_t const scored = by == vertex_order::score ? g.info.vertices : 0;
          g = reorder(std::move(g), {by, 7, std::span(scores).first(scored)});
          if (packs) pack(g);
          return brought(std::move(g), where());
        };
        graph_handle const g = ordered(random_graph(false)), weighted = ordered(weighted_graph());
        for (int how = 0; how < 5; ++how) {
          block_options o;
          o.edge_ids = true;
          if (how == 1 || how == 2) o.temporal = temporal_rule::uniform;
          o.weighted = how == 3, o.induced = how == 4;
          auto const draw = [&](execution_device p, graph_handle const& h, std::vector<std::int64_t> fanouts) {
            sampled_relation const relation{&h, side, 0, 0, std::move(fanouts), how == 2 ? of_edges : none};
            block_sampler s(p, {{h.info().vertices, how == 1 ? of_vertices : none}}, {relation}, o);
            std::vector<std::int64_t> const ages(how == 2 ? seeds.size() : 0, 20);
            return taken(s, s.sample(3, how == 3 ? few : seeds, 0, ages));
          };
          graph_handle const& natural = how == 3 ? plain_weighted : plain;
          drawn_edges const wanted = edges_of(draw({}, natural, {-1, how == 4 ? 0 : -1}));
          EXPECT_GT(wanted.size(), 100u);
          EXPECT_TRUE(wanted == edges_of(draw(where(), how == 3 ? weighted : g, {-1, how == 4 ? 0 : -1}))) << to_string(by) << " " << how;
          if (how == 4) continue;
          for (auto const& some : edges_of(draw(where(), how == 3 ? weighted : g, {2}))) EXPECT_TRUE(wanted.count(some));
        }
      }
  graph_handle const g = brought(reorder(random_graph(false), {}), where());
  EXPECT_NE(error_of([&] {
              block_sampler(where(), {{900}}, {{&g, edge_direction::in, 0, 0, {2}}});
            }).find("and its type has 900"),
            std::string::npos);
}

// An empty relation needs no times.
TEST_P(blocks_at, draw_by_times_of_edges_beside_a_relation_without_edges) {
  graph_handle const g = brought(random_graph(false), where()), none = brought(make_graph({}, false, 1003), where());
  std::vector<std::int64_t> of_edges(g.info().edges, 4);
  block_options o;
  o.temporal = temporal_rule::last;
  block_sampler s(where(), {{1003}, {1003}}, {{&g, edge_direction::in, 0, 0, {2, 2}, of_edges}, {&none, edge_direction::in, 1, 0, {3, -1}}},
                  o);
  auto const seeds = some_seeds(5, 1003);
  sampled_subgraphs const d = taken(s, s.sample(0, seeds, 0, std::vector<std::int64_t>(seeds.size(), 4)), 2, 2);
  EXPECT_FALSE(d.relations[0].row.empty());
  EXPECT_TRUE(d.relations[1].row.empty());
}

TEST_P(blocks_at, hold_all_edges_among_what_was_drawn_where_that_is_asked) {
  graph_handle const g = brought(random_graph(false), where());
  auto const lists = adjacency_of(random_graph(false), true);
  block_options o;
  o.induced = o.edge_ids = true;
  auto const seeds = std::vector<std::int64_t>{9, 4, 77, 500};
  block_sampler s(where(), g, {6, 5}, o);
  for (std::uint64_t b = 0; b < 3; ++b) {
    sampled_subgraphs const d = taken(s, s.sample(b, seeds));
    std::map<std::uint64_t, std::int64_t> number;
    for (std::size_t i = 0; i < d.types[0].ids.size(); ++i)
      number[static_cast<std::uint64_t>(d.types[0].ids[i])] = static_cast<std::int64_t>(i);
    std::vector<std::int64_t> row, col, edge;
    for (std::size_t i = 0; i < d.types[0].ids.size(); ++i)
      for (entry const& e : lists[static_cast<std::size_t>(d.types[0].ids[i])])
        if (number.count(e.neighbor))
          row.push_back(number[e.neighbor]), col.push_back(static_cast<std::int64_t>(i)), edge.push_back(static_cast<std::int64_t>(e.edge));
    EXPECT_EQ(d.relations[0].row, row);
    EXPECT_EQ(d.relations[0].col, col);
    EXPECT_EQ(d.relations[0].edge, edge);
    EXPECT_GT(row.size(), 30u);
  }
}

// Two types, three relations: an author writes papers, papers cite papers, and are written by authors.
TEST_P(blocks_at, come_from_several_relations_with_a_fanout_each) {
  auto const bipartite = [](std::uint64_t salt, std::uint64_t from, std::uint64_t to) {
    std::vector<arc> arcs;
    for (std::uint64_t i = 0; i < 3000; ++i) arcs.push_back({random_bits(salt, 0, i) % to, random_bits(salt, 1, i) % from});
    build_options o;
    o.keep_duplicates = o.keep_loops = true;
    return make_graph(arcs, false, std::max(from, to), o);
  };
  std::uint64_t const papers = 300, authors = 120;
  auto const make = [&](execution_device p) {
    std::vector<graph_handle> h;
    h.push_back(brought(bipartite(1, papers, papers), p));
    h.push_back(brought(bipartite(2, authors, papers), p));
    h.push_back(brought(bipartite(3, papers, authors), p));
    return h;
  };
  std::vector<graph_handle> const home = make({}), there = make(where());
  block_options o;
  o.edge_ids = true;
  auto const sampler = [&](execution_device p, std::vector<graph_handle> const& h) {
    return block_sampler(p, {{papers, {}}, {authors, {}}},
                         {{&h[0], edge_direction::out, 0, 0, {4, 3}, {}},
                          {&h[1], edge_direction::out, 1, 0, {2, 2}, {}},
                          {&h[2], edge_direction::out, 0, 1, {3, -1}, {}}},
                         o);
  };
  block_sampler a = sampler({}, home), b = sampler(where(), there);
  auto const seeds = some_seeds(10, papers);
  sampled_subgraphs const d = taken(a, a.sample(5, seeds, 0), 2, 3);
  EXPECT_TRUE(d == taken(b, b.sample(5, seeds, 0), 2, 3));
  EXPECT_TRUE(taken(a, a.sample(5, some_seeds(10, authors), 1), 2, 3) == taken(b, b.sample(5, some_seeds(10, authors), 1), 2, 3));
  EXPECT_EQ(d.types[0].by_hop[0], seeds.size());
  EXPECT_EQ(d.types[1].by_hop[0], 0u);
  EXPECT_EQ(d.relations[2].by_hop[0], 0u);  // no author yet
  EXPECT_GT(d.relations[2].by_hop[1], 0u);
  std::uint32_t const from[] = {0, 1, 0}, to[] = {0, 0, 1};
  for (std::size_t r = 0; r < 3; ++r) {
    auto const lists = adjacency_of(graph_access::of(home[r]), false);
    auto const& e = d.relations[r];
    ASSERT_EQ(e.row.size(), e.by_hop[0] + e.by_hop[1]);
    for (std::size_t k = 0; k < e.row.size(); ++k) {
      auto const v = static_cast<std::size_t>(d.types[to[r]].ids[static_cast<std::size_t>(e.col[k])]);
      auto const it =
          std::find_if(lists[v].begin(), lists[v].end(), [&](entry const& x) { return x.edge == static_cast<std::uint64_t>(e.edge[k]); });
      ASSERT_NE(it, lists[v].end());
      EXPECT_EQ(static_cast<std::int64_t>(it->neighbor), d.types[from[r]].ids[static_cast<std::size_t>(e.row[k])]);
    }
  }
  for (auto const& t : d.types) EXPECT_EQ(std::set<std::int64_t>(t.ids.begin() + 11, t.ids.end()).size(), t.ids.size() - 11);
}

// The ends of edges: trees are numbered across types, and the first type's samples do not depend on the others.
TEST_P(blocks_at, begin_at_seeds_of_several_types) {
  std::uint64_t const papers = 300, authors = 120;
  auto const make = [&](std::uint64_t salt, std::uint64_t from, std::uint64_t to) {
    std::vector<arc> arcs;
    for (std::uint64_t i = 0; i < 3000; ++i) arcs.push_back({random_bits(salt, 0, i) % to, random_bits(salt, 1, i) % from});
    return brought(make_graph(arcs, false, papers), where());
  };
  graph_handle const cites = make(1, papers, papers), writes = make(2, authors, papers), written = make(3, papers, authors);
  std::vector<std::int64_t> times_of_papers(papers), times_of_authors(authors, 0);
  std::iota(times_of_papers.begin(), times_of_papers.end(), 0);
  auto const sampler = [&](block_options const& o) {
    return block_sampler(where(), {{papers, times_of_papers}, {authors, times_of_authors}},
                         {{&cites, edge_direction::out, 0, 0, {4, 3}, {}},
                          {&writes, edge_direction::out, 1, 0, {2, 2}, {}},
                          {&written, edge_direction::out, 0, 1, {3, -1}, {}}},
                         o);
  };
  auto const first = some_seeds(10, papers), second = some_seeds(7, authors, 1);
  for (bool const temporal : {false, true}) {
    block_options o;
    o.edge_ids = o.disjoint = true;
    if (temporal) o.temporal = temporal_rule::uniform;
    std::vector<std::int64_t> const ages(temporal ? second.size() : 0, 150);
    block_sampler s = sampler(o);
    typed_seeds const both[] = {{0, first, {}}, {1, second, ages}};
    sampled_subgraphs const d = taken(s, s.sample_types(5, both), 2, 3), alone = taken(s, s.sample(5, first, 0), 2, 3);
    ASSERT_EQ(d.types[0].by_hop[0], first.size());
    ASSERT_EQ(d.types[1].by_hop[0], second.size());
    for (std::size_t i = 0; i < second.size(); ++i) {
      EXPECT_EQ(d.types[1].ids[i], second[i]);
      EXPECT_EQ(d.types[1].tree[i], first.size() + i);
    }
    for (std::size_t t = 0; t < 2; ++t) {
      std::vector<std::int64_t> mine;
      for (std::size_t i = 0; i < d.types[t].ids.size(); ++i) {
        if (d.types[t].tree[i] < first.size()) {
          mine.push_back(d.types[t].ids[i]);
        } else if (temporal && t == 0) {
          EXPECT_LE(d.types[t].ids[i], 150);
        }
      }
      EXPECT_EQ(mine, alone.types[t].ids);
    }
    std::uint32_t const from[] = {0, 1, 0}, to[] = {0, 0, 1};
    for (std::size_t r = 0; r < 3; ++r) {
      std::vector<std::int64_t> mine;
      auto const& e = d.relations[r];
      for (std::size_t k = 0; k < e.row.size(); ++k) {
        std::uint32_t const tree = d.types[to[r]].tree[static_cast<std::size_t>(e.col[k])];
        EXPECT_EQ(tree, d.types[from[r]].tree[static_cast<std::size_t>(e.row[k])]);
        if (tree < first.size()) mine.push_back(e.edge[k]);
      }
      EXPECT_EQ(mine, alone.relations[r].edge);
    }
    EXPECT_GT(d.relations[2].by_hop[0], 0u);  // authors, at the first hop
  }
  block_options o;
  o.edge_ids = true;
  block_sampler s = sampler(o);
  auto bad = second;
  bad[2] = 120;
  typed_seeds const wrong[] = {{0, first, {}}, {1, bad, {}}}, twice[] = {{0, first, {}}, {0, first, {}}},
                    none[] = {{0, first, {}}, {1, {}, {}}};
  EXPECT_EQ(error_of([&] { s.sample_types(3, wrong); }), "seed 120 at position 13 of mini-batch 3: there are vertices 0 to 119 of type 1");
  EXPECT_EQ(error_of([&] { s.sample_types(3, twice); }), "mini-batch 3: seeds of type 0 twice; give those of a type together");
  EXPECT_TRUE(taken(s, s.sample_types(3, none), 2, 3) == taken(s, s.sample(3, first), 2, 3));
}

// Several mini-batches in flight at once, of very different sizes: each as if it were alone, also when memory runs out.
TEST_P(blocks_at, are_given_ahead_and_taken_in_any_order) {
  graph_handle const g = brought(random_graph(true), where());
  block_options o;
  o.edge_ids = true;
  block_sampler one(where(), g, {10, 8, 6}, o), many(where(), g, {10, 8, 6}, o);
  std::vector<sampled_subgraph> ring(4);
  std::vector<std::vector<std::int64_t>> seeds;
  for (std::uint64_t b = 0; b < 4; ++b) seeds.push_back(some_seeds(b == 2 ? 600 : 1 + b, 1003, b));
  for (std::uint64_t b = 0; b < 4; ++b) many.start(ring[b], b, seeds[b]);
  for (std::uint64_t b : {2u, 0u, 3u, 1u}) {
    many.finish(ring[b]);
    EXPECT_TRUE(taken(many, ring[b]) == taken(one, one.sample(b, seeds[b]))) << b;
  }
}

// Buffers are as large as earlier mini-batches, without their contents: after others, larger, smaller and without some types, a
// sampler gives the same as a new one.
TEST_P(blocks_at, are_those_of_a_new_sampler_whatever_it_drew_before) {
  std::uint64_t const papers = 900, authors = 300;
  auto const make = [&](std::uint64_t salt, std::uint64_t from, std::uint64_t to) {
    std::vector<arc> arcs;
    for (std::uint64_t i = 0; i < 9000; ++i) arcs.push_back({random_bits(salt, 0, i) % to, random_bits(salt, 1, i) % from});
    return brought(make_graph(arcs, false, papers), where());
  };
  graph_handle const cites = make(1, papers, papers), writes = make(2, authors, papers), written = make(3, papers, authors);
  std::vector<std::int64_t> of_papers(papers), of_authors(authors, 0);
  std::iota(of_papers.begin(), of_papers.end(), 0);
  for (int kind = 0; kind < 4; ++kind) {
    block_options o;
    o.edge_ids = true, o.disjoint = kind != 0;
    if (kind > 1) o.temporal = kind == 2 ? temporal_rule::uniform : temporal_rule::last;
    auto const sampler = [&] {
      return block_sampler(where(), {{papers, of_papers}, {authors, of_authors}},
                           {{&cites, edge_direction::out, 0, 0, {4, 3}, {}},
                            {&writes, edge_direction::out, 1, 0, {2, 0}, {}},
                            {&written, edge_direction::out, 0, 1, {3, 5}, {}}},
                           o);
    };
    block_sampler many = sampler();
    std::uint64_t number = 0;
    for (std::uint64_t const ahead : {1u, 3u}) {
      std::vector<std::array<std::uint64_t, 2>> const sizes = {{1, 0}, {0, 1},    {250, 0}, {2, 200}, {0, 0},
                                                               {3, 1}, {400, 80}, {0, 3},   {5, 0}};
      for (std::size_t k = 0; k < sizes.size(); k += ahead) {
        std::vector<sampled_subgraph> ring(ahead);
        std::vector<std::array<std::vector<std::int64_t>, 2>> seeds;
        auto const given = [&](std::size_t j) { return std::array{typed_seeds{0, seeds[j][0], {}}, typed_seeds{1, seeds[j][1], {}}}; };
        for (std::size_t j = 0; j < ahead; ++j) {
          auto const [of_first, of_second] = sizes[k + j];
          auto const some = [&](std::uint64_t n, std::uint64_t of) {
            return n ? some_seeds(n - 1, of, number + j) : std::vector<std::int64_t>{};
          };
          seeds.push_back({some(of_first, papers), some(of_second, authors)});
        }
        for (std::size_t j = 0; j < ahead; ++j) many.start_types(ring[j], number + j, given(j));
        for (std::size_t j = 0; j < ahead; ++j) {
          many.finish(ring[j]);
          block_sampler fresh = sampler();
          EXPECT_TRUE(taken(many, ring[j], 2, 3) == taken(fresh, fresh.sample_types(number + j, given(j)), 2, 3)) << kind << " " << k + j;
        }
        number += ahead;
      }
    }
  }
}

// Sampled together, in one pass over the adjacency: the same bits as separately, for any sizes, and also when memory runs out.
TEST_P(blocks_at, are_what_they_are_alone_when_they_are_drawn_together) {
  for (int kind = 0; kind < 8; ++kind) {
    block_options o;
    o.edge_ids = kind != 1, o.edges = kind != 2, o.replace = kind == 3, o.weighted = kind == 4, o.disjoint = kind == 5;
    o.labor = kind == 7;
    graph_handle const g = brought(kind == 4 ? weighted_graph() : random_graph(true), where());
    std::uint64_t const n = g.info().vertices;
    std::vector<std::int64_t> const fanouts = kind == 1 ? std::vector<std::int64_t>{5, 0, -1} : std::vector<std::int64_t>{6, 5, 4};
    block_sampler one(where(), g, fanouts, o), many(where(), g, fanouts, o);
    if (kind == 6) many.inside().hash_beyond(0);
    for (int turn = 0; turn < 3; ++turn) {
      std::vector<sampled_subgraph> ring(20);
      std::vector<std::vector<std::int64_t>> seeds;
      std::vector<sampled_subgraph::parts*> together;
      for (std::uint64_t b = 0; b < ring.size(); ++b) {
        seeds.push_back(b % 6 == 4 ? std::vector<std::int64_t>{} : some_seeds(b == 7 ? 300 : b + 1, n, b));
        typed_seeds const mine{0, seeds.back(), {}};
        many.inside().prepare(ring[b].inside(), 100 + b, {&mine, 1}, false);
        together.push_back(&ring[b].inside());
      }
      many.inside().give(together);
      for (std::uint64_t b = 0; b < ring.size(); ++b) {
        many.finish(ring[b]);
        EXPECT_TRUE(taken(many, ring[b]) == taken(one, one.sample(100 + b, seeds[b]))) << kind << " " << b;
      }
    }
  }
}

// An interrupt in the middle of a mini-batch has no lasting effect.
TEST_P(blocks_at, are_right_again_after_an_interrupt) {
  if (runs_later(where())) GTEST_SKIP() << "what was given to a device happens";
  graph_handle const g = brought(random_graph(true), where());
  block_sampler clean(where(), g, {8, 8, 8}), s(where(), g, {8, 8, 8});
  std::uint64_t interrupted = 0;
  for (std::uint64_t checks = 0;; ++checks) {  // at each cancellation point of sampling
    auto const seeds = some_seeds(60, 1003, checks);
    request_interrupt_after(checks);
    bool whole = true;
    try {
      s.sample(checks, seeds);
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::interrupted) << e.what();
      ++interrupted, whole = false;
    }
    clear_interrupt();
    ASSERT_TRUE(taken(s, s.sample(checks, seeds)) == taken(clean, clean.sample(checks, seeds))) << checks;
    if (whole) break;
  }
  EXPECT_GT(interrupted, 10u);
}

TEST_P(blocks_at, without_edges_or_seeds_are_still_right) {
  graph_handle const g = brought(random_graph(true), where());
  block_options with, without;
  without.edges = false;
  block_sampler a(where(), g, {3, 3}, with), b(where(), g, {3, 3}, without);
  auto const seeds = some_seeds(10, 1003);
  EXPECT_EQ(taken(a, a.sample(0, seeds)).types[0].ids, taken(b, b.sample(0, seeds)).types[0].ids);
  EXPECT_EQ(b.sample(0, seeds).of_relation(0).row, nullptr);
  sampled_subgraph const none = a.sample(1, {});
  EXPECT_EQ(none.of_type(0).count, 0u);
  EXPECT_EQ(none.of_relation(0).count, 0u);
}

TEST_P(blocks_at, refuse_a_seed_that_is_no_vertex_and_go_on) {
  graph_handle const g = brought(random_graph(true), where());
  block_sampler s(where(), g, {3, 3}, {});
  auto const seeds = some_seeds(10, 1003);
  sampled_subgraphs const wanted = taken(s, s.sample(0, seeds));
  for (std::int64_t const wrong : {std::int64_t{1003}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    auto bad = seeds;
    bad[4] = wrong;
    errc code{};
    EXPECT_EQ(error_of([&] { s.sample(3, bad); }, &code),
              fmt::format("seed {} at position 4 of mini-batch 3: there are vertices 0 to 1002", wrong));
    EXPECT_EQ(code, errc::input);
    EXPECT_TRUE(taken(s, s.sample(0, seeds)) == wanted);
  }
}

TEST(blocks, refuse_options_that_contradict_each_other) {
  graph_handle const g = graph_access::wrap(random_graph(true));
  auto const refused = [&](auto change, std::vector<std::int64_t> fanouts = {3}) {
    block_options o;
    change(o);
    return error_of([&] { block_sampler s({}, g, fanouts, o); });
  };
  EXPECT_NE(refused([](auto& o) { o.weighted = true; }).find("this graph has none"), std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.temporal = temporal_rule::last; }).find("neither its edges nor its vertices have times"),
            std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.induced = o.disjoint = true; }).find("choose one"), std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.weighted = true, o.temporal = temporal_rule::last; }).find("do not go together"), std::string::npos);
  EXPECT_NE(refused([](auto& o) {
              o.labor = o.replace = true;
            }).find("labor samples uniformly and without replacement, and does not go with replace"),
            std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.labor = o.weighted = true; }).find("with weighted"), std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.labor = true, o.temporal = temporal_rule::last; }).find("with temporal"), std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.access = access_mode::bulk; }).find("bulk"), std::string::npos);
  EXPECT_NE(refused([](auto&) {}, {}).find("0 hops"), std::string::npos);
  EXPECT_NE(refused([](auto&) {}, {-2}).find("fanout -2"), std::string::npos);
  std::vector<arc> const arcs{{0, 1}, {1, 2}};
  graph_handle const directed = graph_access::wrap(make_graph(arcs, false));
  EXPECT_NE(error_of([&] { block_sampler s({}, directed, {2}); }).find("open it with its in-edges"), std::string::npos);
  for (std::uint64_t const vertices : {1u, 2u}) {  // fewer than the targets in the lists
    sampled_relation lists{.adjacency = &directed, .side = edge_direction::out, .fanouts = {2}};
    std::vector<sampled_type> const types(1, sampled_type{.vertices = vertices});
    EXPECT_NE(error_of([&] { block_sampler s({}, types, {lists}); }).find("leads to a vertex beyond the " + std::to_string(vertices)),
              std::string::npos);
  }
  block_sampler out({}, directed, {2}, {}, edge_direction::out);
  sampled_subgraph const b = out.sample(0, std::vector<std::int64_t>{0});
  EXPECT_EQ(b.of_type(0).ids[1], 1);
}

// Adjacency in a file: the same blocks, bit by bit, for any staging buffer; and messages for unsupported options.
TEST(blocks_of_a_file, are_those_of_lists_in_memory) {
  std::filesystem::path const folder = std::filesystem::temp_directory_path() / fmt::format("garner_blocks_of_a_file.{}", ::getpid());
  std::filesystem::create_directories(folder);
  std::string const file = (folder / "g.gnr").string();
  for (bool packed : {false, true})
    for (std::uint32_t id_bytes : {4u, 8u})
      for (bool undirected : {true, false}) {
        if (packed && id_bytes == 8) continue;
        graph g = random_graph(undirected, id_bytes);
        if (packed) pack(g);
        save_graph(g, file);
        load_options how;
        how.in_edges = !undirected;
        graph_handle const near = graph_access::wrap(load_graph(file, how));
        for (std::uint64_t window : {std::uint64_t{16} << 10, std::uint64_t{0}})
          for (bool together : {false, true}) {
            SCOPED_TRACE(
                fmt::format("compressed {} ids {} undirected {} window {} together {}", packed, id_bytes, undirected, window, together));
            how.edges = tier::file, how.window_bytes = window;
            graph_handle const far = graph_access::wrap(load_graph(file, how));
            how.edges = tier::host;
            block_options o;
            o.edge_ids = true;
            for (execution_device where : {execution_device{device_kind::cpu, 0}, execution_device{device_kind::simulated, 0}}) {
              block_sampler twin(where, near, {5, -1, 3}, o), s(where, far, {5, -1, 3}, o);
              EXPECT_NE(s.about().find("tier file"), std::string::npos);
              std::vector<sampled_subgraph> a(3), b(3);
              for (std::uint64_t k = 0; k < 3; ++k) {
                auto const seeds = some_seeds(20, 1000, k);
                if (!together) {
                  ASSERT_EQ(taken(s, s.sample(k, seeds)), taken(twin, twin.sample(k, seeds)));
                  continue;
                }
                for (auto const& [of, into] : {std::pair{&twin, &a[k]}, std::pair{&s, &b[k]}}) {
                  typed_seeds const one{0, seeds, {}};
                  of->inside().prepare(into->inside(), k, {&one, 1}, false);
                }
              }
              if (!together) continue;
              for (auto const& [of, all] : {std::pair{&twin, &a}, std::pair{&s, &b}}) {
                std::vector<sampled_subgraph::parts*> parts;
                for (sampled_subgraph& one : *all) parts.push_back(&one.inside());
                of->inside().give(parts);
                for (sampled_subgraph& one : *all) of->finish(one);
              }
              for (std::uint64_t k = 0; k < 3; ++k) ASSERT_EQ(taken(s, b[k]), taken(twin, a[k]));
            }
            block_options whole;
            whole.induced = true;
            EXPECT_NE(error_of([&] { block_sampler({}, far, {5}, whole); }).find("open it with tier host"), std::string::npos);
            block_options wrong;
            wrong.adjacency = tier::host;
            EXPECT_NE(error_of([&] { block_sampler({}, far, {5}, wrong); }).find("were left in their file"), std::string::npos);
          }
      }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace garner
