// Captures work that an executor repeats: on a GPU as one CUDA graph, whose kernels start one behind the other without
// the host; elsewhere as the function that submits it. Invariant: a replay has the pointers and numbers of the
// capture; what changes between replays is in device memory. Capture happens once its memory is allocated, and again
// when some of it has moved (executor::moves). Work that a device cannot capture (it waits, or allocates) is submitted
// as before. Cost: 0 on the host; on a GPU the graph, some hundred bytes per kernel. Source: CUDA graphs by stream
// capture.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "core/executor.hpp"

namespace garner {

class recording {
 public:
  recording() = default;
  ~recording() { forget(); }
  recording(recording const&) = delete;
  recording& operator=(recording const&) = delete;

  // Calls `work`, which gives x always the same, or gives x what was recorded of it. What `work` changes on the host is not done again
  // then.
  void run(executor& x, std::function<void()> const& work);
  std::uint64_t parts() const { return parts_; }           // kernels, copies and fills that a device is given at once; 0: none are recorded
  std::string const& refused() const { return refused_; }  // why the device would not record them

 private:
  void forget() noexcept;
  void record(executor& x, std::function<void()> const& work);
  bool given_ = false;  // once, with all its memory made
  std::uint64_t moves_ = 0;
  std::function<void()> work_;
  void *graph_ = nullptr, *stream_ = nullptr;
  int device_ = -1;
  std::uint64_t parts_ = 0;
  std::string refused_;
};

}  // namespace garner
