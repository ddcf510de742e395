// What a mini-batch of the loader is to a network: its edges by relation, and how many vertices each layer is worked out for.
#pragma once
#include <vector>

#include "garner/load.hpp"
#include "nn/network.hpp"
#include "nn/whole_graph.hpp"

namespace garner {

class sampled_layers {
 public:
  sampled_layers(executor& x, graph_handle const& g, edge_direction side, bool weighted, model_kind kind);
  sampled_layers(executor& x, network_shape const& shape, hetero_graph const& g, edge_direction side, bool weighted);
  // Sets edges and rows of the pass; they stay until the next call.
  void take(mini_batch const& from, network<float> const& net, network<float>::pass& p);
  std::uint64_t bytes() const;

 private:
  struct weights_of {
    arc_array<std::uint32_t> of{};
    weight_kind kind = weight_kind::none;
  };
  static weights_of weights_in(graph_handle const& g, edge_direction side);

  executor& x_;
  aggregation how_;
  std::vector<relation_edges<float>> edges_;
  buffer<float> counts_, degrees_;
  std::vector<weights_of> weights_;  // a relation
};

}  // namespace garner
