// Memory of another device that this one reads over a fast link: cudaMalloc there, made readable here.
#include "core/device.hpp"
#include "core/fail.hpp"
#include "memory/tiers.hpp"

namespace garner {

int owner_of_peer_tier(int reader) try {
  device::require(reader);
  for (int p = 0; p < device::count(); ++p)
    if (p != reader && device::peer_of(reader, p).fast) return p;
  fail(errc::device,
       "device {} has no fast link to another device, so nothing can lie in tier peer; use host (garner info lists the devices)", reader);
} catch (...) {
  rethrow_as_error();
}
void* peer_tier::allocate(std::size_t bytes, int reader) {
  int const from = owner_of_peer_tier(reader);
  device::enable_peer(reader, from);
  return device_tier::allocate(bytes, from);
}
void peer_tier::release(void* data, std::size_t bytes, int reader) noexcept {
  device_tier::release(data, bytes, reader);  // its address determines the owner
}

}  // namespace garner
