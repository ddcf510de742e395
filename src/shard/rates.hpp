// Measured memory and link rates of shards on these devices: the kernels of exchange.hpp read rows from a device's own memory and from the
// next one's. Cost: some 20 ms on a GPU, some 100 on the host. Nothing is measured in simulation, which stands for an H200, or if memory
// does not suffice.
#pragma once
#include <vector>

#include "garner/device.hpp"
#include "shard/decide.hpp"

namespace garner {

// Devices of one kind, at least one; with access to each other (shard_group::join).
shard_rates measured_rates(std::vector<execution_device> const& places);
// Without measuring.
shard_rates known_rates(execution_device where);

}  // namespace garner
