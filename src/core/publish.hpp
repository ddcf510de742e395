// Files are written atomically: without a name, flushed, then linked (or renamed) to the target. A target that is a link stays one, and a
// replaced file keeps its mode.
// Invariant: if publish() was not reached (an error, Ctrl-C, a full disk, a kill) the old file is unchanged and no new file remains. Where
// the system lacks unnamed files, and while an old file is replaced, there is a hidden temporary with a lock on it. A killed process may
// leave one without its lock; it is removed when the next is made in its folder.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace garner {

class pending_file {
 public:
  enum class naming : std::uint8_t { where_it_can_be_avoided, always };  // tests stand in for a system without unnamed files
  // errc::io names the folder and the reason.
  explicit pending_file(std::filesystem::path target, naming named = naming::where_it_can_be_avoided);
  ~pending_file();
  pending_file(pending_file const&) = delete;
  pending_file& operator=(pending_file const&) = delete;

  void write(void const* data, std::size_t bytes);  // appends
  void write(std::string_view text) { write(text.data(), text.size()); }
  void write_at(std::uint64_t offset, void const* data, std::size_t bytes);  // anywhere; thread-safe; does not move the append position
  void read_at(std::uint64_t offset, void* to, std::size_t bytes) const;     // what was written there; thread-safe
  void commit() { flush(), publish(); }
  // For files that belong together: flush all, then publish all.
  void flush();    // everything that can still fail or be interrupted; nothing is written afterwards
  void publish();  // the new name alone (and the folder's fsync, which may fail unheard)

 private:
  void open_named();
  std::filesystem::path target_, place_;  // place_: where target_ leads through links
  std::string temporary_;                 // empty where unnamed
  std::uint64_t end_ = 0;
  int fd_ = -1;
};

}  // namespace garner
