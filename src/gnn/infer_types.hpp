// Exact inference over a graph of several types, all of it in one piece, near.
// Invariant: no draw; every vertex of every type takes all of its neighbours. Cost: the lists of all relations and the rows of all types,
// near.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "garner/features.hpp"
#include "garner/hetero.hpp"
#include "gnn/model.hpp"
#include "gnn/whole_graph.hpp"

namespace garner {

// errc::input where tables, types and relations are not those of the model; names the first that differs.
void require_types(gnn_model::parts const& m, hetero_graph const& g, std::span<tiered_tensor* const> features);

class types_inference {
 public:
  types_inference(executor& x, hetero_graph const& g);
  // Scores of the target's vertices, near; they stay until the network is used again.
  row_block<float const> run(network<float>& net, row_scaling scaling, std::span<tiered_tensor* const> features, blas& products);

 private:
  executor& x_;
  std::vector<std::uint64_t> counts_;  // of vertices
  std::vector<whole_graph> lists_;     // which the edges read at the host
  std::vector<relation_edges<float>> edges_;
};

}  // namespace garner
