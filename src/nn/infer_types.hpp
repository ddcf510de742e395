// Exact inference over a graph of several types: in one piece, on the device, where that fits, else in parts (types_in_parts.hpp).
// Invariant: no sampling; every vertex of every type aggregates all of its neighbors.
// Cost of one piece: the adjacency of all relations, the rows of all types and the results of the layers, on the device.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "garner/features.hpp"
#include "garner/hetero.hpp"
#include "nn/infer.hpp"
#include "nn/model.hpp"
#include "nn/whole_graph.hpp"

namespace garner {

// errc::input where tables, types and relations are not those of the model; names the first that differs.
void require_types(gnn_model::parts const& m, hetero_graph const& g, std::span<tiered_tensor* const> features, edge_direction side);

// Before anything is loaded.
struct types_sizes {
  std::vector<std::uint64_t> vertices;  // of each type
  struct relation {
    std::uint64_t vertices = 0, edges = 0, longest = 0;  // of its graph file; edges of the longest list
  };
  std::vector<relation> relations = {};
  std::vector<double> row_bytes = {};  // of each type's table, those of a row that cross the link
  bool weighted = false;

  std::uint64_t edge_bytes() const { return weighted ? 8 : 4; }
};

class types_inference {
 public:
  // `turned`: with the transposes, for backward.
  types_inference(executor& x, hetero_graph const& g, edge_direction side, bool weighted, bool turned);
  // Scores of the target's vertices, on the device; valid until the network is used again.
  row_block<float const> run(network<float>& net, row_scaling scaling, std::span<tiered_tensor* const> features, blas& products);
  // What whole-graph training runs on: edges and rows of all types, gathered once and kept.
  network<float>::pass pass_of(network<float>& net, row_scaling scaling, std::span<tiered_tensor* const> features, blas& products);
  std::uint64_t bytes() const;

  // Estimated device memory, without transposes.
  static std::uint64_t bytes_for(bool on_device, types_sizes const& of, network_shape const& s);

 private:
  executor& x_;
  std::vector<buffer<float>> rows_;    // a type
  std::vector<std::uint64_t> counts_;  // of vertices
  std::vector<whole_graph> lists_;     // which the edges read at the host
  std::vector<relation_edges<float>> edges_;
};

// Scores of the target's vertices, in order. `near`: at most so many bytes of the device; unset: what is free.
inference_report infer_types(executor& x, hetero_graph const& g, network<float>& net, row_scaling scaling,
                             std::span<tiered_tensor* const> features, edge_direction side, bool weighted,
                             std::optional<std::uint64_t> near, blas& products, exact_inference::taker const& take);

}  // namespace garner
