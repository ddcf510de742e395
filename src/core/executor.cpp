#include "core/executor.hpp"

#include <cstring>

#include "core/device.hpp"
#include "core/share.hpp"

namespace garner {

executor::executor(place where, request_sink* sink) : where_(where), sink_(sink) {
  if (!on_device()) return;
  device::require(where_.index);
  multiprocessors_ = device::describe(where_.index).multiprocessors;
  stream_ = own_stream_ = device::make_stream(where_.index);
}

executor::executor(place where, sm_share const& share) : where_(where) {
  if (!on_device()) return;
  share_ = std::make_shared<device_share const>(where_.index, share);
  multiprocessors_ = static_cast<int>(share_->multiprocessors());
  if (share_->kind() == share_kind::grid) limit_share(share_->multiprocessors(), 1024);
  stream_ = own_stream_ = share_->make_stream(false);
}

executor::executor(executor const& shared, beside) : where_(shared.where_), share_(shared.share_) {
  if (!on_device()) return;
  multiprocessors_ = share_ ? static_cast<int>(share_->rest()) : shared.multiprocessors_;
  stream_ = own_stream_ = share_ ? share_->make_stream(true) : device::make_stream(where_.index);
}

executor::executor(executor const& other, urgent) : where_(other.where_), sink_(other.sink_) {
  if (!on_device()) return;
  multiprocessors_ = other.multiprocessors_;
  stream_ = own_stream_ = device::make_stream(where_.index, true);
}

executor::~executor() {
  if (!on_device()) return;
  if (scratch_) {
    if (stream_ != own_stream_) device::wait_all(where_.index);  // the caller's stream may be gone, and its work not
    device::release_ordered(where_.index, own_stream_, scratch_);
  }
  device::free_stream(where_.index, own_stream_);
}

void executor::wait() {
  if (on_device()) device::wait(where_.index, stream_);
}

void executor::copy(void* to, void const* from, std::size_t bytes) {
  if (bytes == 0) return;
  if (on_device()) device::copy(where_.index, stream_, to, from, bytes);
  else std::memcpy(to, from, bytes);
}

void executor::fill(void* at, int byte, std::size_t bytes) {
  if (bytes == 0) return;
  if (on_device()) {
    device::fill(where_.index, stream_, at, byte, bytes);
    return;
  }
  constexpr std::uint64_t grain = 4u << 20;
  threads().run(bytes, grain,
                [&](std::uint64_t begin, std::uint64_t end) { std::memset(static_cast<char*>(at) + begin, byte, end - begin); });
}

void* executor::scratch(std::size_t bytes) {
  if (bytes > scratch_bytes_) {
    device::require_unrecorded(where_.index, bytes);  // before what there is goes
    tell_move();
    if (scratch_) device::release_ordered(where_.index, stream_, std::exchange(scratch_, nullptr));
    scratch_bytes_ = 0;
    bytes += bytes / 4;  // so that the next one, a little larger, fits
    scratch_ = device::allocate_ordered(where_.index, stream_, bytes);
    scratch_bytes_ = bytes;
  }
  return scratch_;
}

}  // namespace garner
