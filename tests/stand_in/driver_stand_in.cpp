// Replaces libcuda and NVML: GPUs as in GARNER_STAND_IN_GPUS ("NVIDIA A:7.0;NVIDIA B:9.0"), with a driver for
// GARNER_STAND_IN_CUDA (13000; unset: not reported).
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace {
struct gpu {
  std::string name;
  int major, minor;
};
std::vector<gpu> gpus() {
  char const* const text = std::getenv("GARNER_STAND_IN_GPUS");
  std::istringstream all(text ? text : "");
  std::vector<gpu> found;
  for (std::string one; std::getline(all, one, ';');) {
    std::size_t const colon = one.find(':'), dot = one.find('.', colon);
    found.push_back({one.substr(0, colon), std::stoi(one.substr(colon + 1)), std::stoi(one.substr(dot + 1))});
  }
  return found;
}
gpu of(void* handle) { return gpus().at(reinterpret_cast<std::size_t>(handle) - 1); }
}  // namespace

extern "C" {
int cuDriverGetVersion(int* version) {
  char const* const said = std::getenv("GARNER_STAND_IN_CUDA");
  if (!said) return 1;
  *version = std::atoi(said);
  return 0;
}
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  std::strncpy(text, "580.65.06", bytes);
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(gpus().size());
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  *handle = reinterpret_cast<void*>(std::size_t{index} + 1);
  return 0;
}
int nvmlDeviceGetName(void* handle, char* text, unsigned bytes) {
  std::strncpy(text, of(handle).name.c_str(), bytes);
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(void* handle, int* major, int* minor) {
  *major = of(handle).major, *minor = of(handle).minor;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, void* memory) {
  *static_cast<unsigned long long*>(memory) = 80ull << 30;
  return 0;
}
}
