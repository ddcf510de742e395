// Shared by both halves of the public API (graphs here, algorithms in traverse/).
#pragma once
#include "comm/peer_group.hpp"
#include "core/fail.hpp"
#include "garner/handle.hpp"
#include "graph/graph.hpp"

namespace garner {

// Converts between a handle and its graph, for the library's internal modules.
struct graph_access {
  static graph_handle wrap(graph&& g);
  static graph const& of(graph_handle const& h);  // errc::usage if moved from
  static graph& change(graph_handle& h);
  static graph take(graph_handle&& h);
};

// Same as open_graph, collectively by the processes of a group (common_lists.hpp).
graph_handle open_in_common(std::filesystem::path const& file, open_options const& options, peer_group::terms const& terms);

// adjacency_of() in internal order, independent of user ids: entry v belongs to internal vertex v.
adjacency_arrays lists_inside(graph_handle const& handle, bool in);

}  // namespace garner
