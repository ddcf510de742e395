// Blocks by time, and of graphs in another vertex order: ids, times and edges by position.
#include <array>

#include "graph/pack.hpp"
#include "graph/reorder.hpp"
#include "sample/taken_blocks.hpp"

namespace garner {
namespace {
using namespace garner::testing;

class blocks_at : public at_place {};
GARNER_AT_EVERY_PLACE(blocks_at);

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

}  // namespace
}  // namespace garner
