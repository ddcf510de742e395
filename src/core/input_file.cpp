#include "core/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/fail.hpp"
#include "core/progress.hpp"

namespace garner {

// Not waited for where it is a pipe: O_NONBLOCK.
input_file::input_file(std::filesystem::path const& file)
    : name_(file.string()), fd_(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (fd_ < 0) fail(errc::io, "{}: cannot be opened: {}", name_, std::strerror(errno));
  struct ::stat about {};
  int const problem = ::fstat(fd_, &about) == 0 ? 0 : errno;
  if (!problem && S_ISREG(about.st_mode)) {
    size_ = static_cast<std::uint64_t>(about.st_size);
    return;
  }
  ::close(fd_);
  if (problem) fail(errc::io, "{}: {}", name_, std::strerror(problem));
  fail(errc::input, "{}: is not a regular file; name one", name_);
}
input_file::~input_file() { ::close(fd_); }

void input_file::read(void* to, std::uint64_t n, std::uint64_t at) const {
  for (std::uint64_t done = 0; done < n;) {
    std::uint64_t const part = std::min<std::uint64_t>(n - done, 64u << 20);  // between two of these it may be interrupted
    ::ssize_t const got = ::pread(fd_, static_cast<char*>(to) + done, part, static_cast<::off_t>(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errc::io, "{}: cannot be read at byte {}: {}", name_, at + done, std::strerror(errno));
    if (got == 0) fail(errc::input, "{}: ends at byte {} while it is read; was it cut just now?", name_, at + done);
    done += static_cast<std::uint64_t>(got);
    if (done < n) check_interrupted();
  }
}

}  // namespace garner
