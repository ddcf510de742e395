// The contract's facts: asked of the device room.
#include "core/device.hpp"
#include "garner/build.hpp"

namespace garner {

char const* version() noexcept { return GARNER_VERSION; }

build_info describe_build() {
  build_info all;
  all.version = GARNER_VERSION;
  all.cuda = device::built();
  if (device::count() == 0) all.no_device = device::why_none();
  for (int d = 0; d < device::count(); ++d) {
    device::properties const p = device::describe(d);
    all.devices.push_back({d, p.name, p.multiprocessors, p.compute_major, p.compute_minor, p.memory_bytes, device::memory(d).free_bytes,
                           p.driver_version, p.runtime_version});
  }
  return all;
}

}  // namespace garner
