// Bytes of a file or of memory, decompressed on the way: plain, gzip (one or more members) or zstd (one or more frames).
// Which it is, the first bytes say; an ending .gz or .zst that they contradict is an error.
// Invariant: read() gives fewer bytes than asked only at the true end; a stream that was cut short or damaged throws, never just ends, and
// so does a file that is shorter or longer at its end than when it was opened.
// Cost: plain bytes go straight to the reader's buffer; compressed ones through 256 KiB. Progress ("reading") counts bytes of the file.
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
  // sniff = false: compressed only if the ending says so, for binary files whose first bytes may be anything.
  explicit input_stream(std::filesystem::path const& path, bool sniff = true);     // errc::io names the file and the reason
  input_stream(std::span<char const> bytes, std::string name, bool sniff = true);  // `bytes` must outlive it
  ~input_stream();
  input_stream(input_stream&&) noexcept;
  input_stream& operator=(input_stream&&) noexcept;

  std::size_t read(void* to, std::size_t bytes);  // as many as asked, fewer at the end
  bool at_end();                                  // nothing is left; may read ahead

  std::string const& name() const;
  std::uint64_t position() const;                   // bytes given out
  std::optional<std::uint64_t> plain_size() const;  // bytes in all, where that is known before: a plain file or memory
  std::optional<std::uint64_t> file_size() const;   // bytes as they lie in the file, compressed or not; unknown for a pipe
  std::uint64_t file_position() const;              // bytes of the file used up

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace garner
