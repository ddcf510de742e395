// The memory tiers, each implemented in its own file. Each models memory_tier
// (memory/buffer.hpp), which the contract suite in tests/memory verifies.
#pragma once
#include "memory/buffer.hpp"

namespace garner {

// Host memory in its own mapping. For a device (device >= 0) the pages are shared (memfd), so that another process can map
// them later; they are private if the kernel has no memfd. They are touched, pinned and mapped, so do not allocate them
// inside a loop of the shared pool. Errors name `ulimit -v`, or the limits of a Docker container. With device -1 no device
// can read the memory. For the simulated device the memory is poisoned, and it serves as the device's own memory too.
struct host_tier {
  static constexpr tier kind = tier::host;
  static void* allocate(std::size_t bytes, int device);
  static void release(void* data, std::size_t bytes, int device) noexcept;
  static bool readable(device_kind) { return true; }
};
static_assert(memory_tier<host_tier>);

// The device's own memory.
struct device_tier {
  static constexpr tier kind = tier::device;
  static void* allocate(std::size_t bytes, int device);
  static void release(void* data, std::size_t bytes, int device) noexcept;
  static bool readable(device_kind where) { return where == device_kind::cuda; }
};
static_assert(memory_tier<device_tier>);

// Memory of another device, read over a fast link (NVLink). It lies on the first device with such a
// link to the reader, and the budget of that device pays. `reader` is the `device` of memory_tier.
struct peer_tier {
  static constexpr tier kind = tier::peer;
  static void* allocate(std::size_t bytes, int reader);
  static void release(void* data, std::size_t bytes, int reader) noexcept;
  static bool readable(device_kind where) { return where == device_kind::cuda; }
};
static_assert(memory_tier<peer_tier>);

// UVM with read-mostly advice, the baseline of EMOGI. It takes at most half of
// the GPU's free memory, since a program that oversubscribes can hang the GPU.
struct managed_tier {
  static constexpr tier kind = tier::managed;
  static void* allocate(std::size_t bytes, int device);
  static void release(void* data, std::size_t bytes, int device) noexcept;
  static bool readable(device_kind) { return true; }
};
static_assert(memory_tier<managed_tier>);

}  // namespace garner
