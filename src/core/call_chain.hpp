// The calls of an object that works in buffers of its own, on streams of the caller's: each comes behind the one before, whatever its
// stream.
// Invariant: behind a call that threw nothing is under way that it started. Elsewhere than on a device a call is f().
#pragma once
#include <utility>

#include "core/event.hpp"
#include "core/executor.hpp"
#include "garner/stream.hpp"

namespace garner {

class call_chain {
 public:
  // f() on the stream; without a stream on the executor's own, followed by a wait.
  template <class F>
  void run(executor& x, stream_ref stream, F const& f) {
    if (x.asynchronous()) {
      x.work_on(stream.get());
      if (pending_) done_.before(x);
    }
    try {
      f();
    } catch (...) {
      // What was started reads what is the caller's, and nobody would wait for it: neither the caller nor a later call.
      try {
        x.wait();
      } catch (...) {
      }
      throw;
    }
    if (!x.asynchronous()) return;
    if (stream) done_.record(x), pending_ = true;
    else x.wait(), pending_ = false;
  }
  // The host waits for the last call, and x works on its own stream again.
  void settle(executor& x) {
    if (!x.asynchronous()) return;
    if (std::exchange(pending_, false)) done_.wait();
    x.work_on(nullptr);
  }
  // Before the buffers go.
  void end() noexcept {
    try {
      if (pending_) done_.wait();
    } catch (...) {  // the error was reported to the reader of the stream
    }
  }

 private:
  event done_;
  bool pending_ = false;
};

}  // namespace garner
