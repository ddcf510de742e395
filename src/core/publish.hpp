// Files come whole or not at all: written beside under a temporary name, flushed, then renamed over the target.
// A target that is a link stays one, and a file that is replaced hands on its mode.
// Invariant: if publish() was not reached (an error, Ctrl-C, a full disk) the temporary file is removed and the old file stands as it was.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace garner {

class pending_file {
 public:
  explicit pending_file(std::filesystem::path target);  // errc::io names the folder and the reason
  ~pending_file();
  pending_file(pending_file const&) = delete;
  pending_file& operator=(pending_file const&) = delete;

  void write(void const* data, std::size_t bytes);  // appends
  void write(std::string_view text) { write(text.data(), text.size()); }
  void write_at(std::uint64_t offset, void const* data, std::size_t bytes);  // anywhere; thread-safe; does not move the append position
  int descriptor() const { return fd_; }
  void commit() { flush(), publish(); }
  // For files that belong together: flush all, then publish all.
  void flush();    // everything that can still fail or be interrupted; nothing is written afterwards
  void publish();  // the rename alone (and the folder's fsync, which may fail unheard)

 private:
  std::filesystem::path target_, place_, temporary_;  // place_: where target_ leads through links
  std::uint64_t end_ = 0;
  int fd_ = -1;
};

}  // namespace garner
