// Parts, their adjacency and the rows they need of each other, against a reference by single edges.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "shard/lists.hpp"
#include "shard/parts.hpp"
#include "shard_support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::HasSubstr;

struct plain_lists {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> ends;
  std::vector<float> weights;
  shard_lists::given view(bool with_weights = true) const { return {offsets.data(), ends.data(), with_weights ? weights.data() : nullptr}; }
  std::uint64_t vertices() const { return offsets.size() - 1; }
};
plain_lists lists_of_degrees(std::vector<std::uint64_t> const& degrees, bool ascending = true) {
  plain_lists l;
  std::uint64_t const n = degrees.size();
  for (std::uint64_t v = 0; v < n; ++v) {
    std::vector<std::uint32_t> list;
    for (std::uint64_t k = 0; k < degrees[v]; ++k) list.push_back(static_cast<std::uint32_t>(random_bits(3, v, k) % n));
    if (ascending) std::sort(list.begin(), list.end());
    for (std::uint32_t const u : list) l.ends.push_back(u), l.weights.push_back(static_cast<float>(u) + 0.5f);
    l.offsets.push_back(l.ends.size());
  }
  return l;
}
shard_options of(std::uint32_t shards, shard_reduction sums = shard_reduction::fast, shard_balance balance = shard_balance::edges) {
  shard_options o;
  o.shards = shards, o.sums = sums, o.balance = balance;
  return o;
}

TEST(shard_parts, have_equal_edges_where_lists_allow_it) {
  std::vector<std::uint64_t> degrees;
  for (std::uint64_t v = 0; v < 3000; ++v) degrees.push_back(random_bits(1, 0, v) % 40);
  plain_lists const l = lists_of_degrees(degrees);
  for (std::uint32_t const n : {1u, 2u, 3u, 5u, 7u, 8u, 16u}) {
    shard_parts const p(l.offsets.data(), l.vertices(), of(n), "g");
    ASSERT_EQ(p.shards(), n);
    std::uint64_t next = 0;
    for (std::uint32_t s = 0; s < n; ++s) {
      EXPECT_EQ(p.first(s), next);
      next += p.count(s);
      std::uint64_t const edges = l.offsets[next] - l.offsets[p.first(s)];
      EXPECT_NEAR(static_cast<double>(edges), static_cast<double>(l.ends.size()) / n, 40) << s << " of " << n;
      EXPECT_EQ(p.blocks(s).front(), p.first(s));
      EXPECT_EQ(p.blocks(s).size(), 2u);
    }
    EXPECT_EQ(next, l.vertices());
    for (std::uint64_t v = 0; v < l.vertices(); ++v) {
      std::uint32_t const s = p.owner(v);
      ASSERT_TRUE(v >= p.first(s) && v < p.first(s) + p.count(s)) << v;
    }
  }
}
TEST(shard_parts, a_hub_leaves_others_empty_and_covers_all) {
  std::vector<std::uint64_t> degrees(20, 0);
  degrees[11] = 900;
  plain_lists const l = lists_of_degrees(degrees);
  for (shard_reduction const sums : {shard_reduction::fast, shard_reduction::deterministic}) {
    shard_parts const p(l.offsets.data(), 20, of(8, sums), "g");
    std::uint64_t all = 0, with_hub = 0;
    for (std::uint32_t s = 0; s < 8; ++s) all += p.count(s), with_hub += p.owner(11) == s;
    EXPECT_EQ(all, 20u);
    EXPECT_EQ(with_hub, 1u);
  }
}
TEST(shard_parts, without_edges_or_by_vertices_they_have_equal_vertices) {
  plain_lists const none = lists_of_degrees(std::vector<std::uint64_t>(100, 0));
  std::vector<std::uint64_t> skewed(100, 1);
  skewed[0] = 500;
  plain_lists const some = lists_of_degrees(skewed);
  for (auto const& [l, balance] : {std::pair(&none, shard_balance::edges), std::pair(&some, shard_balance::vertices)}) {
    shard_parts const p(l->offsets.data(), 100, of(3, shard_reduction::fast, balance), "g");
    EXPECT_EQ(p.count(0), 33u);
    EXPECT_EQ(p.count(1), 33u);
    EXPECT_EQ(p.count(2), 34u);
  }
}
TEST(shard_parts, exact_blocks_depend_on_the_graph_alone) {
  std::vector<std::uint64_t> degrees;
  for (std::uint64_t v = 0; v < 500; ++v) degrees.push_back(random_bits(2, 0, v) % 30);
  plain_lists const l = lists_of_degrees(degrees);
  shard_parts const one(l.offsets.data(), 500, of(1, shard_reduction::deterministic), "g");
  std::vector<std::uint64_t> const all(one.blocks(0).begin(), one.blocks(0).end());
  ASSERT_EQ(all.size(), shard_parts::exact_blocks + 1u);
  for (std::uint32_t const n : {2u, 3u, 5u, 8u, 16u}) {
    shard_parts const p(l.offsets.data(), 500, of(n, shard_reduction::deterministic), "g");
    std::vector<std::uint64_t> found{0};
    for (std::uint32_t s = 0; s < n; ++s) {
      auto const blocks = p.blocks(s);
      EXPECT_EQ(blocks.front(), found.back());
      found.insert(found.end(), blocks.begin() + 1, blocks.end());
    }
    EXPECT_EQ(found, all) << n;
  }
}
TEST(shard_parts, numbers_that_will_not_do_are_refused) {
  plain_lists const l = lists_of_degrees({1, 1, 1});
  auto const says = [&](std::uint32_t n) { return error_of([&] { shard_parts(l.offsets.data(), 3, of(n), "g.gnr"); }); };
  EXPECT_EQ(says(0), "0 shards: use 1 to 16");
  EXPECT_EQ(says(17), "17 shards: use 1 to 16");
  EXPECT_EQ(says(4), "4 shards, and g.gnr has 3 vertices; use at most as many");
}

// The contributions to a shard's sums, by vertex: (end, weight) in the order of its chunks.
std::vector<std::vector<std::pair<std::uint32_t, float>>> added(shard_lists const& l, shard_parts const& p, std::uint32_t shard,
                                                                std::vector<int>* begun = nullptr) {
  std::uint64_t const own = p.count(shard);
  std::vector<std::vector<std::pair<std::uint32_t, float>>> rows(own + l.slices);
  std::vector<int> begins(own + l.slices), ends(own + l.slices);
  for (std::uint32_t const k : l.order) {
    auto const& c = l.chunks[k];
    EXPECT_EQ(c.offsets.size(), c.items.size() + 1);
    for (std::size_t i = 0; i < c.items.size(); ++i) {
      shard_item const it = c.items[i];
      EXPECT_EQ(begins[it.row] == 0, it.begins == 1);
      EXPECT_EQ(ends[it.row], 0);
      begins[it.row] += it.begins, ends[it.row] += it.ends;
      for (std::uint64_t e = c.offsets[i]; e < c.offsets[i + 1]; ++e) {
        std::uint64_t const v = p.first(k) + (k == shard ? c.ends[e] : l.needs[k].at(c.ends[e]));
        rows[it.row].emplace_back(static_cast<std::uint32_t>(v), c.weights.empty() ? 1.0f : c.weights[e]);
      }
    }
  }
  for (auto const& of : l.long_lists)
    for (std::uint64_t s = of.first; s < of.first + of.count; ++s) {
      EXPECT_TRUE(begins[own + s] == 1 && ends[own + s] == 1);
      EXPECT_LE(rows[own + s].size(), 5u);
      rows[of.row].insert(rows[of.row].end(), rows[own + s].begin(), rows[own + s].end());
      begins[of.row] = ends[of.row] = 1;
    }
  for (std::uint64_t i = 0; i < own; ++i) EXPECT_TRUE(begins[i] == 1 && ends[i] == 1) << i;
  if (begun) *begun = begins;
  rows.resize(own);
  return rows;
}

TEST(shard_lists, hold_each_arc_once_and_in_order) {
  std::vector<std::uint64_t> degrees;
  for (std::uint64_t v = 0; v < 120; ++v) degrees.push_back(v % 7 == 0 ? 0 : random_bits(4, 0, v) % 13);
  for (bool const ascending : {true, false}) {
    plain_lists const l = lists_of_degrees(degrees, ascending);
    for (bool const weighted : {true, false})
      for (shard_reduction const sums : {shard_reduction::deterministic, shard_reduction::fast})
        for (std::uint32_t const n : {1u, 2u, 3u, 8u}) {
          shard_parts const p(l.offsets.data(), l.vertices(), of(n, sums), "g");
          for (std::uint32_t s = 0; s < n; ++s) {
            bool const whole = (n + s) % 2 == 0;  // all rows of an owner, if most of them are needed
            shard_lists const mine(l.view(weighted), p, s, sums, shard_lists::numbered::by_arrival, 5,
                                   std::vector<bool>(whole ? n : 0, true));
            EXPECT_EQ(mine.order[0], sums == shard_reduction::deterministic ? 0 : s);
            auto const rows = added(mine, p, s);
            std::uint64_t remote = 0, edges = 0;
            std::map<std::uint32_t, std::set<std::uint32_t>> needed;
            for (std::uint64_t i = 0; i < p.count(s); ++i) {
              std::uint64_t const v = p.first(s) + i;
              std::vector<std::pair<std::uint32_t, float>> expected;
              for (std::uint64_t k = l.offsets[v]; k < l.offsets[v + 1]; ++k) {
                expected.emplace_back(l.ends[k], weighted ? l.weights[k] : 1.0f);
                std::uint32_t const owner = p.owner(l.ends[k]);
                ++edges;
                if (owner != s) ++remote, needed[owner].insert(static_cast<std::uint32_t>(l.ends[k] - p.first(owner)));
              }
              std::stable_sort(expected.begin(), expected.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
              auto found = rows[i];
              if (sums == shard_reduction::fast)
                std::stable_sort(found.begin(), found.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
              EXPECT_EQ(found, expected) << v;
            }
            std::uint64_t rows_needed = 0;
            for (std::uint32_t k = 0; k < n; ++k) {
              if (whole && 4 * needed[k].size() > 3 * p.count(k))
                for (std::uint32_t i = 0; i < p.count(k); ++i) needed[k].insert(i);
              EXPECT_EQ(mine.needs[k], std::vector<std::uint32_t>(needed[k].begin(), needed[k].end()));
              rows_needed += needed[k].size();
            }
            EXPECT_EQ(mine.edges, edges);
            EXPECT_EQ(mine.remote_edges, remote);
            EXPECT_EQ(mine.remote_rows, rows_needed);
          }
        }
  }
}

TEST(shard_lists, partitions_of_mgg_hold_each_arc_once_and_at_most_ps) {
  std::vector<std::uint64_t> degrees;
  for (std::uint64_t v = 0; v < 90; ++v) degrees.push_back(random_bits(8, 0, v) % 23);
  plain_lists const l = lists_of_degrees(degrees);
  for (std::uint32_t const ps : {1u, 4u, 32u}) {
    shard_parts const p(l.offsets.data(), l.vertices(), of(3), "g");
    for (std::uint32_t s = 0; s < 3; ++s) {
      mgg_lists const m(l.view(), p, s, ps);
      std::vector<std::vector<std::uint32_t>> rows(p.count(s));
      for (auto const* list : {&m.local, &m.remote})
        for (neighbor_partition const& part : *list) {
          EXPECT_EQ(part.owner == s, list == &m.local);
          EXPECT_LE(part.count, ps);
          EXPECT_GT(part.count, 0u);
          for (std::uint64_t k = part.begin; k < part.begin + part.count; ++k) {
            std::uint64_t const v = p.first(part.owner) + m.ends[k];
            rows[part.row].push_back(static_cast<std::uint32_t>(v));
            EXPECT_EQ(m.weights[k], static_cast<float>(v) + 0.5f);
          }
        }
      for (std::uint64_t i = 0; i < p.count(s); ++i) {
        std::uint64_t const v = p.first(s) + i;
        std::sort(rows[i].begin(), rows[i].end());
        EXPECT_EQ(rows[i], std::vector<std::uint32_t>(l.ends.begin() + static_cast<std::ptrdiff_t>(l.offsets[v]),
                                                      l.ends.begin() + static_cast<std::ptrdiff_t>(l.offsets[v + 1])));
      }
    }
  }
}

TEST(split_report, tells_imbalance_cut_and_rows) {
  graph_handle const g = graph_with_hub(300, false, false);
  for (edge_direction const side : {edge_direction::in, edge_direction::out})
    for (std::uint32_t const n : {1u, 2u, 5u}) {
      shard_report const r = split_report(g, side, of(n));
      adjacency_arrays const lists = adjacency_of(g, side == edge_direction::in);
      auto const* const ends = static_cast<std::uint32_t const*>(lists.targets);
      shard_parts const p(lists.offsets, 300, of(n), "g");
      std::uint64_t cut = 0, largest = 0;
      std::set<std::pair<std::uint32_t, std::uint32_t>> rows;
      for (std::uint32_t s = 0; s < n; ++s) {
        std::uint64_t const end = p.first(s) + p.count(s);
        largest = std::max(largest, lists.offsets[end] - lists.offsets[p.first(s)]);
        for (std::uint64_t k = lists.offsets[p.first(s)]; k < lists.offsets[end]; ++k)
          if (p.owner(ends[k]) != s) ++cut, rows.insert({s, ends[k]});
        EXPECT_EQ(r.parts[s].first, p.first(s));
        EXPECT_EQ(r.parts[s].rows[s], 0u);
      }
      EXPECT_EQ(r.edges(), g.info().edges);
      EXPECT_EQ(r.cut(), cut);
      EXPECT_EQ(r.remote_rows(), rows.size());
      EXPECT_DOUBLE_EQ(r.imbalance(), static_cast<double>(largest) * n / static_cast<double>(g.info().edges));
      EXPECT_DOUBLE_EQ(r.references(), rows.empty() ? 0 : static_cast<double>(cut) / static_cast<double>(rows.size()));
    }
  // In the graph's order: if neighbors are close to each other, fewer edges cross parts.
  std::vector<edge> edges;
  for (std::uint64_t v = 0; v < 400; ++v)
    for (std::uint64_t k = 1; k <= 3; ++k) edges.push_back({(v * 7) % 400, ((v + k) * 7) % 400});
  build_options o;
  o.undirected = true;
  auto const cut = [&](vertex_order by) {
    graph_handle const ring = reorder_graph(build_graph({.edges = edges}, o), {by, 1, {}});
    return split_report(ring, edge_direction::out, of(4)).cut();
  };
  EXPECT_LT(4 * cut(vertex_order::bfs), cut(vertex_order::random));
  errc code{};
  EXPECT_THAT(error_of([&] { split_report(graph_with_hub(12, true, false), edge_direction::in, of(13)); }, &code),
              HasSubstr("13 shards, and "));
  EXPECT_EQ(code, errc::usage);
}

}  // namespace
}  // namespace garner
