// Order of an epoch: seeds sorted by random numbers of their own, and a rank's share of them. The same on every device.
#pragma once
#include <cstdint>
#include <span>

#include "core/executor.hpp"
#include "memory/buffer.hpp"

namespace garner {

struct epoch_order {
  std::uint64_t epoch = 0;
  buffer<std::int64_t> ids, positions;  // on the device: the seeds of this rank in order, and the position of each among all of them
};
// `seeds`: on the device. Waits.
epoch_order order_of_epoch(executor& x, std::span<std::int64_t const> seeds, bool shuffle, std::uint64_t seed, std::uint64_t epoch,
                           std::uint32_t rank, std::uint32_t ranks);

}  // namespace garner
