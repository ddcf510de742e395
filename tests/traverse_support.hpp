// A graph of any size with the hard cases for traversal algorithms.
#pragma once
#include <cstring>

#include "core/random.hpp"
#include "graph/build.hpp"
#include "graph/edge_list.hpp"

namespace garner::testing {

// Two hubs with a sixth of all edges each, short lists, isolated vertices, duplicates and loops.
inline graph hub_graph(std::uint64_t seed, std::uint64_t n, std::uint64_t m, bool undirected, weight_kind kind, build_options const& o) {
  edge_list e;
  e.vertices = n;
  e.undirected = undirected;
  e.source = "a test";
  e.weights_are = kind;
  for (std::uint64_t i = 0; i < m; ++i) {
    std::uint64_t u = random_bits(seed, 0, i) % n, v = random_bits(seed, 1, i) % (n - 100);
    if (i % 3 == 0) u = 5 + i % 2;
    e.arcs.push_back({u, v});
    auto const w = static_cast<std::uint32_t>(random_bits(seed, 2, i) % 65 + 8);
    float const f = static_cast<float>(w) * 0.37f;
    std::uint32_t bits = w;
    if (kind == weight_kind::f32) std::memcpy(&bits, &f, 4);
    e.weights.push_back(bits);
  }
  build_report report;
  return build_graph(std::move(e), o, report);
}

// Host memory that the device of `where` reads.
inline memory_block mapped(memory_block from, execution_device where) {
  if (where.kind != device_kind::cuda || !from.bytes()) return from;
  memory_block to(tier::host, from.bytes(), where.index, "edges");
  std::memcpy(to.data(), from.data(), from.bytes());
  return to;
}
template <class T>
buffer<T> mapped(buffer<T> from, execution_device where) {
  if (where.kind != device_kind::cuda || from.empty()) return from;
  buffer<T> to(tier::host, from.size(), where.index, "edges");
  std::copy(from.begin(), from.end(), to.begin());
  return to;
}
// The edges of a graph in such memory.
inline graph mapped(graph g, execution_device where) {
  for (edge_lists* lists : {&g.out, &g.in}) {
    lists->targets = mapped(std::move(lists->targets), where);
    lists->weights = mapped(std::move(lists->weights), where);
    for (packed_array* p : {&lists->packed_targets, &lists->packed_weights}) {
      p->words = mapped(std::move(p->words), where);
      p->blocks = mapped(std::move(p->blocks), where);
      p->groups = mapped(std::move(p->groups), where);
    }
  }
  return g;
}

}  // namespace garner::testing
