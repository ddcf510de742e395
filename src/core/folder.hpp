// Names of the entries of a folder; empty where it cannot be read. (An iterator of std::filesystem ends the process where memory for a name
// lacks.)
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace garner {

std::vector<std::string> names_in(std::filesystem::path const& folder);

}  // namespace garner
