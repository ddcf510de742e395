// A file built from a sequence of chunks. The thread pool makes and compresses them (each its own gzip member or zstd frame); they are
// written in order. Invariant: the bytes do not depend on the number of threads; like a pending_file it appears whole or not at all. Cost:
// one pass; four chunks per thread in memory.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "core/progress.hpp"
#include "core/publish.hpp"
#include "core/thread_pool.hpp"

namespace garner {

class chunked_file {
 public:
  // `compression`: "", ".gz" or ".zst"
  chunked_file(std::filesystem::path const& path, std::string compression) : file_(path), compression_(std::move(compression)) {}

  // make(i, out) fills one chunk, on any thread.
  template <class Make>
  void chunks(std::uint64_t n, Make const& make) {
    std::uint64_t const batch = 4 * shared_pool().threads();
    std::vector<std::string> made(static_cast<std::size_t>(std::min(n, batch)));
    for (std::uint64_t first = 0; first < n; first += batch) {
      std::uint64_t const count = std::min(batch, n - first);
      shared_pool().run(count, 1, [&](std::uint64_t i, std::uint64_t last) {
        for (; i != last; ++i) {
          std::string chunk;
          make(first + i, chunk);
          made[i] = packed(chunk);
        }
      });
      for (std::uint64_t i = 0; i < count; ++i) file_.write(made[i]);
    }
  }
  void chunk(std::string const& bytes) { file_.write(packed(bytes)); }

  // Writes n items; item(i) formats the i-th.
  template <class T, class Item>
  void array(std::uint64_t n, progress& bar, Item const& item) {
    constexpr std::uint64_t per_chunk = (1u << 20) / sizeof(T);
    chunks((n + per_chunk - 1) / per_chunk, [&](std::uint64_t p, std::string& out) {
      std::uint64_t const first = p * per_chunk, count = std::min(per_chunk, n - first);
      out.resize(count * sizeof(T));
      for (std::uint64_t i = 0; i < count; ++i) {
        T const value = item(first + i);
        std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
      }
      bar.advance(count);
    });
  }
  pending_file& file() { return file_; }

 private:
  std::string packed(std::string const& bytes) const;

  pending_file file_;
  std::string compression_;
};

inline void put_number(std::string& out, std::uint64_t value) {
  char text[20];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

}  // namespace garner
