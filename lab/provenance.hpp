// Where, when and from what code figures come: device, driver, date, commit and command, as every JSON under docs/benchmarks has them.
// tools/provenance.py is the same for the tools.
#pragma once
#include <filesystem>
#include <string>

namespace garner::lab {

// COMMIT, or what the file `commit` of the bundle says that holds `program`, or git of the folder that does; else empty.
std::string commit_of(std::filesystem::path const& program);
// The JSON of a run, which names its device, time and command, with the five first. Without a device the driver is null.
std::string with_provenance(std::string const& run, std::string const& commit);

}  // namespace garner::lab
