#include "core/device.hpp"
#include "core/fail.hpp"
#include "memory/tiers.hpp"

namespace garner {

void* managed_tier::allocate(std::size_t bytes, int device) {
  device::memory_now const now = device::memory(device);
  if (bytes > now.free_bytes / 2)
    fail(errc::memory,
         "managed memory: {} bytes asked, and no more than half of the {} bytes free on device {} are given, since a program that oversubscribes can "
         "hang the GPU; say --tier host",
         bytes, now.free_bytes, device);
  void* const p = device::allocate_managed(device, bytes);
  device::advise_read_mostly(device, p, bytes);
  return p;
}
void managed_tier::release(void* data, std::size_t, int device) noexcept { device::release_managed(device, data); }

}  // namespace garner
