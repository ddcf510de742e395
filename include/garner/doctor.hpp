// Checks whether Garner works on this machine: what was found, what was tested, and what to do. The library prints nothing: `garner doctor`
// and garner.doctor() show the report.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "garner/device.hpp"

namespace garner {

struct doctor_check {
  std::string name;    // "driver", "GPU 0", "self-test of device 0"
  std::string found;   // the finding, with its numbers
  std::string advice;  // what to do; empty if all is well
};
struct doctor_report {
  bool usable = true;  // false: a GPU exists and cannot be used, or a self-test failed
  std::vector<doctor_check> checks;
};
// Takes a few seconds for each GPU whose link was not measured before, and initializes CUDA. A faulty device becomes a line of the report,
// not an exception. `where`: the device whose self-test runs; unset: every GPU, or the CPU on a machine without GPUs.
doctor_report examine_machine(std::optional<execution_device> where = {});
std::string to_text(doctor_report const& report);  // one line per check, and one per advice

// One sentence if this build or the driver cannot use a GPU of this machine: the reason, and what to do. Else empty, also if
// CUDA_VISIBLE_DEVICES hides all GPUs. Does not initialize CUDA; on a machine without GPUs it costs one look into /dev.
std::string why_gpu_unusable();

}  // namespace garner
