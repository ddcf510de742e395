// The device that CUDA's calls of this thread are for, while an object of this lives, and then again what it was: others of the process
// (torch) go by it. For sources that include CUDA alone.
#pragma once
#include <cuda_runtime.h>

namespace garner {

class current_device {
 public:
  explicit current_device(int index) noexcept {
    int now = -1;
    if (cudaGetDevice(&now) == cudaSuccess && now != index) before_ = now;
    status_ = cudaSetDevice(index);
  }
  ~current_device() {
    if (before_ >= 0) cudaSetDevice(before_);
  }
  current_device(current_device const&) = delete;
  current_device& operator=(current_device const&) = delete;
  cudaError_t status() const noexcept { return status_; }

 private:
  int before_ = -1;
  cudaError_t status_;
};

}  // namespace garner
