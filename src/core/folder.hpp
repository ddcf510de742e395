// What lies in a folder, by name; nothing where it cannot be read. (An iterator of std::filesystem ends the process where it has no memory
// for a name.)
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace garner {

std::vector<std::string> names_in(std::filesystem::path const& folder);

}  // namespace garner
