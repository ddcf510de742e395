// Drives measured: random reads of several sizes, with more and more of them under way.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/thread_pool.hpp"
#include "garner/link.hpp"
#include "memory/budget.hpp"
#include "storage/measure.hpp"

namespace garner {

namespace {

// Bytes that no drive can shorten, in a file that goes with its descriptor.
class file_to_read {
 public:
  file_to_read(std::string const& folder, std::uint64_t most) {
    std::error_code problem;
    auto const space = std::filesystem::space(folder, problem);
    std::uint64_t const bytes = std::min<std::uint64_t>(most, problem ? 0 : space.available / 4) / part_bytes * part_bytes;
    if (!bytes) fail(errc::io, "{}: has no room for a file of {} to read; name a file that is there", folder, format_bytes(4 * part_bytes));
    fd_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd_ < 0) fail(errc::io, "{}: a file to read cannot be made: {}; name a file that is there", folder, std::strerror(errno));
    std::vector<std::uint64_t> words(part_bytes / 8);
    progress told("writing a file to read", bytes);
    try {
      for (std::uint64_t at = 0; at < bytes; at += part_bytes) {
        for (std::size_t k = 0; k < words.size(); ++k) words[k] = mix(at / 8 + k + 1);
        if (::pwrite(fd_, words.data(), part_bytes, static_cast<::off_t>(at)) != static_cast<::ssize_t>(part_bytes))
          fail(errc::io, "{}: a file to read cannot be written: {}; name a file that is there", folder, std::strerror(errno));
        told.advance(part_bytes);
      }
      ::fdatasync(fd_);
      ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);  // so that it is the drive which is read
    } catch (...) {
      ::close(fd_);
      throw;
    }
  }
  ~file_to_read() { ::close(fd_); }
  file_to_read(file_to_read const&) = delete;
  file_to_read& operator=(file_to_read const&) = delete;
  std::string path() const { return fmt::format("/proc/self/fd/{}", fd_); }

 private:
  static constexpr std::uint64_t part_bytes = 4u << 20;
  int fd_ = -1;
};

}  // namespace

drive_rates measure_drive(std::string const& path, bool quick) try {
  std::optional<file_to_read> made;
  if (std::filesystem::is_directory(path)) made.emplace(path, (quick ? 64u : 1024u) * (std::uint64_t{1} << 20));
  double const seconds = quick ? 0.05 : 0.5;
  drive_rates t;
  constexpr std::uint64_t page = 4096;
  constexpr unsigned deepest = 128;
  reader_options options;
  options.depth = deepest;
  options.gap_bytes = 0;
  options.most_bytes = 1u << 20;
  reader files({made ? made->path() : path}, options);
  t.bytes = files.size();
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t const bytes : {std::uint64_t{512}, page, 4 * page, 16 * page, 64 * page, 256 * page})
    if (bytes <= files.size()) sizes.push_back(bytes);
  if (sizes.empty()) fail(errc::input, "{}: {} bytes are too few to measure; name a larger file, or a folder", path, files.size());
  progress told("measuring reads", sizes.size() * 4 + 1);
  auto const measure = [&](std::uint64_t bytes, unsigned depth, unsigned threads) {
    read_rate const r = measure_reads(files, bytes, depth, threads, seconds, t.reads.size() + 1);
    t.reads.push_back(
        {bytes, depth, threads, r.requests_a_second(), r.bytes_a_second(), r.latency.quantile(0.5) / 1e3, r.latency.quantile(0.99) / 1e3});
    if (bytes == std::min(page, sizes.back())) {
      t.requests_per_second = std::max(t.requests_per_second, r.requests_a_second());
      if (depth == 1) t.latency_us = t.reads.back().median_us;
    }
    t.bytes_per_second = std::max(t.bytes_per_second, r.bytes_a_second());
    told.advance(1);
  };
  for (std::uint64_t const bytes : sizes)
    for (unsigned const depth : {1u, 8u, 32u, deepest}) measure(bytes, depth, 1);
  if (unsigned const all = std::min(shared_pool().threads(), 8u); all > 1) measure(std::min(page, sizes.back()), deepest, all);
  t.gap_bytes = gap_that_pays(t.requests_per_second, t.bytes_per_second);
  t.how = files.about();
  if (made) t.how.replace(0, files.drives()[0].name.size(), fmt::format("a file of {} made there", format_bytes(t.bytes)));
  return t;
} catch (...) {
  rethrow_as_error();
}

}  // namespace garner
