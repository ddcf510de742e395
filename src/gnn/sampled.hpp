// What a mini-batch of the loader is to a network: its edges by relation, and how many vertices each layer is worked out for.
#pragma once
#include <vector>

#include "gnn/network.hpp"
#include "gnn/whole_graph.hpp"
#include "garner/load.hpp"

namespace garner {

class sampled_layers {
 public:
  sampled_layers(executor& x, graph_handle const& g, list_side side, bool weighted, model_kind kind);
  sampled_layers(executor& x, network_shape const& shape);  // of several types, without weights
  // Sets edges and rows of the pass; they stay until the next call.
  void take(mini_batch const& from, network<float> const& net, network<float>::pass& p);
  std::uint64_t bytes() const { return edges_[0].bytes() + counts_.bytes() + degrees_.bytes(); }

 private:
  executor& x_;
  aggregation how_;
  std::vector<relation_edges<float>> edges_;
  buffer<float> counts_, degrees_;
  arc_array<std::uint32_t> weights_{};
  weight_kind kind_ = weight_kind::none;
};

}  // namespace garner
