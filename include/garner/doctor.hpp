// Whether Garner works on this machine: what is there, what was tried, and what helps. The library prints nothing: `garner doctor` and
// garner.doctor() show the report.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "garner/place.hpp"

namespace garner {

struct doctor_check {
  std::string name;    // "driver", "GPU 0", "self-test of device 0"
  std::string found;   // what is there, with its numbers
  std::string advice;  // what helps; empty where nothing is amiss
};
struct doctor_report {
  bool usable = true;  // false: a GPU is there and cannot be used, or a self-test failed
  std::vector<doctor_check> checks;
};
// Takes a few seconds for each GPU whose link was not measured before; begins CUDA. A fault of one device is a line of the report, never an
// exception. `where`: the device whose self-test runs; unset: that of every GPU, or of the host where there is none.
doctor_report examine_machine(std::optional<place> where = {});
std::string to_text(doctor_report const& report);  // a line for each check, and one for each advice

// One sentence where there is a GPU that this build, or the driver, cannot use: why, and what helps; empty otherwise, and where
// CUDA_VISIBLE_DEVICES hides all GPUs. Begins no CUDA; where there is no GPU it costs one look into /dev.
std::string why_gpu_unusable();

}  // namespace garner
