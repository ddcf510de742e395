// What both halves of the contract (graphs here, jobs in traverse/) share.
#pragma once
#include "comm/common_memory.hpp"
#include "core/fail.hpp"
#include "garner/handle.hpp"
#include "graph/graph.hpp"

namespace garner {

// The way from a handle to its graph and back, for the rooms of the library.
struct graph_access {
  static graph_handle wrap(graph&& g);
  static graph const& of(graph_handle const& h);  // errc::usage once moved from
  static graph& change(graph_handle& h);
  static graph take(graph_handle&& h);
};

// As open_graph, by the processes of a group together (common_lists.hpp).
graph_handle open_in_common(std::filesystem::path const& file, open_options const& options, common_memory::terms const& terms);

// lists_of() in the order that the graph has inside, whatever the user's ids: vertex v of these stands there.
graph_lists lists_inside(graph_handle const& handle, bool in);

}  // namespace garner
