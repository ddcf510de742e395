// Bytes of a file or of memory, decompressed on the fly: plain, gzip (one or more members) or zstd (one or more
// frames). The first bytes decide which; an ending .gz or .zst that contradicts them is an error. Invariant:
// read() returns fewer bytes than requested only at the true end. A truncated or damaged stream throws and
// never just ends; so does a file whose size at its end differs from that when it was opened. Cost: plain bytes
// go straight to the reader's buffer; compressed ones through 256 KiB. Progress ("reading") counts file bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace garner {

class input_stream {
 public:
  // sniff = false: compressed only if the ending is, for binary files whose first bytes may be anything.
  explicit input_stream(std::filesystem::path const& path, bool sniff = true);     // errc::io names the file and the reason
  input_stream(std::span<char const> bytes, std::string name, bool sniff = true);  // `bytes` must outlive it
  ~input_stream();
  input_stream(input_stream&&) noexcept;
  input_stream& operator=(input_stream&&) noexcept;

  std::size_t read(void* to, std::size_t bytes);  // as many as requested, fewer at the end
  bool at_end();                                  // no more data; may read ahead

  std::string const& name() const;
  std::uint64_t position() const;                   // bytes returned so far
  std::optional<std::uint64_t> plain_size() const;  // total bytes, if known in advance: a plain file or memory
  std::optional<std::uint64_t> file_size() const;   // size of the file, compressed or not; unknown for a pipe
  std::uint64_t file_position() const;              // bytes of the file consumed

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace garner
