// What this Garner is and what it sees: version, GPU support, devices.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace garner {

struct device_info {
  int index = 0;
  std::string name;
  int multiprocessors = 0, compute_major = 0, compute_minor = 0;
  std::uint64_t memory_bytes = 0, free_bytes = 0;
  int driver_version = 0, runtime_version = 0;  // as CUDA counts: 13000 is 13.0
};
struct build_info {
  std::string version;
  bool cuda = false;      // built for GPUs
  std::string no_device;  // why there is no usable device, and what to try; empty where there is one
  std::vector<device_info> devices;
};
char const* version() noexcept;  // "0.1.0"; asks no device
std::string build_id();          // tells builds of one version apart: the linker's name of this one, or where it gave none the version
build_info describe_build();

// "8GiB", "1.5 GiB", "512M": powers of 1024; "8GB", "512 MB": of 1000; "1.5e9", "4096". errc::usage shows examples.
std::uint64_t parse_bytes(std::string const& text);

}  // namespace garner
