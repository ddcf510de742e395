// A graph in memory: CSR, each array in its own memory tier. The owner stays on the host; kernels get csr_view by value. Invariant: offsets
// has vertices + 1 entries, never decreases, starts at 0 and ends at edges; every target is below vertices; adjacency is sorted by target
// (a multigraph may repeat one). Arrays start on a 4 KiB boundary.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "core/mark.hpp"
#include "core/span.hpp"
#include "garner/graph.hpp"
#include "memory/buffer.hpp"

namespace garner {

// An array with one element per edge, plain or compressed. A copy of its first `kept` elements, or of some vertices' adjacency
// (sample/kept_lists.hpp), may be cached locally.
template <class T>
struct arc_array {
  T const* data = nullptr;  // may be remote: only teams read it; null if compressed
  packed_view packed{};
  T const* near_data = nullptr;
  std::uint32_t const* near_words = nullptr;  // of a compressed array
  std::uint64_t kept = 0;
  // By vertex: the distance, in elements (compressed: words), from its adjacency to the cached copy; or `elsewhere`: not cached.
  std::int64_t const* moved_by = nullptr;
  static constexpr std::int64_t elsewhere = std::numeric_limits<std::int64_t>::min();

  GARNER_HD span<T> part(std::uint64_t begin, std::uint64_t end) const {
    if (end > kept) return {data, begin, end, false, packed};
    return {near_data, begin, end, true, {packed.at, near_words}};
  }
  // The same for the adjacency of v, or a part of it.
  GARNER_HD span<T> part_of(std::uint64_t v, std::uint64_t begin, std::uint64_t end) const {
    if (!moved_by) return part(begin, end);
    std::int64_t const by = moved_by[v];
    if (by == elsewhere) return {data, begin, end, false, packed};
    if (packed) return {nullptr, begin, end, true, {packed.at, moved(near_words, by)}};
    return {moved(near_data, by), begin, end, true, {}};
  }

 private:
  // May point before the copies; only an index within the list makes it valid.
  template <class U>
  GARNER_HD static U const* moved(U const* copies, std::int64_t by) {
    return reinterpret_cast<U const*>(reinterpret_cast<std::uintptr_t>(copies) + static_cast<std::uintptr_t>(by) * sizeof(U));
  }
};

template <class Id>
struct csr_view {
  std::uint64_t const* offsets = nullptr;  // local to the device that runs
  arc_array<Id> targets;
  arc_array<std::uint32_t> weights;  // u32 or the bits of f32; empty if unweighted
  std::uint64_t vertices = 0, edges = 0;

  GARNER_HD std::uint64_t degree(std::uint64_t v) const { return offsets[v + 1] - offsets[v]; }
  GARNER_HD span<Id> list(std::uint64_t v) const { return targets.part(offsets[v], offsets[v + 1]); }
  GARNER_HD span<Id> arcs(indices i) const { return targets.part(i.begin, i.end); }
  GARNER_HD span<std::uint32_t> weights_of(span<Id> const& r) const { return weights.part(r.begin, r.end); }
};

// An array of 32-bit values in compressed blocks (`core/packed.hpp`), and its directory, which is host-readable.
struct packed_array {
  memory_block words;  // the blocks, and one word of padding
  buffer<std::uint32_t> blocks;
  buffer<std::uint64_t> groups;

  bool empty() const { return blocks.empty(); }
  std::uint64_t bytes() const { return words.bytes() + blocks.bytes() + groups.bytes(); }
  packed_view view() const { return {{blocks.data(), groups.data()}, static_cast<std::uint32_t const*>(words.data())}; }
};

// Position of an array that stays in its file.
struct stored_array {
  std::uint64_t at = 0, bytes = 0;
};
class list_file;

// One direction of the edges.
struct edge_lists {
  buffer<std::uint64_t> offsets;  // always host-readable
  memory_block targets;           // edges x id_bytes; empty if compressed
  memory_block weights;           // edges x 4 bytes, or empty
  packed_array packed_targets, packed_weights;
  stored_array stored_targets,
      stored_weights;                  // file tier: replaces the arrays, or compressed words
  buffer<std::uint64_t> near_offsets;  // a copy on the device that runs the algorithms; if empty, each run makes its own
};

struct graph {
  graph_info info;
  edge_lists out, in;  // in.offsets is empty unless info.in_edges
  buffer<std::uint32_t>
      cached_neighbors;  // the best in-neighbors of each vertex (traverse/cached_neighbors.hpp), cached_per_vertex each, or empty
  std::uint32_t cached_per_vertex = 0;
  buffer<std::uint64_t> ids;  // internal id -> user id, ascending unless info.order differs; empty unless info.id_map
  memory_block by_id;         // if info.order is not natural: internal ids in the order of user ids, id_bytes per entry; else empty
  std::shared_ptr<list_file> in_file;  // set if targets and weights stay in their file; else null
  std::string name;                    // of the file, for messages
  bool checked = true;                 // false: from a file whose checksums were not verified

  std::uint64_t user_id(std::uint64_t internal) const { return ids.empty() ? internal + info.id_base : ids[internal]; }
  // errc::input names the missing vertex and the valid range.
  std::uint64_t internal_id(std::uint64_t user) const { return at_rank(rank_of(user)); }
  std::uint64_t rank_of(std::uint64_t user) const;  // number of smaller user ids
  // The internal id of the vertex whose user id has `rank` smaller ones.
  std::uint64_t at_rank(std::uint64_t rank) const {
    if (!by_id.bytes()) return rank;
    return info.id_bytes == 8 ? static_cast<std::uint64_t const*>(by_id.data())[rank]
                              : static_cast<std::uint32_t const*>(by_id.data())[rank];
  }

  // errc::usage if the adjacency is in a file; list_windows completes what bare_view() leaves open.
  template <class Id>
  csr_view<Id> view(edge_lists const& lists, std::uint64_t const* offsets = nullptr) const {
    require_in_memory();
    return bare_view<Id>(lists, offsets);
  }
  void require_in_memory() const;
  template <class Id>
  csr_view<Id> bare_view(edge_lists const& lists, std::uint64_t const* offsets = nullptr) const {
    csr_view<Id> v;
    v.offsets = offsets ? offsets : lists.offsets.data();
    v.targets.data = static_cast<Id const*>(lists.targets.data());
    v.weights.data = static_cast<std::uint32_t const*>(lists.weights.data());
    v.targets.packed = lists.packed_targets.view();
    v.weights.packed = lists.packed_weights.view();
    v.vertices = info.vertices,
    v.edges = lists.offsets.empty() ? info.edges : lists.offsets[info.vertices];  // each direction of a part has its own count
    return v;
  }
};

// Host memory of the tables of user ids.
inline std::uint64_t bytes_of_ids(graph_info const& info) {
  return (info.id_map ? info.vertices * 8 : 0) + (info.order != vertex_order::natural ? info.vertices * info.id_bytes : 0);
}

// Copies the offsets to a device, once for all algorithms that run there; -1: drops the copies.
void bring_offsets_near(graph& g, int device);

// Converts internal ids of `had` bytes each (graph::by_id) to `id_bytes` each.
memory_block ids_of_width(memory_block const& from, std::uint32_t had, std::uint32_t id_bytes);

// Upper bound on any algorithm's local memory besides the adjacency, including offsets.
inline std::uint64_t state_allowance(graph_info const& info) { return info.vertices * 96 + info.edges / 32 + (1u << 20); }

// Calls f with a value of the edge list's id type: std::uint32_t or std::uint64_t.
template <class F>
decltype(auto) with_id_type(graph_info const& info, F&& f) {
  return info.id_bytes == 8 ? f(std::uint64_t{}) : f(std::uint32_t{});
}

}  // namespace garner
