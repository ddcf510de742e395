// A CUDA stream of the caller, without a CUDA header.
#pragma once

struct CUstream_st;  // what a cudaStream_t and a CUstream point to

namespace garner {

// Converts from a cudaStream_t; refers to it and never destroys it. Empty: the callee's own stream.
class stream_ref {
 public:
  constexpr stream_ref() = default;
  constexpr stream_ref(CUstream_st* stream) : stream_(stream) {}
  // From an address, such as torch.cuda.Stream.cuda_stream.
  static stream_ref of_address(void* address) { return stream_ref(static_cast<CUstream_st*>(address)); }

  constexpr CUstream_st* get() const { return stream_; }
  constexpr explicit operator bool() const { return stream_ != nullptr; }

 private:
  CUstream_st* stream_ = nullptr;
};

}  // namespace garner
