#include "comm/segment_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/fail.hpp"

namespace garner::segment_file {

namespace {
struct ::flock span_of(short type, ::off_t at, ::off_t n) {
  struct ::flock l {};
  l.l_type = type;
  l.l_whence = SEEK_SET;
  l.l_start = at;
  l.l_len = n;
  return l;
}
}  // namespace

descriptor::~descriptor() {
  if (fd >= 0) ::close(fd);
}

bool lock(int fd, short type, ::off_t at) {
  struct ::flock l = span_of(type, at, 1);
  return ::fcntl(fd, F_OFD_SETLK, &l) == 0;
}
bool held_by_others(int fd, ::off_t at) {
  struct ::flock l = span_of(F_WRLCK, at, 1);
  return ::fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}
bool has_name(int fd) {
  struct ::stat s {};
  return ::fstat(fd, &s) == 0 && s.st_nlink > 0;
}

descriptor open(std::filesystem::path const& file) {
  descriptor d(::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (d.fd < 0) {
    if (errno == ENOENT) return {};
    fail(errc::io, "{}: cannot be opened: {}; take another name, or remove it", file.string(), std::strerror(errno));
  }
  struct ::stat s {};
  if (::fstat(d.fd, &s) != 0 || !S_ISREG(s.st_mode) || s.st_uid != ::geteuid() || (s.st_mode & 077))
    fail(errc::io, "{}: is not a segment private to this user (mode {:o}, user {}); take another name, or remove it", file.string(),
         s.st_mode & 07777, s.st_uid);
  return d;
}

}  // namespace garner::segment_file
