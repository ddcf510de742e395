// A reader under fuzzing works, or ends with one error line about the input.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>

#include "garner/error.hpp"

namespace garner {

template <class F>
bool works(F const& f) {
  try {
    f();
    return true;
  } catch (error const& e) {
    std::string const said = e.what();
    if (e.code() != errc::input || said.empty() || said.find('\n') != std::string::npos) std::abort();
    return false;
  }
}

// An input of several files: two bytes give the length of the first, two that of the second, the top bit whether there is a third.
struct files_of_input {
  std::span<char const> first, second;
  std::optional<std::span<char const>> third;
  files_of_input(std::uint8_t const* data, std::size_t size) {  // 4 bytes or more
    std::span<char const> const all(reinterpret_cast<char const*>(data) + 4, size - 4);
    std::size_t const a = std::min<std::size_t>((data[0] | data[1] << 8) & 0x7fff, all.size());
    std::size_t const b = std::min<std::size_t>((data[2] | data[3] << 8) & 0x7fff, all.size() - a);
    first = all.first(a), second = all.subspan(a, b);
    if (data[1] & 0x80) third = all.subspan(a + b);
  }
};

}  // namespace garner
