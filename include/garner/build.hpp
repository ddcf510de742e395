// This build and its machine: version, GPU support, devices.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace garner {

struct device_info {
  int index = 0;
  std::string name;
  int multiprocessors = 0, compute_major = 0, compute_minor = 0;
  std::uint64_t memory_bytes = 0, free_bytes = 0, l2_bytes = 0;
  int driver_version = 0, runtime_version = 0;  // CUDA's numbering: 13000 is 13.0
  std::string pci;                              // bus address
};
struct build_info {
  std::string version;
  bool cuda = false;      // built with GPU support
  std::string toolkit;    // CUDA's, as "13.0"; empty without GPU support
  std::string no_device;  // the reason for the lack of a usable device, and what to try; else empty
  std::vector<device_info> devices;
};
char const* version() noexcept;  // "0.1.0"; does not touch a device
std::string build_id();          // identifies this build among those of one version: the linker's build id, or the version without one
build_info describe_build();
unsigned host_threads();          // that work on the host uses; starts them
bool has_gpu_support() noexcept;  // build_info::cuda; does not touch a device

// "8GiB", "1.5 GiB", "512M": powers of 1024; "8GB", "512 MB": of 1000; "1.5e9", "4096". errc::usage shows examples.
std::uint64_t parse_bytes(std::string const& text);

}  // namespace garner
