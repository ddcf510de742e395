// Adjacency of a whole graph, by positions of the user's ids and with 4 bytes per id, as models need it; and the factors of its vertices.
// Invariant: `pulled` is the adjacency that vertices aggregate over, `given` its transpose; for an undirected graph both are the same
// arrays. Cost: none if the graph has that layout; else copies in host memory.
#pragma once
#include <vector>

#include "garner/handle.hpp"
#include "garner/subgraph.hpp"
#include "nn/aggregate.hpp"

namespace garner {

class whole_graph {
 public:
  // errc::input where a directed graph lacks in-edges, or the graph the weights; errc::usage for 2^32 vertices and more. `turned`: with the
  // transpose, for backward. `inside`: vertices are numbered in the graph's internal order, not by the user's ids.
  whole_graph(graph_handle const& g, edge_direction side, bool weighted, bool turned = true, bool inside = false);

  using lists = relation_edges<float>::host_lists;
  std::uint64_t vertices() const { return vertices_; }
  lists const& pulled() const { return pulled_.view; }
  lists const& given() const { return same_ ? pulled_.view : given_.view; }
  std::vector<float> counts() const;   // neighbors of each vertex
  std::vector<float> degrees() const;  // sums of their weights; without weights the same

 private:
  struct side_lists {
    adjacency_arrays from;
    std::vector<std::uint32_t> ends;
    std::vector<float> weights;
    lists view{};
  };
  void take(side_lists& to, graph_handle const& g, bool in, bool weighted, bool inside);
  std::uint64_t vertices_ = 0;
  bool same_ = false;
  side_lists pulled_, given_;
};

// The side of an edge type's graph file that a model of several types pulls from: its out-edges are the sources of `to` (hetero.hpp).
inline edge_direction pulled_side(edge_direction of) { return of == edge_direction::in ? edge_direction::out : edge_direction::in; }

// The same numbers for a graph whose adjacency is not needed as arrays.
struct vertex_degrees {
  std::vector<float> counts, degrees;
};
vertex_degrees degrees_of(graph_handle const& g, edge_direction side, bool weighted);

}  // namespace garner
