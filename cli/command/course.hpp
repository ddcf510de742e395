// A graph of communities in memory, for trainings: most neighbors of a vertex are in its community, some vertices have many neighbors,
// and a feature row reveals its community so faintly that neighbors help. (A stochastic block model; Holland, Laskey and
// Leinhardt, Social Networks 5, 1983.) Invariant: every edge, row and part depends only on the seed and its own index.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "garner/gnn.hpp"

namespace garner::cli {

struct community_options {
  std::uint64_t vertices = 20000;
  std::uint32_t communities = 10, width = 64;
  std::uint64_t edges_each = 6;  // per vertex; a vertex has twice as many neighbors
  double inside = 0.6;           // share of the edges sampled within the community; some of the others are too
  double signal = 0.25;          // in a row's elements, plus noise of deviation 1
  double training = 0.1;         // share of the vertices; as many for validation, the rest for test
  std::uint64_t seed = 1;
};

struct community_graph {
  graph_handle graph;
  std::vector<float> rows;
  std::uint32_t width = 0;
  std::vector<std::int64_t> labels;
  std::vector<std::uint8_t> split;

  row_array table() const { return {rows.data(), labels.size(), width, element::f32, {}}; }
  labeled_nodes known() const { return {{labels.data(), labels.size(), 1, element::i64, {}}, split}; }
};
community_graph make_communities(community_options const& options);  // errc::usage for options out of range
graph_handle without_edges(std::uint64_t vertices);                  // a model then sees only a vertex's own row

// Compares parameters with the first ones it gets. errc::internal names the first number that differs.
class same_parameters {
 public:
  void check(std::string const& whose, std::vector<gnn_model::tensor> found);

 private:
  std::string first_;
  std::vector<gnn_model::tensor> kept_;
};

// A training on such a graph.
struct course_options {
  execution_device where;
  double kept = 1;  // share of the rows in device memory; CPU: all
  std::uint64_t epochs = 10;
  std::vector<std::int64_t> fanouts{10, 5};
  std::uint64_t batch = 256;
  std::uint32_t hidden = 64;
  std::uint64_t seed = 1;
  std::uint32_t evaluate_every = 1;
};
struct taken_course {
  std::vector<epoch_report> epochs;
  evaluation exact;  // at the end
  std::vector<gnn_model::tensor> parameters;
};
taken_course take_course(community_graph const& data, graph_handle const& g, course_options const& options,
                         std::function<void(epoch_report const&)> const& told = {});

}  // namespace garner::cli
