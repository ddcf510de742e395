// Converts between internal order and ascending user ids. Cost: one pass; for adjacency entries also a sort of each list.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/thread_pool.hpp"
#include "graph/graph.hpp"

namespace garner {

// For each internal id, the rank of its user id: the inverse of at_rank.
template <class T>
std::vector<T> ranks_inside(graph const& g) {
  std::vector<T> rank(g.info.vertices);
  shared_pool().run(rank.size(), 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t r = begin; r < end; ++r) rank[g.at_rank(r)] = static_cast<T>(r);
  });
  return rank;
}

// Reorders per-vertex data from rank order to internal order.
template <class T>
std::vector<T> values_inside(graph const& g, std::span<T const> by_rank) {
  std::vector<T> values(by_rank.size());
  shared_pool().run(values.size(), 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t r = begin; r < end; ++r) values[g.at_rank(r)] = by_rank[r];
  });
  return values;
}

// Calls f(vertex, entry, place) for each adjacency entry. Place: its position in the list sorted by rank(entry); equal ones keep their
// order. Ranks and list lengths are below 2^32, as in all reordered graphs.
template <class Rank, class F>
void each_entry_by_rank(std::uint64_t const* offsets, std::uint64_t vertices, Rank const& rank, F const& f) {
  shared_pool().run(vertices, 256, [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<std::uint64_t> list;
    for (std::uint64_t v = begin; v < end; ++v) {
      list.clear();
      for (std::uint64_t i = offsets[v]; i < offsets[v + 1]; ++i) list.push_back(std::uint64_t{rank(i)} << 32 | (i - offsets[v]));
      std::sort(list.begin(), list.end());
      for (std::uint64_t k = 0; k < list.size(); ++k) f(v, offsets[v] + (list[k] & 0xffffffffu), k);
    }
  });
}

// Maps adjacency entries to those of adjacency_of(): entry i of vertex v is begins[v] + places[i]. Takes 4 bytes per entry of host memory;
// while it is built also the targets, if they are compressed or elsewhere.
struct entry_places {
  buffer<std::uint64_t> begins;
  buffer<std::uint32_t> places;
};
entry_places places_of_entries(graph const& g, edge_lists const& lists);

}  // namespace garner
