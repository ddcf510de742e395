#include "core/executor.hpp"

#include <cstring>

#include "core/device.hpp"
#include "core/simulated_device.hpp"

namespace garner {

namespace {
// Multiprocessors of a device that computes on the host: they make shares of it numbers.
constexpr int simulated_multiprocessors = 4;

int device_of(execution_device where) {
  bool const streams = simulated_device::has_streams();  // checked on every device, so that a wrong value is reported at once
  return where.kind == device_kind::cuda ? where.index : where.kind == device_kind::simulated && streams ? device::simulated : -1;
}
}  // namespace

executor::executor(execution_device where, request_sink* sink)
    : where_(where), device_(device_of(where)), sink_(device_ == -1 ? sink : nullptr) {
  if (device_ == -1) return;
  if (on_device()) device::require(where_.index);
  multiprocessors_ = on_device() ? device::describe(where_.index).multiprocessors : simulated_multiprocessors;
  stream_ = own_stream_ = device::make_stream(device_);
}

executor::executor(executor const& other, urgent) : where_(other.where_), device_(other.device_), sink_(other.sink_) {
  if (device_ == -1) return;
  multiprocessors_ = other.multiprocessors_;
  stream_ = own_stream_ = device::make_stream(device_, true);
}

executor::~executor() {
  if (device_ == -1) return;
  if (scratch_) {
    if (stream_ != own_stream_) device::wait_all(device_);  // the caller's stream may be destroyed while its work still runs
    device::release_ordered(device_, own_stream_, scratch_);
  }
  for (kept const& k : kept_) {
    try {
      device::wait_event(device_, k.until);
    } catch (...) {  // the device is lost, or the process was forked
    }
    device::free_event(device_, k.until);
  }
  device::free_stream(device_, own_stream_);
}

void executor::wait() {
  if (!asynchronous()) return;
  device::wait(device_, stream_);
  let_go();
}

void executor::keep(std::shared_ptr<void const> memory) {
  if (!asynchronous() || !memory) return;
  let_go();
  kept_.push_back({device::make_event(device_), std::move(memory)});
  device::record(device_, stream_, kept_.back().until);
}
void executor::let_go() {
  while (!kept_.empty() && device::happened(device_, kept_.front().until)) {
    device::free_event(device_, kept_.front().until);
    kept_.pop_front();
  }
}

void executor::give_later(std::function<void()> work) { simulated_device::give(stream_, std::move(work)); }
void executor::drain() noexcept { simulated_device::drain(); }
static_assert(device::simulated == -2);

void executor::copy(void* to, void const* from, std::size_t bytes) {
  if (bytes == 0) return;
  if (asynchronous()) device::copy(device_, stream_, to, from, bytes);
  else std::memcpy(to, from, bytes);
}

void executor::fill(void* at, int byte, std::size_t bytes) {
  if (bytes == 0) return;
  if (asynchronous()) {
    device::fill(device_, stream_, at, byte, bytes);
    return;
  }
  constexpr std::uint64_t grain = 4u << 20;
  threads().run(bytes, grain,
                [&](std::uint64_t begin, std::uint64_t end) { std::memset(static_cast<char*>(at) + begin, byte, end - begin); });
}

void* executor::scratch(std::size_t bytes) {
  if (bytes > scratch_bytes_) {
    device::require_unrecorded(device_, bytes);  // before what there is goes
    tell_move();
    if (scratch_) device::release_ordered(device_, stream_, std::exchange(scratch_, nullptr));
    scratch_bytes_ = 0;
    bytes += bytes / 4;  // so that the next one, a little larger, fits
    scratch_ = device::allocate_ordered(device_, stream_, bytes);
    scratch_bytes_ = bytes;
  }
  return scratch_;
}

}  // namespace garner
