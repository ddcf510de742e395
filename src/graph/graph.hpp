// A graph in memory: CSR, each array in a tier of its own. The owner stays on the host; bodies get csr_view by value.
// Invariant: offsets has vertices + 1 entries, never goes down, starts at 0 and ends at edges; every target is below vertices; lists are
// sorted by target (a multigraph may repeat one). Arrays start on a 4 KiB boundary.
#pragma once
#include <cstdint>
#include <string>

#include "core/mark.hpp"
#include "core/run.hpp"
#include "garner/graph.hpp"
#include "memory/buffer.hpp"

namespace garner {

template <class Id>
struct csr_view {
  std::uint64_t const* offsets = nullptr;  // near: on the place that runs
  Id const* targets = nullptr;             // far: only a team reads it
  std::uint32_t const* weights = nullptr;  // far; u32 or the bits of f32; null where there are none
  std::uint64_t vertices = 0, edges = 0;

  GARNER_HD std::uint64_t degree(std::uint64_t v) const { return offsets[v + 1] - offsets[v]; }
  GARNER_HD run<Id> list(std::uint64_t v) const { return {targets, offsets[v], offsets[v + 1]}; }
};

// One direction of the edges.
struct edge_lists {
  buffer<std::uint64_t> offsets;  // always readable by the host
  memory_block targets;           // edges x id_bytes
  memory_block weights;           // edges x 4 bytes, or empty
};

struct graph {
  graph_info info;
  edge_lists out, in;         // in.offsets is empty unless info.in_lists
  buffer<std::uint64_t> ids;  // internal id -> user id, ascending; empty unless info.id_map
  std::string name;           // of the file, for messages

  std::uint64_t user_id(std::uint64_t internal) const { return ids.empty() ? internal + info.id_base : ids[internal]; }
  std::uint64_t internal_id(std::uint64_t user) const;  // errc::input names a vertex that does not exist, and which do

  template <class Id>
  csr_view<Id> view(edge_lists const& lists, std::uint64_t const* offsets = nullptr) const {
    return {offsets ? offsets : lists.offsets.data(), static_cast<Id const*>(lists.targets.data()),
            static_cast<std::uint32_t const*>(lists.weights.data()), info.vertices, info.edges};
  }
};

// Calls f with a value of the type that one entry of the edge list has: std::uint32_t or std::uint64_t.
template <class F>
decltype(auto) with_id_type(graph_info const& info, F&& f) {
  return info.id_bytes == 8 ? f(std::uint64_t{}) : f(std::uint32_t{});
}

}  // namespace garner
