#include "lab/share/share.hpp"

#include <signal.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>

#include "core/device.hpp"
#include "core/fail.hpp"

namespace garner::lab {

namespace {
constexpr std::string_view names[] = {"automatic", "all", "grid", "partition", "mps"};

double number(std::string const& text) {
  double value = 0;
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && end == text.data() + text.size() ? value : 0;
}
}  // namespace

std::string_view to_string(share_kind kind) { return names[static_cast<std::size_t>(kind)]; }

mps_state mps_here() {
  auto const said = [](char const* name) {
    char const* const value = std::getenv(name);
    return std::string(value ? value : "");
  };
  mps_state s;
  s.folder = said("CUDA_MPS_PIPE_DIRECTORY");
  if (s.folder.empty()) s.folder = "/tmp/nvidia-mps";
  s.percentage = said("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  long pid = 0;
  if (std::ifstream in(s.folder + "/nvidia-cuda-mps-control.pid"); in >> pid && pid > 0)
    s.runs = ::kill(static_cast<::pid_t>(pid), 0) == 0 || errno == EPERM;
  return s;
}

void require_mps(mps_state const& s) {
  constexpr char const* how =
      "start it with `nvidia-cuda-mps-control -d`, set CUDA_MPS_ACTIVE_THREAD_PERCENTAGE (6 is 8 of 132 multiprocessors) and start the "
      "program anew, or use partition or grid";
  if (!s.runs) fail(errc::device, "no Multi-Process Service runs here (no process answers in {}); {}", s.folder, how);
  double const percent = number(s.percentage);
  if (!(percent > 0 && percent <= 100))
    fail(errc::device,
         "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE is '{}'; a share is above 0, and 100 at most; it counts when a process first uses the device: "
         "{}",
         s.percentage, how);
}

device_share::device_share(int device, sm_share const& wanted) : device_(device), kind_(wanted.kind) {
  device::require(device);
  auto const all = static_cast<unsigned>(device::describe(device).multiprocessors);
  if (wanted.multiprocessors == 0 && kind_ != share_kind::all && kind_ != share_kind::mps)
    fail(errc::usage, "a share of no multiprocessors; device {} has {}, name how many", device, all);
  multiprocessors_ = rest_ = all;
  if (kind_ == share_kind::mps) {
    require_mps(mps_here());
    if (wanted.multiprocessors && all > wanted.multiprocessors)
      fail(errc::device,
           "device {}: the Multi-Process Service gives this process {} multiprocessors, {} are wanted; CUDA_MPS_ACTIVE_THREAD_PERCENTAGE "
           "is {}: "
           "set it to less before the program starts",
           device, all, wanted.multiprocessors, mps_here().percentage);
    about_ = fmt::format("mps: {} multiprocessors for this process", all);
    return;
  }
  if (kind_ == share_kind::all || wanted.multiprocessors >= all) {
    about_ = fmt::format("all {} multiprocessors", all);
    kind_ = share_kind::all;
    return;
  }
  std::string instead;
  if (kind_ != share_kind::grid) {
    on_gpu::partition made;
    std::string const why = on_gpu::make_partition(device, wanted.multiprocessors, made);
    if (why.empty()) {
      kind_ = share_kind::partition;
      partition_ = made.share, others_ = made.others;
      multiprocessors_ = made.multiprocessors;
      rest_ = others_ ? made.rest : all;  // rounded up to the whole device: concurrent work has no part of its own
      about_ =
          fmt::format("partition: {} multiprocessors ({} requested), {} for others", multiprocessors_, wanted.multiprocessors, made.rest);
      return;
    }
    if (kind_ == share_kind::partition)
      fail(errc::device, "device {}: {} multiprocessors cannot be reserved: {}; use grid:{} or mps", device, wanted.multiprocessors, why,
           wanted.multiprocessors);
    instead = "; no partition: " + why;
  }
  kind_ = share_kind::grid;
  multiprocessors_ = wanted.multiprocessors;
  about_ = fmt::format("grid: at most {} blocks of 1,024 threads{}", multiprocessors_, instead);
}

device_share::~device_share() {
  if (partition_) on_gpu::free_partition(partition_);
  if (others_) on_gpu::free_partition(others_);
}

void* device_share::make_stream(bool of_rest) const {
  void* const part = of_rest ? others_ : partition_;
  return part ? on_gpu::partition_stream(device_, part) : device::make_stream(device_);
}

shared_executor::shared_executor(execution_device where, sm_share const& share)
    : executor(where), multiprocessors_(executor::multiprocessors()) {
  if (!on_device()) return;
  share_ = std::make_shared<device_share const>(where.index, share);
  work_on_part(false);
  if (share_->kind() == share_kind::grid) limit_share(share_->multiprocessors(), 1024);
}
shared_executor::shared_executor(shared_executor const& shared, beside)
    : executor(shared.where()), share_(shared.share_), multiprocessors_(executor::multiprocessors()) {
  if (share_) work_on_part(true);
}
void shared_executor::work_on_part(bool of_rest) {
  unsigned const given = of_rest ? share_->rest() : share_->multiprocessors();
  multiprocessors_ = static_cast<int>(given);
  limit_share(given * 8);  // blocks, as of a whole device
  work_on(part_ = share_->make_stream(of_rest));
}
shared_executor::~shared_executor() {
  if (!part_) return;
  try {
    wait();
  } catch (...) {  // the device is lost
  }
  work_on(nullptr);
  device::free_stream(device(), part_);
}

}  // namespace garner::lab
