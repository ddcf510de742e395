// What the tests of Garner's own files share: a folder, bytes written and read as they are, a disk that is full.
#pragma once
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/progress.hpp"

namespace garner::testing {

struct in_a_folder : ::testing::Test {
  std::filesystem::path folder;
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "garner_files.XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override {
    clear_interrupt();
    std::filesystem::remove_all(folder);
  }
  std::filesystem::path at(char const* name) const { return folder / name; }
  std::filesystem::path put(std::string const& bytes, char const* name = "x") const {
    std::ofstream(at(name), std::ios::binary) << bytes;
    return at(name);
  }
  std::string bytes_of(char const* name = "x") const {
    std::ifstream in(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  auto files() const { return std::distance(std::filesystem::directory_iterator(folder), {}); }
};

// Files of this process end at so many bytes, as on a full disk.
class full_disk {
 public:
  explicit full_disk(::rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    ::rlimit small = before_;
    small.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~full_disk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  full_disk(full_disk const&) = delete;
  full_disk& operator=(full_disk const&) = delete;

 private:
  ::rlimit before_{};
  void (*handler_)(int);
};

}  // namespace garner::testing
