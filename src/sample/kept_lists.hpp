// Copies of the most-read remote adjacency in device memory, chosen by reads saved per byte, whichever ids the vertices have. Invariant: a
// copy is whole. Each vertex has the distance from its list to the copy, in elements, or for compressed lists in words (two lists that
// share a block both have a copy of it). Offsets and directories apply to both. Cost: 8 bytes per vertex on the device, 16 if weights are
// cached too, and one read of the cached lists; 36 bytes per vertex of host memory during selection.
#pragma once
#include <cstdint>
#include <span>

#include "core/executor.hpp"
#include "graph/graph.hpp"
#include "graph/placed.hpp"
#include "memory/buffer.hpp"

namespace garner {

class kept_lists {
 public:
  // `scores`: how often each vertex is sampled for, in the user's order (vertices beyond the array never are); `fanout`: entries read per
  // list then, ~0: all. `placed`: the same lists without copies. Asynchronous but for what the host reads.
  void keep(executor& x, graph const& g, edge_lists const& lists, placed_lists const& placed, std::span<float const> scores,
            std::uint64_t fanout, std::uint64_t budget, bool weighted);

  template <class Id>
  csr_view<Id> with(csr_view<Id> v) const {
    if (!vertices_) return v;
    auto const has = [](auto& array, memory_block const& copies, std::int64_t const* moved_by) {
      array.moved_by = moved_by;
      if (array.packed) array.near_words = static_cast<std::uint32_t const*>(copies.data());
      else array.near_data = static_cast<decltype(array.near_data)>(copies.data());
    };
    has(v.targets, targets_, targets_moved_by_.data());
    if (weights_.bytes()) has(v.weights, weights_, weights_moved_by_.empty() ? targets_moved_by_.data() : weights_moved_by_.data());
    return v;
  }

  std::uint64_t vertices() const { return vertices_; }
  std::uint64_t arcs() const { return arcs_; }
  std::uint64_t list_bytes() const { return targets_.bytes() + weights_.bytes(); }
  std::uint64_t bytes() const { return list_bytes() + targets_moved_by_.bytes() + weights_moved_by_.bytes(); }

 private:
  std::uint64_t vertices_ = 0, arcs_ = 0;
  memory_block targets_, weights_;
  buffer<std::int64_t> targets_moved_by_, weights_moved_by_;
};

}  // namespace garner
