// A folder of a test's own, removed with all that is in it.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "core/progress.hpp"

namespace garner::testing {

struct own_folder {
  std::filesystem::path folder;

  explicit own_folder(std::filesystem::path const& in = std::filesystem::temp_directory_path()) {
    std::string name = (in / "garner_test.XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no folder " + name);
    folder = name;
  }
  ~own_folder() {
    clear_interrupt();
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  own_folder(own_folder const&) = delete;
  own_folder& operator=(own_folder const&) = delete;

  std::filesystem::path at(std::string const& name) const { return folder / name; }
  std::filesystem::path file(std::string const& name, std::string const& bytes) const {
    std::ofstream(at(name), std::ios::binary) << bytes;
    return at(name);
  }
  static std::string bytes_of(std::filesystem::path const& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  auto files() const { return std::distance(std::filesystem::directory_iterator(folder), {}); }
};

}  // namespace garner::testing
