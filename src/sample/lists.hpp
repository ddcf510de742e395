// Adjacency of a graph as the device that runs reads it: edges in their memory tier, offsets and directories of compressed lists in device
// memory. Invariant: refers to the graph, which must outlive it.
#pragma once
#include "core/executor.hpp"
#include "core/fail.hpp"
#include "far/matrix.hpp"
#include "far/traffic.hpp"
#include "garner/memory.hpp"
#include "garner/subgraph.hpp"
#include "graph/graph.hpp"
#include "graph/list_windows.hpp"
#include "graph/placed.hpp"
#include "memory/pin.hpp"

namespace garner {

// How lists are read: scores and samples set no other way.
inline access_mode access_to(std::optional<tier> edges) { return access_in(edges.value_or(tier::host)); }
// errc::usage where the edges cannot be read at this place.
inline tier require_readable(graph const& g, execution_device where, std::optional<tier> edges, bool reads_files = false) {
  if (!reads_files) g.require_in_memory();
  if (g.in_file) {
    require_combination(where, tier::file, access_mode::aligned);
    if (edges.value_or(tier::file) != tier::file)
      fail(errc::usage, "{}: its lists were left in their file, not in tier {}", g.name, to_string(*edges));
    return tier::file;
  }
  if (edges == tier::file) fail(errc::usage, "{}: its lists do not lie in their file; open it with tier file", g.name);
  bool const on_device = where.kind == device_kind::cuda;
  memory_block const& lists = g.out.packed_targets.empty() ? g.out.targets : g.out.packed_targets.words;
  tier const t = edges.value_or(on_device && lists.bytes() ? lists.where() : tier::host);
  require_combination(where, t, access_in(t));
  if (lists.bytes() == 0) return t;
  require_readable_at(g.name, lists, where);
  if (on_device && lists.where() != t)
    fail(errc::usage, "{}: its edges lie in tier {}, not {}", g.name, to_string(lists.where()), to_string(t));
  return t;
}

// The lists that a vertex samples from. errc::input where the graph lacks them.
inline edge_lists const& lists_of_side(graph const& g, edge_direction side) {
  if (!g.info.directed || g.info.edges == 0 || side == edge_direction::out) return g.out;
  if (g.info.in_edges) return g.in;
  fail(errc::input, "{}: sampling reads in-edges, and this directed graph has no in-edges; open it with its in-edges, which builds them",
       g.name);
}

// One direction, with the directories of compressed lists on the device too.
inline placed_lists near_lists(executor& x, graph const& g, edge_lists const& lists) {
  placed_lists placed(x, g, lists, "offsets");
  if (x.on_device() && placed.directory_bytes(false)) placed.cache_directory(x, false, "directory of compressed adjacency");
  return placed;
}

// What others have in host memory, where the place reads it.
template <class T>
T const* readable(executor& x, std::span<T const> of, pinned_pages& pinned) {
  if (of.empty() || !x.on_device() || device::reads(x.device(), of.data())) return of.data();
  pinned = pinned_pages(of.data(), of.size_bytes(), x.device());
  return static_cast<T const*>(pinned.device_data());
}

// Host values, copied to the device.
template <class T>
buffer<T> near_values(executor& x, std::vector<T> const& from, char const* what) {
  buffer<T> to(x.near(), from.size(), x.device(), what);
  if (!from.empty()) x.copy(to.data(), from.data(), to.bytes());
  x.wait();
  return to;
}

}  // namespace garner
