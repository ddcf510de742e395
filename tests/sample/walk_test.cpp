// Random walks on every device, compared with a serial reference and with the probabilities of node2vec.
#include <cmath>
#include <map>

#include "core/random.hpp"
#include "garner/subgraph.hpp"
#include "graph/handle.hpp"
#include "graph/pack.hpp"
#include "graph/reorder.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

graph random_graph(bool undirected, std::uint32_t id_bytes = 4) {
  std::vector<arc> arcs;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    std::uint64_t const u = random_bits(1, 0, i) % 300, v = i % 4 == 0 ? 9 : random_bits(1, 1, i) % 300;
    if (u % 7 != 1 || undirected) arcs.push_back({u, v});
  }
  build_options o;
  o.id_bytes = id_bytes, o.in_edges = !undirected;
  return make_graph(arcs, undirected, 303, o);
}
std::vector<std::int64_t> starts_of(std::uint64_t n) {
  std::vector<std::int64_t> s;
  for (std::uint64_t i = 0; i < n; ++i) s.push_back(static_cast<std::int64_t>(random_bits(3, 0, i) % 303));
  return s;
}

class walks_at : public at_place {};
GARNER_AT_EVERY_PLACE(walks_at);

TEST_P(walks_at, follow_edges_and_stay_where_there_are_none) {
  std::uint64_t stayed = 0, steps = 0;
  for (int kind = 0; kind < 4; ++kind)
    for (double const p : {1.0, 4.0})
      for (edge_direction const side : {edge_direction::out, edge_direction::in}) {
        graph g = random_graph(kind == 1, kind == 2 ? 8 : 4);
        edge_lists const& home_lists = side == edge_direction::in && g.info.directed ? g.in : g.out;
        std::vector<std::vector<std::int64_t>> lists(g.info.vertices);
        std::vector<std::uint64_t> begins;
        for (std::uint64_t v = 0; v < g.info.vertices; ++v) {
          begins.push_back(home_lists.offsets[v]);
          for (std::uint64_t e = home_lists.offsets[v]; e < home_lists.offsets[v + 1]; ++e)
            lists[v].push_back(g.info.id_bytes == 8
                                   ? static_cast<std::int64_t>(static_cast<std::uint64_t const*>(home_lists.targets.data())[e])
                                   : static_cast<std::int64_t>(static_cast<std::uint32_t const*>(home_lists.targets.data())[e]));
        }
        if (kind == 3) pack(g);
        random_walk_options o;
        o.side = side, o.p = p, o.q = 0.5 * p, o.edge_ids = true, o.seed = 5;
        auto const starts = starts_of(400);
        graph_handle const there = to_device(graph_access::wrap(std::move(g)), where(), tier::host);
        o.device = where();
        random_walks const w = walk_randomly(there, starts, 12, o);
        ASSERT_EQ(w.nodes.size(), 400u * 13);
        ASSERT_EQ(w.edges.size(), 400u * 12);
        for (std::size_t i = 0; i < 400; ++i) {
          EXPECT_EQ(w.nodes[i * 13], starts[i]);
          for (std::size_t k = 0; k < 12; ++k) {
            auto const v = static_cast<std::size_t>(w.nodes[i * 13 + k]);
            std::int64_t const next = w.nodes[i * 13 + k + 1], e = w.edges[i * 12 + k];
            if (lists[v].empty()) {
              EXPECT_EQ(next, static_cast<std::int64_t>(v));
              EXPECT_EQ(e, -1);
              ++stayed;
              continue;
            }
            ++steps;
            std::uint64_t const at = static_cast<std::uint64_t>(e) - begins[v];
            ASSERT_LT(at, lists[v].size());
            EXPECT_EQ(lists[v][at], next);
          }
        }
        graph h = random_graph(kind == 1, kind == 2 ? 8 : 4);
        random_walk_options host = o;
        host.device = {};
        EXPECT_EQ(walk_randomly(graph_access::wrap(std::move(h)), starts, 12, host).nodes, w.nodes) << "the bits of the host";
      }
  EXPECT_GT(stayed, 100u);
  EXPECT_GT(steps, 10000u);
}

// The second step of many walks over 0 -> 1 against the probabilities of node2vec.
TEST_P(walks_at, go_back_near_and_away_as_often_as_p_and_q_say) {
  // 1 leads to 0, to 2 and 3 (which lead to 0), and to 4, 5, 6 (which do not); 0 leads to 1 alone.
  std::vector<arc> const arcs{{0, 1}, {1, 0}, {1, 2}, {1, 3}, {1, 4}, {1, 5}, {1, 6}, {2, 0}, {3, 0}};
  graph_handle const g = to_device(graph_access::wrap(make_graph(arcs, false, 7)), where(), tier::host);
  std::uint64_t const walks = where().kind == device_kind::simulated ? 4000 : 20000;
  for (auto const& [p, q] : {std::pair{1.0, 1.0}, std::pair{4.0, 0.5}, std::pair{0.25, 2.0}, std::pair{2.0, 1.0}, std::pair{1.0, 3.0}}) {
    random_walk_options o;
    o.device = where(), o.p = p, o.q = q;
    random_walks const w = walk_randomly(g, std::vector<std::int64_t>(walks, 0), 2, o);
    std::map<std::int64_t, double> count;
    for (std::uint64_t i = 0; i < walks; ++i) {
      ASSERT_EQ(w.nodes[3 * i + 1], 1);
      ++count[w.nodes[3 * i + 2]];
    }
    std::map<std::int64_t, double> chance{{0, 1 / p}, {2, 1}, {3, 1}, {4, 1 / q}, {5, 1 / q}, {6, 1 / q}};
    double all = 0, chi = 0;
    for (auto const& [v, c] : chance) all += c;
    for (auto const& [v, c] : chance) {
      double const expected = static_cast<double>(walks) * c / all;
      chi += (count[v] - expected) * (count[v] - expected) / expected;
    }
    EXPECT_LT(chi, 5 + 4 * std::sqrt(10.0)) << p << " " << q;  // of 5 degrees of freedom
  }
}

TEST(walks, are_those_of_a_reordered_graph_by_the_users_positions) {
  reorder_options by;
  by.by = vertex_order::degree;
  graph const home = random_graph(true);
  graph_handle const plain = graph_access::wrap(random_graph(true)), ordered = graph_access::wrap(reorder(random_graph(true), by, {}));
  random_walks const w = walk_randomly(ordered, starts_of(200), 8);
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(w.nodes[i * 9], starts_of(200)[i]);
    for (std::size_t k = 0; k < 8; ++k) {
      auto const v = static_cast<std::uint64_t>(w.nodes[i * 9 + k]), u = static_cast<std::uint64_t>(w.nodes[i * 9 + k + 1]);
      std::uint64_t const begin = home.out.offsets[v], end = home.out.offsets[v + 1];
      auto const* const targets = static_cast<std::uint32_t const*>(home.out.targets.data());
      EXPECT_TRUE(begin == end ? u == v : std::find(targets + begin, targets + end, u) != targets + end);
    }
  }
  random_walk_options o;
  o.edge_ids = true;
  EXPECT_NE(error_of([&] { walk_randomly(ordered, starts_of(2), 3, o); }).find("were reordered"), std::string::npos);
  o = {};
  o.q = 0;
  EXPECT_NE(error_of([&] { walk_randomly(plain, starts_of(2), 3, o); }).find("q = 0: use a number from 0.001"), std::string::npos);
  EXPECT_NE(error_of([&] { walk_randomly(plain, starts_of(2), 0); }).find("0 steps"), std::string::npos);
  EXPECT_NE(error_of([&] {
              walk_randomly(plain, std::vector<std::int64_t>{5, 303}, 3);
            }).find("start 303 at position 1"),
            std::string::npos);
  EXPECT_TRUE(walk_randomly(plain, {}, 3).nodes.empty());
}

}  // namespace
}  // namespace garner
