// How a file of numpy.save begins.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace garner {

// The head of a numpy array of one dimension, or of rows of `width`, format 1.0: magic, version, the length of what follows, a Python
// dictionary, blanks up to a multiple of 64 bytes, `bytes` or more.
inline std::string npy_head(std::string_view type, std::uint64_t n, std::uint64_t width = 0, std::size_t bytes = 0) {
  std::string words =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},{}), }}", type, n, width ? fmt::format(" {}", width) : "");
  constexpr std::size_t before = 10;
  words.append(63 - (before + words.size()) % 64, ' ');
  if (before + words.size() + 1 < bytes) words.append(bytes - (before + words.size() + 1), ' ');
  words += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(words.size() & 0xff);
  head += static_cast<char>(words.size() >> 8);
  return head + words;
}

}  // namespace garner
