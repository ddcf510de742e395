// Implements streams: a GPU (device_cuda.cpp), or the simulated device (simulated_device.cpp). core/device.hpp documents each call, and
// device.cpp forwards to the backend of an index.
#pragma once
#include <cstddef>
#include <cstdint>

namespace garner::device {

class stream_backend {
 public:
  virtual void* allocate_ordered(int index, void* stream, std::size_t bytes) = 0;
  virtual void release_ordered(int index, void* stream, void* pointer) noexcept = 0;
  virtual bool owns(int index, void const* at) = 0;
  virtual void* make_stream(int index, bool urgent) = 0;
  virtual void free_stream(int index, void* stream) noexcept = 0;
  virtual void* make_event(int index) = 0;
  virtual void free_event(int index, void* event) noexcept = 0;
  virtual void record(int index, void* stream, void* event) = 0;
  virtual void wait_event(void* event) = 0;
  virtual bool happened(void* event) = 0;
  virtual void order_after(int index, void* stream, void* event) = 0;
  virtual double elapsed_ms(void* first, void* last) = 0;
  virtual void copy(int index, void* stream, void* to, void const* from, std::size_t bytes) = 0;
  virtual void fill(int index, void* stream, void* at, int byte, std::size_t bytes) = 0;
  virtual void wait_all(int index) noexcept = 0;
  virtual void wait(int index, void* stream) = 0;
  virtual void begin_recording(int index, void* stream) = 0;
  virtual void* end_recording(int index, void* stream, std::uint64_t& parts) = 0;
  virtual void drop_recording(int index, void* stream) noexcept = 0;
  virtual void replay(int index, void* stream, void* recorded) = 0;
  virtual void free_recording(int index, void* stream, void* recorded) noexcept = 0;

 protected:
  ~stream_backend() = default;
};

stream_backend& gpu_streams();  // errc::device in a build without CUDA
stream_backend& simulated_streams();

}  // namespace garner::device
