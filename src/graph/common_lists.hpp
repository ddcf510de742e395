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

}  // namespace garner
