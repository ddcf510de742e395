// From edges to CSR, on any execution device. Each directed edge becomes a 64-bit key (source above target); keys are sorted, duplicates
// dropped, and the start of each source marked. Invariant: adjacency is sorted by target; of duplicate edges the smallest weight stays.
// Cost: a radix or merge sort of the keys; 16 bytes per edge (32 if mirrored) in addition to the result. Ids are below 2^32 - 1.
#pragma once
#include "core/executor.hpp"
#include "garner/handle.hpp"
#include "graph/edge_list.hpp"
#include "graph/graph.hpp"

namespace garner {

// Directed edges as keys, source << shift | target, in local memory of the executor that built them.
struct packed_arcs {
  buffer<std::uint64_t> keys;
  buffer<std::uint32_t> weights;  // empty, or one per key
  std::uint64_t vertices = 0;
  int shift = 0;
  bool pairs = false;  // keys 2 i and 2 i + 1 are the two directions of edge i
  weight_kind weights_are = weight_kind::none;
};
int key_shift(std::uint64_t vertices);

// Sorts, drops loops and duplicates per the options, and builds the CSR in host memory (mapped for x's device if it is a GPU).
// info.directed must be set: an undirected graph has each edge in both directions. Consumes the edges' memory.
graph build_csr(executor& x, packed_arcs arcs, bool directed, build_options const& options, build_report& report);

// The complete build of a file's edges, on the host: direction, numbering, mirroring, weights.
graph build_graph(edge_list edges, build_options const& options, build_report& report);

// The edges of arrays, checked; `first`: the number of the first edge in messages.
edge_list list_of(edge_array const& from, std::uint64_t first = 0);

// Peak host memory of build_graph, including the result.
std::uint64_t build_bytes(std::uint64_t arcs, std::uint64_t vertices, bool weights, bool undirected, bool in_edges);

// How vertices will be numbered. It depends on the file's declaration, the number of edges and the largest id.
struct numbering_plan {
  std::uint64_t vertices = 0;  // 0 if ids are compacted
  bool compact = false;
};
numbering_plan plan_numbering(edge_list const& said, std::uint64_t arcs, std::uint64_t largest, build_options const& options);
void require_buildable(std::string const& source, std::uint64_t vertices, bool compact);  // errc::input: too many vertices

// Counts duplicates of an undirected list that has each edge twice and was mirrored. `edges`: of the graph.
void count_listed_twice(build_report& report, std::uint64_t edges, std::uint64_t loops_in_file, build_options const& options);

// The weight of an edge is a pure function of its ends. Throws errc::usage if the parameters are invalid.
void require_weights(build_options::weight_options const& how);
std::uint32_t drawn_weight(build_options::weight_options const& how, std::uint64_t u, std::uint64_t v);

// Replaces the weights by random ones: a hash of each edge, the same in both directions.
void draw_weights(graph& g, build_options::weight_options const& how);

}  // namespace garner
