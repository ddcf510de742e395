#include "core/device.hpp"
#include "memory/tiers.hpp"

namespace garner {

void* device_tier::allocate(std::size_t bytes, int device) { return device::allocate(device, bytes); }
void device_tier::release(void* data, std::size_t, int device) noexcept { device::release(device, data); }

}  // namespace garner
