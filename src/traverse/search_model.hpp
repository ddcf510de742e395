// Predicts the requests of a direction-optimizing search of an undirected graph, for plans, from the degrees alone. The
// model: edge ends are paired at random, so that all neighbors of a vertex have the same distribution. Then all d neighbors
// of a vertex are unreached within t steps with probability (1 - near[t])^d. Here near[t + 1], the share of edge ends
// reached within t steps, follows from near[t] and the degrees; and of the neighbors of an unreached vertex a share of
// (near[t + 1] - near[t]) / (1 - near[t]) is in the frontier. The search switches direction by its own rule (bfs_turns).
// Top-down levels read the lists of their frontier. In bottom-up levels the vertices whose cached neighbors miss read their
// list stepwise, until a step contains a neighbor in the frontier. In a graph with hubs a cached neighbor is the neighbor of
// highest degree, which rarely misses; else it is an average neighbor, and vertices that selected this one help as well.
// Sources differ by degree: a few are modeled, and the median is reported. Limits: common neighbors and long paths are
// ignored. Searches of web graphs, which have both, make up to ten times as many requests (docs/benchmarks/method.md). Cost:
// a pass over the offsets; for each bottom-up level of each source the square of the classes (some 200), below 0.1 s in all.
#pragma once
#include <array>
#include <cstdint>

#include "far/traffic.hpp"
#include "garner/traffic.hpp"

namespace garner {

// Vertices of similar degree: exactly one degree below 64, an eighth of an octave above.
struct degree_class {
  double vertices = 0, arcs = 0, squares = 0;  // sums of degrees, of their squares
  std::array<double, 4> requests{};            // for all their lists, one by one
};
struct degree_classes {
  static constexpr std::uint64_t exact = 64;
  static constexpr std::size_t count = exact + 8 * 58;
  std::array<degree_class, count> all{};  // by ascending degree

  void add(std::uint64_t degree, run_traffic const& list);
  bool alike() const;  // same criterion as cached_neighbors.hpp
  friend degree_classes operator+(degree_classes a, degree_classes const& b);
};

// How a bottom-up level reads adjacency.
struct probing {
  std::uint32_t cached_neighbors = 0;  // per vertex, checked first
  bool each_of_a_class = false;        // the best of each residue class of ids (cached_neighbors_view::is_narrow)
  double arcs_a_step = 8, sectors_a_step = 1;
};

traffic model_search(degree_classes const& degrees, probing const& how);

}  // namespace garner
