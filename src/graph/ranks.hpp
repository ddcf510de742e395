// Of each place inside, the rank of the vertex that stands there among the ascending user ids: at_rank the other way. Cost: a pass.
#pragma once
#include <cstdint>
#include <vector>

#include "core/thread_pool.hpp"
#include "graph/graph.hpp"

namespace garner {

template <class T>
std::vector<T> ranks_inside(graph const& g) {
  std::vector<T> rank(g.info.vertices);
  shared_pool().run(rank.size(), 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t r = begin; r < end; ++r) rank[g.at_rank(r)] = static_cast<T>(r);
  });
  return rank;
}

}  // namespace garner
