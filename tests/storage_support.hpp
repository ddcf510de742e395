// Files whose bytes are a function of their position, in a folder of the test's own.
#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "folder.hpp"

namespace garner::testing {

inline std::byte byte_at(std::uint64_t place) { return static_cast<std::byte>(mix(place / 8 + 1) >> (place % 8 * 8)); }

inline bool holds(std::byte const* bytes, std::uint64_t place, std::uint64_t n) {
  for (std::uint64_t k = 0; k < n; ++k)
    if (bytes[k] != byte_at(place + k)) return false;
  return true;
}

struct in_folder : ::testing::Test, own_folder {
  std::string write(std::string const& name, std::vector<std::byte> const& bytes) const {
    std::ofstream out(folder / name, std::ios::binary);
    out.write(reinterpret_cast<char const*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return (folder / name).string();
  }
  // byte_at(begin), byte_at(begin + 1) ...
  std::string made(std::string const& name, std::uint64_t bytes, std::uint64_t begin = 0) const {
    std::vector<std::byte> all(bytes);
    for (std::uint64_t k = 0; k < bytes; ++k) all[k] = byte_at(begin + k);
    return write(name, all);
  }
  std::vector<std::string> striped(std::string const& name, unsigned drives, std::uint64_t unit, std::uint64_t bytes) const {
    std::vector<std::vector<std::byte>> parts(drives);
    for (std::uint64_t k = 0; k < bytes; ++k) parts[k / unit % drives].push_back(byte_at(k));
    std::vector<std::string> names;
    for (unsigned d = 0; d < drives; ++d) names.push_back(write(name + std::to_string(d), parts[d]));
    return names;
  }
};

}  // namespace garner::testing
