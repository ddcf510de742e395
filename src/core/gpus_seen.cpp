#include "core/gpus_seen.hpp"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/opened_library.hpp"

namespace garner {

namespace {
std::string_view from_environment(char const* name, char const* otherwise) {
  char const* const value = std::getenv(name);
  return value ? value : otherwise;
}
// Not std::filesystem's iterator, which ends the process where memory is short.
unsigned files_of_gpus() {
  std::unique_ptr<DIR, int (*)(DIR*)> const folder(opendir(from_environment("GARNER_DEVICE_FOLDER", "/dev").data()), closedir);
  unsigned found = 0;
  while (dirent const* const entry = folder ? readdir(folder.get()) : nullptr) {
    std::string_view const name = entry->d_name;
    found += name.size() > 6 && name.starts_with("nvidia") && name.find_first_not_of("0123456789", 6) == name.npos;
  }
  return found;
}
constexpr char const* instead = "GARNER_DRIVER_LIBRARY";

void ask_driver(gpus_seen& seen) try {
  opened_library const driver(instead, "libcuda.so.1", "cuda", {});
  int (*version)(int*) = nullptr;
  if (driver.entry_if_any(version, "cuDriverGetVersion") && version(&seen.cuda) != 0) seen.cuda = 0;
} catch (error const&) {  // without a driver: problem_of reports it
}
void ask_nvml(gpus_seen& seen) try {
  opened_library const nvml(instead, "libnvidia-ml.so.1", "nvml", {});
  using handle = void*;
  struct memory {
    unsigned long long total, free, used;
  };
  int (*begin)() = nullptr, (*end)() = nullptr, (*driver)(char*, unsigned) = nullptr, (*count)(unsigned*) = nullptr;
  int (*one)(unsigned, handle*) = nullptr, (*name)(handle, char*, unsigned) = nullptr, (*capability)(handle, int*, int*) = nullptr;
  int (*memory_of)(handle, memory*) = nullptr;
  nvml.entry(begin, "nvmlInit_v2");
  nvml.entry(end, "nvmlShutdown");
  nvml.entry(driver, "nvmlSystemGetDriverVersion");
  nvml.entry(count, "nvmlDeviceGetCount_v2");
  nvml.entry(one, "nvmlDeviceGetHandleByIndex_v2");
  nvml.entry(name, "nvmlDeviceGetName");
  nvml.entry(capability, "nvmlDeviceGetCudaComputeCapability");
  nvml.entry(memory_of, "nvmlDeviceGetMemoryInfo");
  if (begin() != 0) return;
  std::array<char, 96> text{};
  if (driver(text.data(), text.size()) == 0) seen.driver = text.data();
  unsigned n = 0;
  if (count(&n) != 0) n = 0;
  for (unsigned k = 0; k < n; ++k) {
    handle at = nullptr;
    gpu_seen g;
    memory m{};
    if (one(k, &at) != 0 || name(at, text.data(), text.size()) != 0 || capability(at, &g.major, &g.minor) != 0) continue;
    g.name = text.data();
    if (memory_of(at, &m) == 0) g.memory_bytes = m.total;
    seen.gpus.push_back(std::move(g));
  }
  end();
} catch (error const&) {  // a Docker container may have the driver without NVML
}
}  // namespace

std::string gpus_seen::what() const { return gpus.empty() ? "/dev/nvidia*" : gpus.front().name; }

gpus_seen see_gpus() {
  gpus_seen seen;
  seen.files = files_of_gpus();
  if (!seen.any()) return seen;
  ask_driver(seen);
  ask_nvml(seen);
  return seen;
}

bool hides_gpus(gpus_seen const& seen) {
  char const* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!visible) return false;
  std::string first(visible);
  first = first.substr(0, first.find(','));
  first.erase(0, first.find_first_not_of(' '));
  if (first.starts_with("GPU-") || first.starts_with("MIG-")) return false;  // names that nothing here knows
  if (first.empty() || first.find_first_not_of("0123456789") == 0) return true;
  return seen.any() && std::strtoull(first.c_str(), nullptr, 10) >= std::max<std::size_t>(seen.gpus.size(), seen.files);
}

bool has_code(gpu_build const& build, int major, int minor) {
  int const wanted = major * 10 + minor;
  auto const& all = build.architectures;
  if (!all.empty() && wanted >= *std::max_element(all.begin(), all.end())) return true;  // by the PTX of the last
  return std::any_of(all.begin(), all.end(), [&](int a) { return a / 10 == major && a <= wanted; });
}
std::string told_architectures(gpu_build const& build) {
  std::string text;
  for (int const a : build.architectures) text += fmt::format("{}{}.{}", text.empty() ? "" : ", ", a / 10, a % 10);
  return text;
}

std::string what_helps_without_code(int major, int minor) {
  return major * 10 + minor < 75
             ? "GPUs before Turing (7.5) are not supported: use another GPU, or the CPU (CUDA_VISIBLE_DEVICES= hides this one)"
             : "build Garner on this machine with CUDA=1";
}

gpu_problem problem_of(gpus_seen const& seen, gpu_build const& build) {
  if (!seen.any()) return {};
  if (build.toolkit.empty())
    return {fmt::format("there is a GPU ({}), and this build of Garner has no GPU support", seen.what()),
            "install the wheel for GPUs, or build with CUDA=1"};
  if (seen.cuda == 0)
    return {fmt::format("there is a GPU ({}), and the driver's library libcuda.so.1 cannot be opened", seen.what()),
            "install the NVIDIA driver, or start the Docker container with --gpus all"};
  int const needed = std::atoi(build.toolkit.c_str());
  if (seen.cuda / 1000 < needed)
    return {fmt::format("the GPU's driver{}{} is for CUDA {}.{}, and this build of Garner needs CUDA {}", seen.driver.empty() ? "" : " ",
                        seen.driver, seen.cuda / 1000, seen.cuda % 1000 / 10, needed),
            fmt::format("update the driver{}", needed == 13   ? " to 580 or newer"
                                               : needed == 12 ? " to 525 or newer"
                                                              : "")};
  if (!seen.gpus.empty() &&
      std::none_of(seen.gpus.begin(), seen.gpus.end(), [&](gpu_seen const& g) { return has_code(build, g.major, g.minor); }))
    return {fmt::format("the GPU {} has compute capability {}.{}, and this build of Garner has code for {}", seen.what(),
                        seen.gpus[0].major, seen.gpus[0].minor, told_architectures(build)),
            what_helps_without_code(seen.gpus[0].major, seen.gpus[0].minor)};
  return {};
}

std::string hidden_by() {
  return fmt::format("CUDA_VISIBLE_DEVICES is '{}', which hides all GPUs", from_environment("CUDA_VISIBLE_DEVICES", ""));
}
gpu_problem why_no_gpu(gpus_seen const& seen, gpu_build const& build) {
  if (gpu_problem p = problem_of(seen, build); !p.why.empty()) return p;
  if (build.toolkit.empty()) return {"this build has no GPU support", "build with CUDA=1"};
  if (!seen.any()) return {"no NVIDIA GPU is visible here: /dev/nvidia0 does not exist", "start a Docker container with --gpus all"};
  if (hides_gpus(seen)) return {hidden_by(), "unset it, or set it to numbers of GPUs"};
  return {};
}
std::string told(gpu_problem const& p) { return fmt::format("{}; {}, or use device cpu or simulated", p.why, p.helps); }

}  // namespace garner
