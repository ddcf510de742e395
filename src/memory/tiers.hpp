// The tiers, each in a file of its own. Each models memory_tier (memory/buffer.hpp) and is held to it by the contract suite in
// tests/memory.
#pragma once
#include "memory/buffer.hpp"

namespace garner {

// Host memory of our own mapping. For a device (device >= 0): shared pages (memfd), so that another process can map the same ones later, or
// private ones where the kernel has no memfd; touched, pinned and mapped, so not from inside a loop of the shared pool. Refusals name
// `ulimit -v`, or the limits of a Docker container. With device -1 no device can read it. For the simulated device: poisoned, as its own
// memory and the host memory that it reads.
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

// Memory of another device, read over a fast link (NVLink): of the first that has one to the reader, which is what `device` names here. Its
// budget pays.
struct peer_tier {
  static constexpr tier kind = tier::peer;
  static int owner(int reader);  // errc::device without a GPU
  static void* allocate(std::size_t bytes, int reader);
  static void release(void* data, std::size_t bytes, int reader) noexcept;
  static bool readable(device_kind where) { return where == device_kind::cuda; }
};
static_assert(memory_tier<peer_tier>);

// UVM with read-mostly advice: the baseline of EMOGI. Never more than half of the card's free memory, since a program that oversubscribes
// can hang the GPU.
struct managed_tier {
  static constexpr tier kind = tier::managed;
  static void* allocate(std::size_t bytes, int device);
  static void release(void* data, std::size_t bytes, int device) noexcept;
  static bool readable(device_kind) { return true; }
};
static_assert(memory_tier<managed_tier>);

}  // namespace garner
