// A point in the work of a stream, that others wait for. Made once it is needed. Where nothing is asynchronous all work has happened when
// its call returns, and an event is nothing.
#pragma once
#include <utility>

#include "core/device.hpp"
#include "core/executor.hpp"

namespace garner {

class event {
 public:
  event() = default;
  event(event&& other) noexcept { *this = std::move(other); }
  event& operator=(event&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(device_, other.device_);
    return *this;
  }
  ~event() {
    if (at_) device::free_event(device_, at_);
  }

  void record(executor& x) {  // behind all that was given to x
    if (!x.asynchronous()) return;
    if (!at_) at_ = device::make_event(x.device()), device_ = x.device();
    device::record(device_, x.stream(), at_);
  }
  void wait() const {  // of the host; nothing was recorded: returns at once
    if (at_) device::wait_event(device_, at_);
  }
  bool happened() const { return !at_ || device::happened(device_, at_); }
  void before(executor& x) const {  // what is given to x from here on waits for it, the host goes on
    if (at_ && x.asynchronous()) device::order_after(x.device(), x.stream(), at_);
  }
  void before(void* stream) const {  // of the same device
    if (at_) device::order_after(device_, stream, at_);
  }
  void record(int device, void* stream) {
    if (!at_) at_ = device::make_event(device), device_ = device;
    device::record(device_, stream, at_);
  }
  double ms_until(event const& later) const { return at_ && later.at_ ? device::elapsed_ms(device_, at_, later.at_) : 0; }

 private:
  void* at_ = nullptr;
  int device_ = -1;
};

}  // namespace garner
