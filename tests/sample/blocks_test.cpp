// Blocks on every device, compared with a serial reference: nodes and edges of every rule, from several types, and what is refused.
#include <array>

#include "graph/pack.hpp"
#include "sample/taken_blocks.hpp"

namespace garner {
namespace {
using namespace garner::testing;

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

}  // namespace
}  // namespace garner
