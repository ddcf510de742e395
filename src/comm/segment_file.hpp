// Files of /dev/shm that processes of a user meet in: opened, locked, seen to be still there.
// Locks are of single bytes and belong to the open file (F_OFD_*), so that two holders in one process count as two; the system takes them
// back from killed processes. No call waits.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <utility>

namespace garner::segment_file {

inline constexpr char const* folder = "/dev/shm";

struct descriptor {
  int fd = -1;
  descriptor() = default;
  explicit descriptor(int f) : fd(f) {}
  descriptor(descriptor&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }
  ~descriptor();
};

inline constexpr ::off_t holders = 0;  // the byte that all lock that have the file in use

bool lock(int fd, short type, ::off_t at);  // F_RDLCK, F_WRLCK, F_UNLCK
bool held_by_others(int fd, ::off_t at);
bool has_name(int fd);
// The file of that name, opened and known to be this user's alone (errc::io); none where there is none.
descriptor open(std::filesystem::path const& file);

}  // namespace garner::segment_file
