// A table that processes of a group have in common in host memory: one reads it, the others have its rows where they lie.
#pragma once
#include <filesystem>

#include "comm/peer_group.hpp"
#include "garner/features.hpp"

namespace garner {

// As read_rows; errc::usage where the others' file has other rows.
row_array read_rows_in_common(std::filesystem::path const& file, peer_group::terms terms);

}  // namespace garner
