// Work for a device that touches no memory: fused multiply-adds in registers, which show what a gather beside them costs others.
// Invariant: each lane ends with the numbers that it began with, since the steps undo each other exactly; one that does not is counted.
// Cost: 8 fused multiply-adds a step, a lane an item, each block on its own (so that it runs wherever there is room).
#pragma once
#include <cstdint>

#include "core/executor.hpp"

namespace garner::bench {

// steps: even. *wrong (near) counts lanes that came out wrong. Asynchronous on a device.
void reckon(executor& x, std::uint64_t lanes, std::uint32_t steps, std::uint32_t* wrong);

}  // namespace garner::bench
