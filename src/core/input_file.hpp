// A regular file that is read from any place of it: arrays, archives, files of tensors.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace garner {

class input_file {
 public:
  explicit input_file(std::filesystem::path const& file);  // errc::io where it cannot be opened, errc::input unless it is a regular file
  ~input_file();
  input_file(input_file const&) = delete;
  input_file& operator=(input_file const&) = delete;

  std::string const& name() const { return name_; }
  std::uint64_t size() const { return size_; }
  int descriptor() const { return fd_; }
  // Any thread may. errc::input where the file was cut meanwhile.
  void read(void* to, std::uint64_t n, std::uint64_t at) const;

 private:
  std::string name_;
  std::uint64_t size_ = 0;
  int fd_;
};

}  // namespace garner
