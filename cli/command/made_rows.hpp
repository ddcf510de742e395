// A feature table in memory, whose every byte is a function of its position, so that a wrong row is detected.
// Cost: written once, by all threads.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "memory/buffer.hpp"

namespace garner::cli {

// `device`: that reads it; -1: none. errc::memory if it needs more than half of the free host memory.
memory_block make_rows(std::uint64_t rows, std::uint64_t row_bytes, int device);
// The same with floats in [-1, 1), for training.
memory_block make_floats(std::uint64_t rows, std::uint64_t width, int device);
// The first byte of a row that differs from make_rows().
std::optional<std::uint64_t> wrong_byte(std::uint64_t id, void const* row, std::uint64_t row_bytes);

// The rows of make_rows() in a file of a folder, removed with its descriptor. errc::io names a folder without room.
class made_file {
 public:
  made_file(std::string const& folder, std::uint64_t rows, std::uint64_t row_bytes);
  ~made_file();
  made_file(made_file const&) = delete;
  made_file& operator=(made_file const&) = delete;
  std::string path() const;
  void forget() const;  // drops the file from the page cache

 private:
  void put(void const* data, std::uint64_t n, std::uint64_t at) const;
  std::string folder_;
  int fd_ = -1;
};

}  // namespace garner::cli
