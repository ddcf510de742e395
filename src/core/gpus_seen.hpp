// The GPUs of this machine without CUDA: from the files of the driver, and from NVML where it opens. Nothing here starts CUDA, which a
// child by fork would not survive: `import garner` calls this. Cost: one look into a folder on a machine without a GPU.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace garner {

struct gpu_seen {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  std::uint64_t memory_bytes = 0;
};
struct gpus_seen {
  unsigned files = 0;          // /dev/nvidia0 and so on
  std::vector<gpu_seen> gpus;  // as NVML lists them; empty where it does not open
  std::string driver;          // "580.65.06"; empty where NVML lacks it
  int cuda = 0;                // the newest CUDA of the driver, 13000 for 13.0; 0: libcuda does not open, or lacks it
  bool any() const { return files > 0; }
  std::string what() const;  // "NVIDIA H100", or the file where no name is known
};
// GARNER_DEVICE_FOLDER is read in place of /dev, and GARNER_DRIVER_LIBRARY in place of libcuda and NVML (tests).
gpus_seen see_gpus();
// Whether CUDA_VISIBLE_DEVICES leaves this process none of these GPUs: CUDA shows those before the first that it does not know.
bool hides_gpus(gpus_seen const& seen);
std::string hidden_by();  // the variable with its value

// What a build needs: its CUDA ("13.0"; empty without) and the architectures that it has code for (75 is 7.5), of the last also as PTX.
struct gpu_build {
  std::string toolkit;
  std::vector<int> architectures;
};
gpu_build this_build();
bool has_code(gpu_build const& build, int major, int minor);
std::string told_architectures(gpu_build const& build);  // "7.5, 8.0"
std::string what_helps_without_code(int major, int minor);
// Why a build cannot use any of these GPUs, and a remedy: two halves of a sentence; empty where it can, or without a GPU.
struct gpu_problem {
  std::string why, helps;
};
gpu_problem problem_of(gpus_seen const& seen, gpu_build const& build);
// The reason that all of Garner gives where CUDA counts no GPU: a problem, no GPU, or the variable that hides all; empty where the runtime
// alone knows.
gpu_problem why_no_gpu(gpus_seen const& seen, gpu_build const& build);
std::string told(gpu_problem const& p);  // the message of device::why_none()

}  // namespace garner
