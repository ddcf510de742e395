#include "made_rows.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "common.hpp"
#include "core/random.hpp"
#include "core/thread_pool.hpp"
#include "files/npy_head.hpp"
#include "garner/memory.hpp"
#include "garner/progress.hpp"

namespace garner::cli {

namespace {

// `word`: the i-th 8 bytes.
template <class Word>
memory_block made(std::uint64_t rows, std::uint64_t row_bytes, int device, Word word) {
  std::uint64_t bytes = 0;
  std::uint64_t const room = host_memory_now().free();
  if (__builtin_mul_overflow(rows, row_bytes, &bytes) || bytes > room / 2)
    fail(errc::memory, "a table of {} rows of {} bytes takes more than half of the {} of host memory that are free; use shorter rows", rows,
         row_bytes, format_bytes(room));
  memory_block table(tier::host, (bytes + 7) / 8 * 8, device, "a table made in memory");
  auto* const words = static_cast<std::uint64_t*>(table.data());
  progress told("filling the table", table.bytes());
  shared_pool().run(table.bytes() / 8, 1u << 20, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) words[i] = word(i);
    told.advance((end - begin) * 8);
  });
  return table;
}

// In [-1, 1).
std::uint32_t small_float(std::uint64_t bits) { return std::bit_cast<std::uint32_t>(2 * unit_float(bits) - 1); }

}  // namespace

memory_block make_rows(std::uint64_t rows, std::uint64_t row_bytes, int device) { return made(rows, row_bytes, device, mix); }

memory_block make_floats(std::uint64_t rows, std::uint64_t width, int device) {
  return made(rows, width * sizeof(float), device, [](std::uint64_t i) {
    std::uint64_t const bits = mix(i + 1);
    return static_cast<std::uint64_t>(small_float(bits)) << 32 | small_float(bits << 32);
  });
}

std::optional<std::uint64_t> wrong_byte(std::uint64_t id, void const* row, std::uint64_t row_bytes) {
  auto const* const got = static_cast<unsigned char const*>(row);
  std::uint64_t const first = id * row_bytes;
  for (std::uint64_t b = 0; b < row_bytes;) {
    std::uint64_t const at = first + b, word = mix(at / 8);
    if (at % 8 == 0 && row_bytes - b >= 8) {
      if (std::memcmp(got + b, &word, 8) == 0) {
        b += 8;
        continue;
      }
    }
    if (got[b] != static_cast<unsigned char>(word >> at % 8 * 8)) return b;
    ++b;
  }
  return std::nullopt;
}

made_file::made_file(std::string const& folder, std::uint64_t rows, std::uint64_t row_bytes) : folder_(folder) {
  fd_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ < 0) fail(errc::io, "{}: a table cannot be made there: {}; name a folder with room", folder, std::strerror(errno));
  try {
    std::string const head = npy_head("|u1", rows, row_bytes, 4096);
    put(head.data(), head.size(), 0);
    std::vector<std::uint64_t> words((4u << 20) / 8);
    std::uint64_t const bytes = rows * row_bytes;
    progress told("writing a table", bytes);
    for (std::uint64_t at = 0; at < bytes; at += words.size() * 8) {
      for (std::size_t k = 0; k < words.size(); ++k) words[k] = mix(at / 8 + k);
      put(words.data(), std::min<std::uint64_t>(words.size() * 8, bytes - at), head.size() + at);
      told.advance(std::min<std::uint64_t>(words.size() * 8, bytes - at));
    }
    forget();
  } catch (...) {
    ::close(fd_);
    throw;
  }
}
made_file::~made_file() { ::close(fd_); }
std::string made_file::path() const { return fmt::format("/proc/self/fd/{}", fd_); }
void made_file::forget() const {
  ::fdatasync(fd_);
  ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
}
void made_file::put(void const* data, std::uint64_t n, std::uint64_t at) const {
  if (::pwrite(fd_, data, n, static_cast<::off_t>(at)) != static_cast<::ssize_t>(n))
    fail(errc::io, "{}: a table cannot be written: {}; name a folder with room", folder_, std::strerror(errno ? errno : ENOSPC));
}

}  // namespace garner::cli
