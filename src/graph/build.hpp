// From arcs to CSR. Made of primitives, so it runs at any place: pack each arc into one 64-bit key (source above target), sort, drop what
// is equal, mark where each source begins. Invariant: lists come out sorted by target; of equal arcs the smallest weight stays. Cost: a
// radix or merge sort of the keys; memory 16 bytes an arc (twice that when mirrored) beside the result. Ids below 2^32 - 1.
#pragma once
#include "core/executor.hpp"
#include "graph/edge_list.hpp"
#include "graph/graph.hpp"

namespace garner {

// Arcs packed into keys: source << shift | target, near memory of the executor that built them.
struct packed_arcs {
  buffer<std::uint64_t> keys;
  buffer<std::uint32_t> weights;  // empty, or one a key
  std::uint64_t vertices = 0;
  int shift = 0;
  bool pairs = false;  // keys 2 i and 2 i + 1 are the two directions of edge i
  weight_kind weights_are = weight_kind::none;
};
int key_shift(std::uint64_t vertices);

// Sorts, drops loops and duplicates as told, and makes the CSR; arrays in host memory (mapped for x's device if it is one). info.directed
// must be decided: an undirected graph's arcs must stand in both directions. Takes the arcs' memory with it.
graph build_csr(executor& x, packed_arcs arcs, bool directed, build_options const& options, build_report& report);

// The whole way from a file's arcs, on the host: direction, numbering, mirroring, weights.
graph build_graph(edge_list edges, build_options const& options, build_report& report);

// Host memory that build_graph will take at its peak, the result included.
std::uint64_t build_bytes(std::uint64_t arcs, std::uint64_t vertices, bool weights, bool undirected, bool in_lists);

// How vertices will be numbered: what the file says of them, how many arcs it has and the largest id among them decide.
struct numbering_plan {
  std::uint64_t vertices = 0;  // unless it is compact
  bool compact = false;
};
numbering_plan plan_numbering(edge_list const& said, std::uint64_t arcs, std::uint64_t largest, build_options const& options);
void require_buildable(std::string const& source, std::uint64_t vertices, bool compact);  // errc::input: too many vertices

// What of an undirected list that has each edge twice, and was mirrored, is a duplicate. `edges`: of the graph.
void count_listed_twice(build_report& report, std::uint64_t edges, std::uint64_t loops_in_file, build_options const& options);

// The weight of an edge, a pure function of its ends; errc::usage where none can be drawn so.
void require_weights(build_options::random_weights const& how);
std::uint32_t drawn_weight(build_options::random_weights const& how, std::uint64_t u, std::uint64_t v);

// Replaces the weights by ones drawn from a hash of each edge, the same in both directions.
void draw_weights(graph& g, build_options::random_weights const& how);

}  // namespace garner
