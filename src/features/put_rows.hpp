// Rows that were put into a file, and whose writing was cut off.
#pragma once
#include <filesystem>

namespace garner {

// Finishes it, where a journal lies next to the file. `pages`: it is a feature file.
void finish_puts(std::filesystem::path const& file, bool pages);

}  // namespace garner
