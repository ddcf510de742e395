// Graphs, seeds, and blocks on the host, for tests of block samplers; and what holds for any sample of one relation.
#pragma once
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "core/random.hpp"
#include "garner/subgraph.hpp"
#include "graph/handle.hpp"
#include "sample/blocks.hpp"
#include "support.hpp"

namespace garner::testing {

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
inline sampled_subgraphs taken(block_sampler& s, sampled_subgraph const& b, std::size_t types = 1, std::size_t relations = 1) {
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
inline std::vector<std::vector<entry>> adjacency_of(graph const& g, bool in) {
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

inline graph random_graph(bool undirected, std::uint32_t id_bytes = 4) {
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
inline graph weighted_graph() {
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
inline graph_handle brought(graph g, execution_device where) { return to_device(graph_access::wrap(std::move(g)), where, tier::host); }
inline std::vector<std::int64_t> some_seeds(std::uint64_t n, std::uint64_t vertices, std::uint64_t salt = 0) {
  std::vector<std::int64_t> s;
  for (std::uint64_t i = 0; i < n; ++i) s.push_back(static_cast<std::int64_t>(random_bits(5, salt, i) % vertices));
  s.push_back(9 % static_cast<std::int64_t>(vertices));
  return s;
}

// Invariants of any sample of one relation: seeds first; edges in the order of hops, each in its target's list, nodes in the
// order in which edges first reach them; as many edges per target as its list has, or the fanout.
inline void expect_blocks(sampled_subgraphs const& d, std::vector<std::vector<entry>> const& lists, std::vector<std::int64_t> const& seeds,
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

inline std::vector<float> some_scores(std::uint64_t vertices) {
  std::vector<float> scores(vertices);
  for (std::size_t v = 0; v < scores.size(); ++v) scores[v] = static_cast<float>(random_bits(5, 3, v) % 100);
  return scores;
}

}  // namespace garner::testing
