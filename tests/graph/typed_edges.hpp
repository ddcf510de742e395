// Random edges between vertices of two types, and the lists that a serial reference makes of them.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>

#include "core/random.hpp"
#include "graph/relation.hpp"
#include "support.hpp"

namespace garner::testing {

using pairs = std::vector<arc>;

// The expected result of make_relation: per list's vertex (neighbor, edge), sorted.
using lists_and_edges = std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>>;
inline lists_and_edges twin(pairs const& edges, std::uint64_t vertices, direction strategy) {
  lists_and_edges all(vertices);
  for (std::uint64_t i = 0; i < edges.size(); ++i) {
    arc const& e = edges[i];
    if (strategy != direction::reversed) all[e.target].emplace_back(e.source, i);
    if (strategy == direction::reversed || (strategy == direction::both && e.source != e.target)) all[e.source].emplace_back(e.target, i);
  }
  for (auto& list : all) std::sort(list.begin(), list.end());
  return all;
}

struct some_edges : edge_source {
  pairs edges;
  std::string called = "some edges";
  explicit some_edges(pairs e) : edges(std::move(e)) {}
  std::string const& name() const override { return called; }
  std::uint64_t count() const override { return edges.size(); }
  void read(std::uint64_t first, std::uint64_t n, arc* to) const override { std::copy_n(edges.data() + first, n, to); }
  void check(arc const&, std::uint64_t) const override {}
};

inline pairs draw(std::uint64_t count, std::uint64_t sources, std::uint64_t targets, std::uint64_t seed) {
  pairs all(count);
  for (std::uint64_t i = 0; i < count; ++i)
    all[i] = {random_bits(seed, 0, i) % sources, random_bits(seed, 1, i) % (i % 3 ? targets : std::min<std::uint64_t>(targets, 2))};
  return all;
}

inline void expect_lists(graph const& g, std::vector<std::int64_t> const& edge_ids, lists_and_edges const& wanted) {
  ASSERT_EQ(g.info.vertices, wanted.size());
  std::uint64_t at = 0;
  for (std::uint64_t v = 0; v < wanted.size(); ++v) {
    ASSERT_EQ(g.out.offsets[v], at) << v;
    for (auto const& [u, edge] : wanted[v]) {
      ASSERT_EQ(target_at(g, at), u) << "arc " << at;
      ASSERT_EQ(edge_ids.empty() ? at : static_cast<std::uint64_t>(edge_ids[at]), edge) << "arc " << at;
      ++at;
    }
  }
  EXPECT_EQ(g.info.edges, at);
}

}  // namespace garner::testing
