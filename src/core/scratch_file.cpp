#include "core/scratch_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/fail.hpp"
#include "core/progress.hpp"

namespace garner {

void scratch_folder::expect(std::uint64_t bytes) {
  expected_ = bytes;
  std::error_code problem;
  std::filesystem::space_info const disk = std::filesystem::space(path_, problem);
  std::uint64_t const used = used_.load(std::memory_order_relaxed);
  if (problem || used + disk.available >= bytes) return;
  fail(errc::io, "{}: sorting needs about {} bytes of disk there and {} are free; free some space or name another folder with --scratch",
       path_.string(), bytes, used + disk.available);
}

void scratch_folder::grow(std::uint64_t bytes) {
  std::uint64_t const now = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::uint64_t peak = peak_.load(std::memory_order_relaxed);
  while (peak < now && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

scratch_file::scratch_file(scratch_folder& in) : in_(in) {
  fd_ = ::open(in.path().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT)) {  // of an older system or file system
    std::string name = (in.path() / ".garner-sort-XXXXXX").string();
    fd_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd_ >= 0) ::unlink(name.c_str());
  }
  if (fd_ < 0)
    fail(errc::io, "{}: a file to sort in cannot be made there: {}; {}", in.path().string(), std::strerror(errno),
         errno == EMFILE || errno == ENFILE ? "raise `ulimit -n`" : "name a folder of yours with --scratch");
}

scratch_file::~scratch_file() {
  ::close(fd_);
  in_.shrink(bytes() - dropped_);
}

void scratch_file::append(void const* data, std::uint64_t bytes) { write_at(end_.load(std::memory_order_relaxed), data, bytes); }

void scratch_file::write_at(std::uint64_t at, void const* data, std::uint64_t bytes) {
  std::uint64_t end = end_.load(std::memory_order_relaxed);
  while (end < at + bytes && !end_.compare_exchange_weak(end, at + bytes, std::memory_order_relaxed)) {
  }
  if (end < at + bytes) in_.grow(at + bytes - end);
  auto const* p = static_cast<char const*>(data);
  while (bytes) {
    check_interrupted();
    ::ssize_t const n = ::pwrite(fd_, p, std::min<std::uint64_t>(bytes, 64u << 20), static_cast<::off_t>(at));
    if (n < 0) {
      if (errno == EINTR) continue;
      int const why = errno;
      std::uint64_t const used = in_.used_.load(std::memory_order_relaxed);
      fail(errc::io, "{}: a file to sort in cannot be written: {}; sorting needs about {} bytes of disk there, and failed at {}; {}",
           in_.path().string(), std::strerror(why), std::max(in_.expected(), used), used,
           why == EFBIG ? "raise `ulimit -f` or name another folder with --scratch"
                        : "free some space or name another folder with --scratch");
    }
    p += n;
    at += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::uint64_t>(n);
  }
}

void scratch_file::read(void* to, std::uint64_t bytes, std::uint64_t at) const {
  auto* p = static_cast<char*>(to);
  while (bytes) {
    check_interrupted();
    ::ssize_t const n = ::pread(fd_, p, std::min<std::uint64_t>(bytes, 64u << 20), static_cast<::off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      fail(errc::io, "{}: a file to sort in cannot be read at byte {}: {}; check the disk it lies on", in_.path().string(), at,
           n ? std::strerror(errno) : "it ends there");
    p += n;
    at += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::uint64_t>(n);
  }
}

void scratch_file::drop(std::uint64_t at, std::uint64_t bytes) {
  if (bytes == 0 ||
      ::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<::off_t>(at), static_cast<::off_t>(bytes)) != 0)
    return;  // not every file system can; then the disk comes back with the file
  dropped_ += bytes;
  in_.shrink(bytes);
}

}  // namespace garner
