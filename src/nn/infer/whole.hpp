// A whole graph in one piece, of one type or of several, all on the device: what training on it runs on, and exact scores of several types
// where that fits. (one_type.hpp and types.hpp: of larger graphs.)
// Invariant: no sampling; every vertex of every type aggregates all of its neighbors.
// Cost: the adjacency of all relations, the rows of all types and the results of the layers, on the device.
#pragma once
#include <span>
#include <vector>

#include "garner/features.hpp"
#include "garner/hetero.hpp"
#include "nn/infer/plan.hpp"
#include "nn/network.hpp"
#include "nn/whole_graph.hpp"

namespace garner {

class whole_pass {
 public:
  // With the transposes, for backward; of several types only if `turned`.
  whole_pass(executor& x, graph_handle const& g, edge_direction side, bool weighted, aggregation how);
  whole_pass(executor& x, hetero_graph const& g, edge_direction side, bool weighted, bool turned);
  // With all edges, and the rows of all types, which are gathered once and kept.
  network<float>::pass of(network<float> const& net, row_scaling scaling, std::span<tiered_tensor* const> features, blas& products);
  std::uint64_t bytes() const;

  // Estimated device memory, without transposes.
  static std::uint64_t bytes_for(bool on_device, types_sizes const& of, network_shape const& s);

 private:
  void take(relation_edges<float>& to, graph_handle const& g, edge_direction side, bool weighted, aggregation how, bool turned);
  executor& x_;
  std::vector<std::uint64_t> counts_;  // of vertices, a type
  std::vector<buffer<float>> rows_;    // a type
  std::vector<whole_graph> lists_;     // which the edges read at the host
  std::vector<relation_edges<float>> edges_;
  buffer<float> degrees_, neighbors_;  // gcn's
};

}  // namespace garner
