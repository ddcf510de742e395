#include "core/publish.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/fail.hpp"
#include "core/folder.hpp"
#include "core/progress.hpp"
#include "garner/files.hpp"

namespace garner {

namespace {
constexpr std::string_view temporary_begins = ".garner-";
constexpr std::size_t temporary_length = temporary_begins.size() + 6;

std::filesystem::path folder_of(std::filesystem::path const& file) { return file.has_parent_path() ? file.parent_path() : "."; }
std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

// A temporary is locked as long as its process lives; the next to make one removes those without a lock.
void remove_stale(std::filesystem::path const& folder) {
  for (std::string const& name : names_in(folder)) {
    if (!name.starts_with(temporary_begins) || name.size() != temporary_length) continue;
    std::string const path = (folder / name).string();
    int const fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) continue;
    struct ::stat open {
    }, named{};
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0 && ::fstat(fd, &open) == 0 && ::lstat(path.c_str(), &named) == 0 &&
        open.st_ino == named.st_ino && open.st_dev == named.st_dev && S_ISREG(open.st_mode) && open.st_uid == ::geteuid())
      ::unlink(path.c_str());
    ::close(fd);
  }
}

// A unique name, created by make(name), which returns whether it could, with errno.
template <class Make>
std::string take_name(std::filesystem::path const& folder, Make const& make) {
  static constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  for (int tries = 0; tries < 1000; ++tries) {
    std::string name(temporary_begins);
    unsigned char draw[6];
    if (::getentropy(draw, sizeof draw) != 0) return "";
    for (unsigned char const d : draw) name += letters[d % letters.size()];
    std::string const path = (folder / name).string();
    if (make(path.c_str())) return path;
    if (errno != EEXIST) return "";
  }
  return "";
}
// Read without setting it for a moment, which would change files that other threads create. Where the system does not provide it, a file is
// the user's own.
::mode_t umask_now() {
  char text[1024];
  int const fd = ::open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
  ::ssize_t const n = fd < 0 ? 0 : ::read(fd, text, sizeof text);
  if (fd >= 0) ::close(fd);
  std::string_view const lines(text, n > 0 ? static_cast<std::size_t>(n) : 0);
  std::size_t const at = lines.find("\nUmask:\t");
  ::mode_t mask = 0077;
  if (at != lines.npos) std::from_chars(lines.data() + at + 8, lines.data() + lines.size(), mask, 8);
  return mask;
}
}  // namespace

pending_file::pending_file(std::filesystem::path target, naming named) : target_(std::move(target)) {
  std::error_code none;
  std::filesystem::file_status const there = std::filesystem::status(target_, none);
  if (std::filesystem::is_directory(there)) fail(errc::io, "{}: is a folder; name a file in it", target_.string());
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
    fail(errc::io, "{}: is not a regular file; a result is written whole or not at all; name a file", target_.string());
  // By hand, since what std::filesystem offers does not follow a link that leads to no file yet.
  place_ = target_;
  for (int links = 0;; ++links) {
    // There /dev/stdout may lead to a regular file, and yet must not be replaced by one.
    std::string const folder = std::filesystem::weakly_canonical(std::filesystem::absolute(place_).parent_path(), none).string() + "/";
    if (folder == "/dev/" || folder.starts_with("/proc/"))
      fail(errc::io, "{}: cannot hold a result, which is written whole or not at all; name a file in a folder of yours", target_.string());
    if (!std::filesystem::is_symlink(std::filesystem::symlink_status(place_, none))) break;
    if (links == 40) fail(errc::io, "{}: cannot be written: {}; mend the link", target_.string(), std::strerror(ELOOP));
    place_ = place_.parent_path() / std::filesystem::read_symlink(place_, none);
  }
  // A name that is too long must fail now, not at the link.
  struct ::stat facts {};
  bool const there_already = ::stat(place_.c_str(), &facts) == 0;
  if (!there_already && errno != ENOENT)
    fail(errc::io, "{}: cannot be written: {}; check that the folder exists and is yours", target_.string(), std::strerror(errno));
  if (named == naming::where_it_can_be_avoided) {
    fd_ = ::open(folder_of(place_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd_ >= 0 && (::access(path_of(fd_).c_str(), F_OK) != 0 || ::flock(fd_, LOCK_EX | LOCK_NB) != 0)) ::close(std::exchange(fd_, -1));
  }
  if (fd_ < 0) open_named();
  ::fchmod(fd_, there_already ? facts.st_mode & 0777 : 0666 & ~umask_now());
}

void pending_file::open_named() {
  remove_stale(folder_of(place_));
  for (int tries = 0; tries < 100; ++tries) {
    int made = -1;
    std::string name = take_name(folder_of(place_), [&](char const* path) {
      made = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      return made >= 0;
    });
    if (made < 0) break;
    // Another process may have taken it for stale before it was locked: then it has no name any more.
    struct ::stat facts {};
    if (::flock(made, LOCK_EX) == 0 && ::fstat(made, &facts) == 0 && facts.st_nlink == 0) {
      ::close(made);
      continue;
    }
    fd_ = made;
    temporary_ = std::move(name);
    return;
  }
  fail(errc::io, "{}: cannot be written: {}; check that the folder exists and is yours", target_.string(), std::strerror(errno));
}

pending_file::~pending_file() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void pending_file::write(void const* data, std::size_t bytes) {
  write_at(end_, data, bytes);
  end_ += bytes;
}

void pending_file::write_at(std::uint64_t offset, void const* data, std::size_t bytes) {
  auto const* p = static_cast<char const*>(data);
  while (bytes) {
    check_interrupted();
    ::ssize_t const n = ::pwrite(fd_, p, std::min<std::size_t>(bytes, 64u << 20), static_cast<::off_t>(offset));
    if (n < 0) {
      if (errno == EINTR) continue;
      fail(errc::io, "{}: writing failed at byte {}: {}{}", target_.string(), offset, std::strerror(errno),
           errno == ENOSPC  ? "; free some space or name another folder"
           : errno == EFBIG ? "; raise `ulimit -f` or name another folder"
                            : "");
    }
    p += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
}

void pending_file::read_at(std::uint64_t offset, void* to, std::size_t bytes) const {
  auto* p = static_cast<char*>(to);
  while (bytes) {
    check_interrupted();
    ::ssize_t const n = ::pread(fd_, p, std::min<std::size_t>(bytes, 64u << 20), static_cast<::off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      fail(errc::io, "{}: what was written cannot be read again at byte {}: {}; check the disk it lies on", target_.string(), offset,
           n ? std::strerror(errno) : "it ends there");
    p += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
}

void pending_file::flush() {
  auto const check = [&](int result) {
    if (result != 0 && errno != EINVAL && errno != ESPIPE && errno != ENOSYS)
      fail(errc::io, "{}: flushing failed: {}", target_.string(), std::strerror(errno));
    check_interrupted();
  };
  check(0);
  // In chunks first, since nothing stops an fsync, which may take minutes.
  ::off_t const size = ::lseek(fd_, 0, SEEK_END), chunk = 256 << 20;
  for (::off_t at = 0; at < size; at += chunk)
    check(::sync_file_range(fd_, at, chunk, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
  check(::fsync(fd_));
}

void pending_file::publish() {
  auto const refuse = [&] { fail(errc::io, "{}: cannot be replaced: {}", target_.string(), std::strerror(errno)); };
  if (temporary_.empty()) {
    std::string const self = path_of(fd_);
    auto const link = [&](char const* to) { return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, to, AT_SYMLINK_FOLLOW) == 0; };
    if (!link(place_.c_str())) {
      if (errno != EEXIST) refuse();
      remove_stale(folder_of(place_));  // a link replaces nothing; a rename does
      temporary_ = take_name(folder_of(place_), link);
      if (temporary_.empty()) refuse();
    }
  }
  if (!temporary_.empty() && ::rename(temporary_.c_str(), place_.c_str()) != 0) refuse();
  temporary_.clear();
  ::close(std::exchange(fd_, -1));  // with its lock; the data were flushed
  if (int const folder = ::open(folder_of(place_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    ::fsync(folder);  // so that the new name outlives a power cut; not every file system can
    ::close(folder);
  }
}

void write_file(std::filesystem::path const& file, std::string_view text, std::string_view more) {
  as_error([&] {
    pending_file out(file);
    out.write(text);
    out.write(more);
    out.commit();
  });
}

}  // namespace garner
