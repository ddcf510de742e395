// Adjacency that the processes of a group share in host memory: one loads it, the others map it. Invariant: all processes reach the
// barrier, whatever their own memory would let them choose. Arrays that the first one has on its device, each process loads itself. Cost:
// the first process's arrays are copied once; pages are released during the copy, so that the peak is little more than one copy.
#pragma once
#include <functional>

#include "comm/peer_group.hpp"
#include "graph/graph.hpp"

namespace garner {

// load() returns a graph with adjacency in unpinned host memory if it is to be shared. The first process calls it; the others call it only
// if sharing fails. With a device, what it reads is then mapped for it, and offsets are local to it.
graph load_in_common(peer_group::terms t, std::function<graph()> const& load);

// A graph in host memory as one contiguous, page-aligned block: its size, writing it, and
// opening it. The opened graph refers to the block and keeps the owner alive. Throws errc::usage
// if adjacency is on a device or in a file, errc::input if the block does not hold a graph.
std::uint64_t bytes_in_one_piece(graph const& g);
void write_in_one_piece(graph const& g, void* to);
graph graph_in_one_piece(std::shared_ptr<void> const& owner, void* at, std::uint64_t bytes);

}  // namespace garner
