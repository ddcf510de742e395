// The device's own memory: cudaMalloc, on a page.
#include "core/device.hpp"
#include "core/fail.hpp"
#include "memory/page.hpp"
#include "memory/tiers.hpp"

namespace garner {

namespace {
page_aligner& aligner() {
  static auto* const instance = new page_aligner;  // never destroyed: static buffers may outlive this file
  return *instance;
}
}  // namespace

void* device_tier::allocate(std::size_t bytes, int device) {
  device::require(device);
  return aligner().take(
      bytes, [&](std::size_t n) { return device::allocate(device, n); }, [&](void* p) { device::release(device, p); });
}
void device_tier::release(void* data, std::size_t, int device) noexcept { device::release(device, aligner().origin(data)); }

}  // namespace garner
