// The tiers. Each models memory_tier (memory/buffer.hpp) and is held to it by the contract suite in tests/memory.
#pragma once
#include "memory/buffer.hpp"

namespace garner {

// Host memory of our own mapping: shared pages (memfd), so that another process can be given the same ones, or private ones where the kernel
// has no memfd. For a device (device >= 0) it is touched, pinned and mapped; refusals name `ulimit -l` or --shm-size where those are the cause.
struct host_tier {
  static constexpr tier kind = tier::host;
  static void* allocate(std::size_t bytes, int device);
  static void release(void* data, std::size_t bytes, int device) noexcept;
  static bool readable(place_kind) { return true; }
};
static_assert(memory_tier<host_tier>);

// The device's own memory.
struct device_tier {
  static constexpr tier kind = tier::device;
  static void* allocate(std::size_t bytes, int device);
  static void release(void* data, std::size_t bytes, int device) noexcept;
  static bool readable(place_kind where) { return where == place_kind::device; }
};
static_assert(memory_tier<device_tier>);

// UVM with read-mostly advice: the baseline of EMOGI. Never more than half of the card's free memory, since a program that oversubscribes
// can hang the GPU.
struct managed_tier {
  static constexpr tier kind = tier::managed;
  static void* allocate(std::size_t bytes, int device);
  static void release(void* data, std::size_t bytes, int device) noexcept;
  static bool readable(place_kind) { return true; }
};
static_assert(memory_tier<managed_tier>);

}  // namespace garner
