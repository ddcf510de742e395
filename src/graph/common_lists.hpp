// Lists that processes of a group have in common in host memory: one loads them, the others have them where they lie.
// Invariant: all come to the meeting, whatever their own memory would let them choose; what the first one has on its device each loads
// itself. Cost: the first one's arrays are copied once, and their pages go as they are, so that it holds little more than one of each.
#pragma once
#include <functional>

#include "comm/common_memory.hpp"
#include "graph/graph.hpp"

namespace garner {

// load(): a graph whose lists lie in host memory that is pinned for no device, where they are to be in common; called by the first process,
// and by the others where they are not. Then, with a device, what it reads is mapped for it and offsets are near.
graph load_in_common(common_memory::terms t, std::function<graph()> const& load);

// A graph in host memory as one piece of it, which starts on a page: how many bytes; written there; and the graph that lies there, whose
// arrays stay where they are and keep the owner. errc::usage where lists lie on a device or in a file, errc::input where no graph lies
// there.
std::uint64_t bytes_in_one_piece(graph const& g);
void write_in_one_piece(graph const& g, void* to);
graph graph_in_one_piece(std::shared_ptr<void> const& owner, void* at, std::uint64_t bytes);

}  // namespace garner
