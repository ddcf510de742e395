#include "core/scratch_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <future>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"

namespace garner {

void scratch_folder::check(std::uint64_t bytes) const {
  std::error_code problem;
  std::filesystem::space_info const disk = std::filesystem::space(path_, problem);
  std::uint64_t const used = used_.load(std::memory_order_relaxed);
  if (problem || used + disk.available >= bytes) return;
  fail(errc::io, "{}: the work needs about {} bytes of disk there and {} are free; free some space or name another folder with --scratch",
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
    std::string name = (in.path() / ".garner-XXXXXX").string();
    fd_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd_ >= 0) ::unlink(name.c_str());
  }
  if (fd_ < 0)
    fail(errc::io, "{}: a scratch file cannot be made there: {}; {}", in.path().string(), std::strerror(errno),
         errno == EMFILE || errno == ENFILE ? "raise `ulimit -n`" : "name a folder of yours with --scratch");
}

scratch_file::~scratch_file() {
  ::close(fd_);
  in_.shrink(bytes() - dropped_);
}

void scratch_file::direct(bool on) const noexcept {
  if (int const flags = ::fcntl(fd_, F_GETFL); flags >= 0) ::fcntl(fd_, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT);
}
bool scratch_file::again(bool& tried) const noexcept {
  if (errno == EINTR) return true;
  if (errno != EINVAL || std::exchange(tried, true)) return false;
  direct(false);  // behind part of a page, or where the file system takes other pages; another thread may have done so
  return true;
}

void scratch_file::append(void const* data, std::uint64_t bytes) { write_at(end_.load(std::memory_order_relaxed), data, bytes); }

void scratch_file::write_at(std::uint64_t at, void const* data, std::uint64_t bytes) {
  std::uint64_t end = end_.load(std::memory_order_relaxed);
  while (end < at + bytes && !end_.compare_exchange_weak(end, at + bytes, std::memory_order_relaxed)) {
  }
  if (end < at + bytes) in_.grow(at + bytes - end);
  auto const* p = static_cast<char const*>(data);
  bool tried = false;
  while (bytes) {
    check_interrupted();
    ::ssize_t const n = ::pwrite(fd_, p, std::min<std::uint64_t>(bytes, 64u << 20), static_cast<::off_t>(at));
    if (n < 0) {
      if (again(tried)) continue;
      int const why = errno;
      std::uint64_t const used = in_.used_.load(std::memory_order_relaxed);
      fail(errc::io, "{}: a scratch file cannot be written: {}; the work needs about {} bytes of disk there, and failed at {}; {}",
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
  bool tried = false;
  while (bytes) {
    check_interrupted();
    ::ssize_t const n = ::pread(fd_, p, std::min<std::uint64_t>(bytes, 64u << 20), static_cast<::off_t>(at));
    if (n < 0 && again(tried)) continue;
    if (n <= 0)
      fail(errc::io, "{}: a scratch file cannot be read at byte {}: {}; check the disk it lies on", in_.path().string(), at,
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

scratch_rates measure_scratch(scratch_folder& in, std::uint64_t bytes) {
  constexpr std::uint64_t page = scratch_file::page, threads = 4, piece = 4u << 20;
  scratch_file file(in);
  file.go_past_page_cache();
  std::vector<char> room(threads * piece + page, 1);
  char* const pages = room.data() + (page - reinterpret_cast<std::uintptr_t>(room.data()) % page);
  auto const rate = [&](auto const& one) {
    auto const begun = steady::now();
    std::vector<std::future<void>> all;
    for (std::uint64_t k = 0; k < threads; ++k)
      all.push_back(std::async(std::launch::async, [&, k] {
        for (std::uint64_t at = k * piece; at < bytes; at += threads * piece) one(pages + k * piece, at);
      }));
    for (auto& a : all) a.get();
    return static_cast<double>(bytes) / std::max(ms_since(begun), 1e-3) * 1e3;
  };
  scratch_rates found;
  found.written = rate([&](char* from, std::uint64_t at) { file.write_at(at, from, piece); });
  found.read = rate([&](char* to, std::uint64_t at) { file.read(to, piece, at); });
  return found;
}

}  // namespace garner
