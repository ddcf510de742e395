// What a direction-optimising search of an undirected graph will ask for, told from the degrees alone, for plans.
// The model: the ends of the edges are paired at random, so that all neighbours of a vertex are alike. Then of a vertex with d neighbours
// nobody is reached within t steps with probability (1 - near[t])^d, where near[t + 1], the share of ends of edges that are reached within
// t steps, follows from near[t] and the degrees; and of the neighbours of a vertex that is not reached yet a share of
// (near[t + 1] - near[t]) / (1 - near[t]) lies in the frontier. The search turns round by its own rule (bfs_turns). Top-down levels read
// the lists of their frontier. In bottom-up levels those whose cached neighbours miss read their list, step by step, until one holds a
// neighbour in the frontier. In a graph with hubs a cached neighbour is the neighbour of highest degree, which is seldom missed; else a
// neighbour like any other, and those who name the vertex answer too. Sources differ by their degree: of a few the one in the middle. What
// it leaves out: that neighbours of one vertex have neighbours in common, and long paths. Searches of web graphs, which have both, ask for
// up to ten times as much (docs/benchmarks/method.md). Cost: a pass over the offsets; the square of the classes (some 200) for each
// bottom-up level of each source, below 0.1 s in all.
#pragma once
#include <array>
#include <cstdint>

#include "access/traffic.hpp"
#include "garner/traffic.hpp"

namespace garner {

// The vertices of about one degree: of one degree below 64, of an eighth of a doubling above.
struct degree_class {
  double vertices = 0, arcs = 0, squares = 0;  // sums of degrees, of their squares
  std::array<double, 4> requests{};            // for all their lists, each by itself
};
struct degree_classes {
  static constexpr std::uint64_t exact = 64;
  static constexpr std::size_t count = exact + 8 * 58;
  std::array<degree_class, count> all{};  // by rising degree

  void add(std::uint64_t degree, run_traffic const& list);
  bool alike() const;  // as cached_neighbours.hpp asks it
  friend degree_classes operator+(degree_classes a, degree_classes const& b);
};

// How a bottom-up level reads lists.
struct probing {
  std::uint32_t cached_neighbours = 0;  // a vertex, asked first
  bool each_of_a_class = false;         // the best of each class of ids (cached_neighbours_view::is_narrow)
  double arcs_a_step = 8, sectors_a_step = 1;
};

traffic model_search(degree_classes const& degrees, probing const& how);

}  // namespace garner
