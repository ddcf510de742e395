// Streams, events and captures of GPUs behind core/stream_backend.hpp.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <new>

#include "core/device.hpp"
#include "core/exec/cuda_call.hpp"
#include "core/fail.hpp"
#include "core/stream_backend.hpp"

namespace garner::device {

namespace {
class gpu final : public stream_backend {
 public:
  void* allocate_ordered(int index, void* stream, std::size_t bytes) override {
    return allocate_from_pool(index, as_stream(stream), bytes);
  }
  void release_ordered(int index, void* stream, void* pointer) noexcept override {
    if (begun_by_parent) return;
    current const here(index, std::nothrow);
    if (cudaFreeAsync(pointer, as_stream(stream)) != cudaSuccess) cudaGetLastError();
  }
  void* make_stream(int index, bool urgent) override {
    require(index);
    current const here(index);
    cudaStream_t s;
    int least = 0, most = 0;
    GARNER_CALL(cudaDeviceGetStreamPriorityRange(&least, &most));
    GARNER_CALL(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, urgent ? most : least));
    return s;
  }
  void free_stream(int index, void* stream) noexcept override {
    if (begun_by_parent) return;
    current const here(index, std::nothrow);
    ignore(cudaStreamDestroy(as_stream(stream)));
  }
  void* make_event(int index) override {
    current const here(index);
    cudaEvent_t e;
    GARNER_CALL(cudaEventCreate(&e));
    return e;
  }
  void free_event(int index, void* event) noexcept override {
    if (begun_by_parent) return;
    current const here(index, std::nothrow);
    ignore(cudaEventDestroy(as_event(event)));
  }
  void record(int index, void* stream, void* event) override {
    current const here(index);
    GARNER_CALL(cudaEventRecord(as_event(event), as_stream(stream)));
  }
  void wait_event(void* event) override {
    if (begun_by_parent) fail(errc::device, "{}", forked);
    GARNER_CALL(cudaEventSynchronize(as_event(event)));
  }
  bool happened(void* event) override {
    cudaError_t const status = cudaEventQuery(as_event(event));
    if (status == cudaErrorNotReady) cudaGetLastError();
    else GARNER_CALL(status);
    return status == cudaSuccess;
  }
  void order_after(int index, void* stream, void* event) override {
    current const here(index);
    GARNER_CALL(cudaStreamWaitEvent(as_stream(stream), as_event(event), 0));
  }
  double elapsed_ms(void* first, void* last) override {
    float ms = 0;
    GARNER_CALL(cudaEventElapsedTime(&ms, as_event(first), as_event(last)));
    return ms;
  }
  void copy(int index, void* stream, void* to, void const* from, std::size_t bytes) override {
    current const here(index);
    auto const start = [&](std::size_t at, std::size_t n) {
      return cudaMemcpyAsync(static_cast<char*>(to) + at, static_cast<char const*>(from) + at, n, cudaMemcpyDefault, as_stream(stream));
    };
    cudaError_t const whole = start(0, bytes);
    // A copy must not begin inside one registration of host memory and end outside it: then it goes in chunks, cut where they end.
    cudaError_t chunk = whole;
    if (whole == cudaErrorInvalidValue) {
      cudaGetLastError();
      std::size_t at = 0;
      auto const until_end_of_pin = [&](void const* p) {
        std::size_t const n = pinned_from(static_cast<char const*>(p) + at);
        return n ? std::min(n, bytes - at) : bytes - at;
      };
      do {
        std::size_t const n = std::min(until_end_of_pin(to), until_end_of_pin(from));
        if (n == bytes) break;  // nothing to cut
        chunk = start(at, n);
        at += n;
      } while (at < bytes && chunk == cudaSuccess);
    }
    if (chunk != cudaSuccess) check(whole, "cudaMemcpyAsync");
  }
  bool owns(int index, void const* at) override {
    cudaPointerAttributes a{};
    if (cudaPointerGetAttributes(&a, at) == cudaSuccess) return a.type == cudaMemoryTypeDevice && a.device == index;
    cudaGetLastError();
    return false;
  }
  void fill(int index, void* stream, void* at, int byte, std::size_t bytes) override {
    current const here(index);
    GARNER_CALL(cudaMemsetAsync(at, byte, bytes, as_stream(stream)));
  }
  void wait(int index, void* stream) override {
    current const here(index);
    GARNER_CALL(cudaStreamSynchronize(as_stream(stream)));
  }
  void wait_all(int index) noexcept override {
    if (begun_by_parent) return;
    current const here(index, std::nothrow);
    if (cudaDeviceSynchronize() != cudaSuccess) cudaGetLastError();
  }

  void begin_recording(int index, void* stream) override {
    current const here(index);
    // For this thread alone: allocations of other threads during a capture are legal.
    GARNER_CALL(cudaStreamBeginCapture(as_stream(stream), cudaStreamCaptureModeThreadLocal));
  }
  void* end_recording(int index, void* stream, std::uint64_t& parts) override {
    current const here(index);
    cudaGraph_t graph = nullptr;
    GARNER_CALL(cudaStreamEndCapture(as_stream(stream), &graph));
    cudaGraphExec_t made = nullptr;
    std::size_t nodes = 0;
    cudaError_t status = cudaGraphGetNodes(graph, nullptr, &nodes);
    if (status == cudaSuccess) status = cudaGraphInstantiate(&made, graph, 0);
    ignore(cudaGraphDestroy(graph));
    check(status, "cudaGraphInstantiate");
    parts = nodes;
    return made;
  }
  void drop_recording(int index, void* stream) noexcept override {
    if (begun_by_parent) return;
    current const here(index, std::nothrow);
    cudaGraph_t graph = nullptr;
    if (cudaStreamEndCapture(as_stream(stream), &graph) != cudaSuccess) cudaGetLastError();
    if (graph) ignore(cudaGraphDestroy(graph));
  }
  void replay(int index, void* stream, void* recorded) override {
    current const here(index);
    GARNER_CALL(cudaGraphLaunch(static_cast<cudaGraphExec_t>(recorded), as_stream(stream)));
  }
  void free_recording(int index, void* stream, void* recorded) noexcept override {
    if (begun_by_parent) return;
    current const here(index, std::nothrow);
    if (cudaStreamSynchronize(as_stream(stream)) != cudaSuccess) cudaGetLastError();  // it may be under way
    ignore(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(recorded)));
  }
};
}  // namespace

stream_backend& gpu_streams() {
  static gpu one;
  return one;
}

}  // namespace garner::device
