// What shards at these places have of memory and link, measured: rows that the bodies of exchange.hpp bring from a place's own memory and
// from the next one's. Cost: at a device some 20 ms, at the host some 100. Nothing is measured at the place simulated, which stands for an
// H200, and where there is no room to.
#pragma once
#include <vector>

#include "garner/place.hpp"
#include "shard/decide.hpp"

namespace garner {

// Places of one kind, not none; that have peer access to each other (shard_group::take).
shard_rates measured_rates(std::vector<place> const& places);
// Without measuring.
shard_rates known_rates(place where);

}  // namespace garner
