// Files of /dev/shm by which processes of a user rendezvous: opened, locked, checked for existence. Locks are of single bytes and belong to
// the open file (F_OFD_*), so that two holders in one process count as two; the system releases those of killed processes. Calls do not
// wait.
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
// The file of that name, opened and checked to be private to this user (errc::io); empty where it does not exist.
descriptor open(std::filesystem::path const& file);

}  // namespace garner::segment_file
