// A graph of communities made in memory, for trainings: most neighbours of a vertex belong to its own, some vertices are neighbours of
// many, and a row says its community so faintly that the rows of neighbours are wanted too. (A stochastic block model; Holland, Laskey and
// Leinhardt, Social Networks 5, 1983.) Invariant: every edge, row and part follows from the seed and its number alone.
#pragma once
#include <cstdint>
#include <vector>

#include "garner/gnn.hpp"

namespace garner::bench {

struct community_options {
  std::uint64_t vertices = 20000;
  std::uint32_t communities = 10, width = 64;
  std::uint64_t edges_each = 6;  // drawn a vertex, so that it has twice as many neighbours
  double inside = 0.6;           // share of the edges that are drawn within the community; of the rest some are too
  double signal = 0.25;          // of a row's elements, beside noise of deviation 1
  double training = 0.1;         // share of the vertices; as many validate, the rest tests
  std::uint64_t seed = 1;
};

struct community_graph {
  graph_handle graph;
  std::vector<float> rows;
  std::uint32_t width = 0;
  std::vector<std::int64_t> labels;
  std::vector<std::uint8_t> split;

  row_array table() const { return {rows.data(), labels.size(), width, element::f32, {}}; }
  known_vertices known() const { return {{labels.data(), labels.size(), 1, element::i64, {}}, split}; }
};
community_graph make_communities(community_options const& options);  // errc::usage for options out of range
graph_handle without_edges(std::uint64_t vertices);                  // on which a model has a vertex's own row alone

}  // namespace garner::bench
