// Files for data that does not fit in memory. They never have a name, or lose it before anything is written, so none is left however the
// process ends. Invariant: a read returns what was written; a full disk, a limit or a lack of file handles is one error, with the bytes
// written and needed. Cost: one system call per read or write.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace garner {

// A folder for such files, and how much of its disk they take together.
class scratch_folder {
 public:
  explicit scratch_folder(std::filesystem::path folder) : path_(folder.empty() ? "." : std::move(folder)) {}
  std::filesystem::path const& path() const { return path_; }
  // Announces the bytes that will be needed, as far as is known now; errc::io where the disk lacks the space.
  void expect(std::uint64_t bytes) { expected_ = bytes, check(bytes); }
  void expect_more(std::uint64_t bytes) { check(expected_.fetch_add(bytes) + bytes); }  // any thread may
  std::uint64_t expected() const { return expected_.load(std::memory_order_relaxed); }
  std::uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }  // the most that lay there at once

 private:
  friend class scratch_file;
  void check(std::uint64_t bytes) const;
  void grow(std::uint64_t bytes);
  void shrink(std::uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::filesystem::path path_;
  std::atomic<std::uint64_t> expected_{0}, used_{0}, peak_{0};
};

// Bytes per second, past the page cache where the file system can.
struct scratch_rates {
  double written = 0, read = 0;
};
scratch_rates measure_scratch(scratch_folder& in, std::uint64_t bytes);  // of a file of so many, a multiple of 4 MiB; errc::io

class scratch_file {
 public:
  static constexpr std::uint64_t page = 4096;
  explicit scratch_file(scratch_folder& in);  // errc::io
  ~scratch_file();
  scratch_file(scratch_file const&) = delete;
  scratch_file& operator=(scratch_file const&) = delete;

  void append(void const* data, std::uint64_t bytes);
  void write_at(std::uint64_t at, void const* data, std::uint64_t bytes);  // any thread may, also behind the end
  void read(void* to, std::uint64_t bytes, std::uint64_t at) const;        // any thread may
  // Reads and writes go past the page cache, where the file system can: whole pages alone, from and to whole pages of memory.
  void go_past_page_cache() noexcept { direct(true); }
  void drop(std::uint64_t at, std::uint64_t bytes);  // they will not be read again: their disk is given back
  std::uint64_t bytes() const { return end_.load(std::memory_order_relaxed); }

 private:
  void direct(bool on) const noexcept;
  bool again(bool& tried) const noexcept;  // after an error: whether the same may do now
  scratch_folder& in_;
  std::atomic<std::uint64_t> end_{0};
  std::uint64_t dropped_ = 0;
  int fd_ = -1;
};

}  // namespace garner
