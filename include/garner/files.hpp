// Files that appear whole or not at all: after an error, a full disk or a kill the old file is unchanged.
#pragma once
#include <filesystem>
#include <string_view>

namespace garner {

void write_file(std::filesystem::path const& file, std::string_view text, std::string_view more = {});

}  // namespace garner
