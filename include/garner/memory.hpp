// Memory: what the host has, and how much of it and of each device Garner may take (limit_host_memory(), limit_device_memory()) and takes.
#pragma once
#include <cstdint>
#include <filesystem>

namespace garner {

inline constexpr std::uint64_t unlimited_bytes = ~std::uint64_t{0};

// The host's memory as the system reports it. MemTotal and MemAvailable are reported, never used as a limit: on machines that set their
// memory up as it is touched they start small and grow. `installed` is the size of all zones, set up or not, and swap.
struct host_memory {
  std::uint64_t total = 0, available = 0;
  std::uint64_t installed = unlimited_bytes;
  std::uint64_t group_limit = unlimited_bytes, group_used = 0;  // the tightest control group (v2 or v1); used: without its page cache
  std::uint64_t limit() const;                                  // of the host budget at start
  std::uint64_t free() const;                                   // what may be expected to be had now
};
host_memory host_memory_now(std::filesystem::path const& root = "/");  // the root of /proc and /sys; another one in tests

struct memory_use {
  std::uint64_t limit = unlimited_bytes, used = 0, peak = 0;  // of its budget
  std::uint64_t driver_peak = 0;  // of a device: by how much its free memory shrank, which other processes do too
};
memory_use host_memory_use();
memory_use device_memory_use(int device);
// Bytes that a plan may count on: what is free on the device, within its limit, as if Garner had taken nothing yet.
std::uint64_t most_on_device(int device);
// The device whose memory is tier `peer` for that reader; errc::device without a GPU.
int owner_of_peer_tier(int reader);

// Mapped host memory is read from the device and compared, before anything relies on it: on some machines such reads return garbage.
// 1 MiB is written twice with different words, and each time read by all multiprocessors. Once per process and device; errc::device if it
// is not there, or does not see what the host wrote. Cost: some 10 ms the first time.
void self_test(int device);

}  // namespace garner
