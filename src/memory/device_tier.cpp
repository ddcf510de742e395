// The device's own memory: cudaMalloc, on a page.
#include "core/device.hpp"
#include "core/fail.hpp"
#include "memory/page.hpp"
#include "memory/tiers.hpp"

namespace garner {

void* device_tier::allocate(std::size_t bytes, int device) {
  device::require(device);
  return page_aligner::of_devices().take(
      bytes, [&](std::size_t n) { return device::allocate(device, n); }, [&](void* p) { device::release(device, p); });
}
void device_tier::release(void* data, std::size_t, int device) noexcept {
  device::release(device, page_aligner::of_devices().origin(data));
}

}  // namespace garner
