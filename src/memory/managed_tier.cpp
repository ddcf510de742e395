// Managed memory (UVM), on a page, zeroed at the host: so its pages lie there until a device first reads them.
// Invariant: what is given out for a device never exceeds half of its free memory, all blocks taken together.
#include <array>
#include <atomic>
#include <cstring>

#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/thread_pool.hpp"
#include "memory/budget.hpp"
#include "memory/page.hpp"
#include "memory/tiers.hpp"

namespace garner {

namespace {
std::atomic<std::uint64_t>& given(int device) {
  static std::array<std::atomic<std::uint64_t>, 64> bytes;
  return bytes[static_cast<std::size_t>(device) % bytes.size()];
}
}  // namespace

void* managed_tier::allocate(std::size_t bytes, int device) {
  device::require(device);
  if (!device::describe(device).managed_memory) fail(errc::device, "device {}: has no managed memory; use tier host", device);
  std::uint64_t const free = device::memory(device).free_bytes, before = given(device).fetch_add(bytes);
  if (bytes > free / 2 || before > free / 2 - bytes) {
    given(device) -= bytes;
    fail(
        errc::memory,
        "managed memory: {} bytes ({}) requested with {} in use, and no more than half of the {} bytes ({}) free on device {} are granted, "
        "since a program that oversubscribes can hang the GPU; use tier host",
        bytes, format_bytes(bytes), before, free, format_bytes(free), device);
  }
  void* p = nullptr;
  try {
    p = page_aligner::of_devices().take(
        bytes, [&](std::size_t n) { return device::allocate_managed(device, n); }, [&](void* q) { device::release_managed(device, q); });
    progress told("preparing managed memory", bytes);
    shared_pool().run(bytes, 64u << 20, [&](std::uint64_t begin, std::uint64_t end) {
      std::memset(static_cast<char*>(p) + begin, 0, end - begin);
      told.advance(end - begin);
    });
    device::advise_read_mostly(device, p, bytes);
  } catch (...) {
    if (p) device::release_managed(device, page_aligner::of_devices().origin(p));
    given(device) -= bytes;
    throw;
  }
  return p;
}

void managed_tier::release(void* data, std::size_t bytes, int device) noexcept {
  device::release_managed(device, page_aligner::of_devices().origin(data));
  given(device) -= bytes;
}

}  // namespace garner
