// The parts of the doctor that tests reach.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "garner/doctor.hpp"

namespace garner {

// Changes what a self-test got, before it is compared (tests).
using planted_fault = std::function<void(execution_device where, std::span<float> rows, std::span<std::uint32_t> depths)>;

// Gathers rows and runs BFS there, over data in the memory of the device and of the host, and compares with a plain loop of the host.
// errc::device names the difference; other errors are those of gathers and BFS.
void try_place(execution_device where, planted_fault const& fault = {});

doctor_report examine_machine(std::optional<execution_device> where, planted_fault const& fault);

}  // namespace garner
