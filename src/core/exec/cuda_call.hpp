// Calls of the CUDA runtime with their errors as exceptions, and the device that they are for. For sources that include CUDA alone.
#pragma once
#include <cuda_runtime_api.h>
#include <pthread.h>

#include <atomic>
#include <new>

#include "core/exec/current_device.hpp"
#include "core/fail.hpp"

namespace garner::device {

// CUDA keeps its state in the process that began with it: a child by fork has none, and no call brings it there.
inline std::atomic<bool> begun{false}, begun_by_parent{false};
[[maybe_unused]] inline int const told_of_forks = ::pthread_atfork(nullptr, nullptr, [] { begun_by_parent = begun_by_parent || begun; });

inline constexpr char const* forked =
    "this process was forked from one that used the GPU already, and CUDA does not work in such a child; start processes by spawn or "
    "forkserver, or use device cpu here";
inline void require_own_state() {
  if (begun_by_parent) fail(errc::device, "{}", forked);
}
inline void check(cudaError_t status, char const* call, errc code = errc::device) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears what is not sticky
  require_own_state();
  fail(code, "{}: {} ({})", call, cudaGetErrorString(status), cudaGetErrorName(status));
}
#define GARNER_CALL(call) check((call), #call)
// Clears the error of calls that cannot report it: an error that is not sticky would surface in the next call.
inline void ignore(cudaError_t status) noexcept {
  if (status != cudaSuccess) cudaGetLastError();
}

class current : public current_device {
 public:
  explicit current(int index) : current_device(own(index)) { GARNER_CALL(status()); }
  current(int index, std::nothrow_t) noexcept : current_device(index) {
    if (status() != cudaSuccess) cudaGetLastError();
  }

 private:
  static int own(int index) {
    require_own_state();
    begun = true;
    return index;
  }
};
inline cudaStream_t as_stream(void* s) { return static_cast<cudaStream_t>(s); }
inline cudaEvent_t as_event(void* e) { return static_cast<cudaEvent_t>(e); }

// Memory of the stream's pool; what it takes counts in most_taken().
void* allocate_from_pool(int index, cudaStream_t stream, std::size_t bytes);

}  // namespace garner::device
