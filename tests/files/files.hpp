// What the tests of Garner's own files share: a folder, bytes written and read as they are, a disk that is full.
#pragma once
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <string>
#include <vector>

#include "files/npy_head.hpp"
#include "folder.hpp"

namespace garner::testing {

struct in_a_folder : ::testing::Test, own_folder {
  std::filesystem::path put(std::string const& bytes, char const* name = "x") const { return file(name, bytes); }
  std::string bytes_of(char const* name = "x") const { return own_folder::bytes_of(at(name)); }
};

// A numpy array, as a file holds it.
template <class T>
std::string npy(char const* type, std::vector<T> const& values, std::uint64_t width = 0) {
  std::string bytes = npy_head(type, values.size() / std::max<std::uint64_t>(width, 1), width);
  bytes.append(reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T));
  return bytes;
}

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
