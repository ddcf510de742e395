#include "core/publish.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/fail.hpp"
#include "core/progress.hpp"

namespace garner {

namespace {
std::filesystem::path folder_of(std::filesystem::path const& file) { return file.has_parent_path() ? file.parent_path() : "."; }
}  // namespace

pending_file::pending_file(std::filesystem::path target) : target_(std::move(target)) {
  std::error_code none;
  std::filesystem::file_status const there = std::filesystem::status(target_, none);
  if (std::filesystem::is_directory(there)) fail(errc::io, "{}: is a folder; name a file in it", target_.string());
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
    fail(errc::io, "{}: is no regular file, and a result is written whole or not at all; name a file", target_.string());
  // By hand, since what std::filesystem offers does not follow a link that leads to no file yet.
  place_ = target_;
  for (int links = 0;; ++links) {
    // There /dev/stdout may lead to a regular file, and yet must not be replaced by one.
    std::string const folder = std::filesystem::weakly_canonical(std::filesystem::absolute(place_).parent_path(), none).string() + "/";
    if (folder == "/dev/" || folder.starts_with("/proc/"))
      fail(errc::io, "{}: is no place for a result, which is written whole or not at all; name a file in a folder of yours",
           target_.string());
    if (!std::filesystem::is_symlink(std::filesystem::symlink_status(place_, none))) break;
    if (links == 40) fail(errc::io, "{}: cannot be written: {}; mend the link", target_.string(), std::strerror(ELOOP));
    place_ = place_.parent_path() / std::filesystem::read_symlink(place_, none);
  }
  std::string name = (folder_of(place_) / ("." + place_.filename().string() + ".XXXXXX")).string();
  fd_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd_ < 0)
    fail(errc::io, "{}: cannot be written: {}; check that the folder exists and is yours", target_.string(), std::strerror(errno));
  try {
    temporary_ = name;
  } catch (...) {  // no memory: then no destructor runs either
    ::close(fd_);
    ::unlink(name.c_str());
    throw;
  }
  ::mode_t const mask = ::umask(0);
  ::umask(mask);
  struct ::stat facts {};
  ::fchmod(fd_, ::stat(place_.c_str(), &facts) == 0 ? facts.st_mode & 0777 : 0666 & ~mask);
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
  if (::close(std::exchange(fd_, -1)) != 0) fail(errc::io, "{}: closing failed: {}", target_.string(), std::strerror(errno));
}

void pending_file::publish() {
  if (::rename(temporary_.c_str(), place_.c_str()) != 0)
    fail(errc::io, "{}: cannot be replaced: {}", target_.string(), std::strerror(errno));
  temporary_.clear();
  if (int const folder = ::open(folder_of(place_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    ::fsync(folder);  // so that the new name outlives a power cut; not every file system can
    ::close(folder);
  }
}

}  // namespace garner
