// A kernel that touches no memory: fused multiply-adds in registers, to measure how a gather slows down concurrent work.
// Invariant: each lane ends with its initial numbers, since the steps undo each other exactly; lanes that differ are counted.
// Cost: 8 fused multiply-adds per step, one lane per item; blocks are independent (so they run wherever there is space).
#pragma once
#include <cstdint>

#include "core/executor.hpp"

namespace garner::cli {

// steps: even. *wrong (device memory) counts wrong lanes. Asynchronous on a device.
void reckon(executor& x, std::uint64_t lanes, std::uint32_t steps, std::uint32_t* wrong);

}  // namespace garner::cli
