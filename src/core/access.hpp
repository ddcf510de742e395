// How a team reads a span (chapter 2.3.3 of EMOGI).
#pragma once
#include <cstdint>
#include <string_view>

namespace garner {

// One thread per span; one warp per span; one warp per span, starting at a 128-byte line; the copy engine; UVM pages; or not at all: the
// host compacts the active lists and copies them (Subway, EuroSys 2020).
enum class access_mode : std::uint8_t { strided, merged, aligned, bulk, paged, copied };

std::string_view to_string(access_mode);  // "strided", "merged", "aligned", "bulk", "paged", "copied"
access_mode parse_access(std::string_view text);

}  // namespace garner
