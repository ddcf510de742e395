// A word of a file as a message may hold it.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

namespace garner {

// In quotes, shortened, unprintable bytes as \xNN.
inline std::string shown(std::string_view word, std::size_t most = 40) {
  std::string text = "'";
  for (char const c : word.substr(0, most)) {
    if (c >= 0x20 && c < 0x7f) text += c;
    else text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text + (word.size() > most ? "...'" : "'");
}

}  // namespace garner
