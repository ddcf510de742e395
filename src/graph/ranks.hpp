// From the order inside to that of the ascending user ids, and back. Cost: a pass; of the entries of lists a sort of each.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/thread_pool.hpp"
#include "graph/graph.hpp"

namespace garner {

// Of each place inside, the rank of the vertex that stands there: at_rank the other way.
template <class T>
std::vector<T> ranks_inside(graph const& g) {
  std::vector<T> rank(g.info.vertices);
  shared_pool().run(rank.size(), 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t r = begin; r < end; ++r) rank[g.at_rank(r)] = static_cast<T>(r);
  });
  return rank;
}

// What is one a vertex by rank, as the vertices stand inside.
template <class T>
std::vector<T> values_inside(graph const& g, std::span<T const> by_rank) {
  std::vector<T> values(by_rank.size());
  shared_pool().run(values.size(), 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t r = begin; r < end; ++r) values[g.at_rank(r)] = by_rank[r];
  });
  return values;
}

// f(vertex, entry, place) for each entry of the lists: its place among those of its list by rank(entry), equals as they stand. Ranks and
// lengths are below 2^32, as of all graphs that are reordered.
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

// Which entry of lists_of() each entry of these lists is: of entry i of vertex v begins[v] + places[i]. Takes 4 bytes an entry of host
// memory, and for a while the targets where they lie packed or elsewhere.
struct entry_places {
  buffer<std::uint64_t> begins;
  buffer<std::uint32_t> places;
};
entry_places places_of_entries(graph const& g, edge_lists const& lists);

}  // namespace garner
