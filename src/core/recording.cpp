#include "core/recording.hpp"

#include <exception>
#include <utility>

#include "core/device.hpp"
#include "core/fail.hpp"

namespace garner {

void recording::forget() noexcept {
  if (graph_) device::free_recording(device_, stream_, std::exchange(graph_, nullptr));
  work_ = nullptr, parts_ = 0, given_ = false;
}

void recording::record(executor& x, std::function<void()> const& work) {
  if (!x.asynchronous()) {
    work_ = work;
    return;
  }
  device_ = x.device(), stream_ = x.stream();
  x.tell_recording();
  try {
    device::begin_recording(device_, stream_);
    work();
    graph_ = device::end_recording(device_, stream_, parts_);
  } catch (std::exception const& e) {
    device::drop_recording(device_, stream_);
    if (auto const* const known = dynamic_cast<error const*>(&e); known && known->code() == errc::interrupted) throw;
    refused_ = e.what();  // an error unrelated to capturing recurs in the plain run
  }
}

void recording::run(executor& x, std::function<void()> const& work) {
  if (moves_ != x.moves()) forget();
  if (!refused_.empty() || !given_) {
    work();
    moves_ = x.moves(), given_ = true;
    return;
  }
  if (!work_ && !graph_) record(x, work);
  x.tell_recording();
  if (graph_) device::replay(device_, stream_ = x.stream(), graph_);
  else if (work_) work_();
  else work();
}

}  // namespace garner
