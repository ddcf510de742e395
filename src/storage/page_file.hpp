// A file of pages, each under a checksum, in one file or striped over several folders. The caller defines what pages hold: the file keeps
// its text (`content`) and so many bytes. A feature table is written as one (features/row_file.hpp).
//
// Form, little-endian, of every file of it:
//   0   8  \x89 G N T \r \n \x1a \n         40  4  bytes of a page: a power of two, 512 to 1 MiB
//   8   4  version, 1                       44  4  stripes of the whole
//   12  4  bytes of the head, whole 4 KiB   48  4  which of them this is, or all ones: none, the list of them
//   16  8  XXH3 of the head, 0 for this     52  4  pages that lie together before the next stripe's
//   24 16  id of the whole, random          56  8  pages of the whole
//   64  8  bytes of the whole, the last page filled with zeros
//   72  8  pages in this file               80  8  XXH3 of its checksums
//   88  4  bytes of content                 92  4  bytes of the stripes' names, each ended by a newline (in the list alone)
//   96     content, names, zeros; then, where a page of 4 KiB or more begins, the pages; then 4 bytes of checksum for each
// A page's checksum is the lower half of its XXH3, seeded with the id and the page's number, so that pages of other tables or at other
// offsets are detected. They are kept in memory while the file is open, 4 bytes per page: a thousandth at 4 KiB.
// Invariant: files appear when all of them are complete, the list of stripes last; names of stripes are unique to their table, so that a
// replaced table exists until the new one does.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/buffer.hpp"
#include "storage/reader.hpp"

namespace garner {

class pending_file;

struct page_head {
  static constexpr std::uint32_t no_stripe = ~std::uint32_t{0};
  static constexpr std::uint32_t most_bytes = 1 << 20;  // of a head
  std::array<std::uint8_t, 16> id{};
  std::uint32_t page_bytes = 4096, stripes = 1, stripe = 0, unit_pages = 16;
  std::uint64_t pages = 0, bytes = 0, own_pages = 0, sums_checksum = 0;
  std::string content;
  std::vector<std::string> names;

  // errc::input names the file and the problem. `size`: of the file; compared to the head.
  using source = std::function<void(void* to, std::uint64_t n, std::uint64_t at)>;
  static page_head parse(std::string const& name, std::uint64_t size, source const& read);
  std::string written() const;
  std::uint64_t head_bytes() const;  // as written
  std::uint64_t begin() const;       // of the pages, in bytes of the file
  std::uint64_t file_bytes() const { return begin() + own_pages * (std::uint64_t{page_bytes} + 4); }
  std::uint64_t pages_of(std::uint32_t stripe) const;
  std::string shown_id() const;
};
bool begins_as_page_file(std::span<std::byte const> start);
std::uint32_t checksum_of_page(page_head const& head, std::uint64_t page, void const* data);

struct page_file_options {
  std::uint32_t page_bytes = 4096;
  std::uint32_t unit_pages = 16;     // that lie together on a stripe
  std::vector<std::string> folders;  // a stripe in each; empty: one file
};

// Written in order. Removed unless it is finished.
class page_file_writer {
 public:
  // `bytes`: size of the whole content. errc::io where a folder cannot be written to or lacks the space.
  page_file_writer(std::filesystem::path file, std::uint64_t bytes, std::string content, page_file_options const& options);
  ~page_file_writer();
  page_file_writer(page_file_writer const&) = delete;
  page_file_writer& operator=(page_file_writer const&) = delete;
  void write(void const* data, std::uint64_t bytes);
  void finish();  // errc::usage where not all was written
  page_head const& head() const { return head_; }
  std::vector<std::string> const& files() const { return names_; }  // of the stripes

 private:
  void put_unit();
  std::string file_;
  page_head head_;
  std::vector<std::string> names_, replaced_;
  std::vector<std::unique_ptr<pending_file>> stripes_;
  std::unique_ptr<pending_file> list_;
  std::vector<std::vector<std::uint32_t>> sums_;
  std::vector<std::byte> unit_;
  std::uint64_t taken_ = 0, put_ = 0;  // bytes; pages
};

struct page_request {
  std::uint64_t page = 0, count = 1;
  void* to = nullptr;
  std::uint64_t tag = 0;
};

class page_file {
 public:
  // How its stripes become drives: opened, or simulated ones that hold the same.
  using opener = std::function<std::shared_ptr<drive_set>(std::vector<std::string> const& stripes)>;
  // Arrangement, unit, begin and size in `options` are replaced by the file's. errc::input where the file is incomplete, a stripe is
  // missing or is one of another table.
  explicit page_file(std::filesystem::path const& file, reader_options options = {}, opener const& open = {});

  std::uint32_t page_bytes() const { return head_.page_bytes; }
  std::uint64_t pages() const { return head_.pages; }
  std::uint64_t bytes() const { return head_.bytes; }
  std::string const& content() const { return head_.content; }
  page_head const& head() const { return head_; }
  std::vector<std::string> const& stripes() const { return names_; }
  reader& files() const { return *files_; }  // byte o of it is byte o of the pages, unchecked
  bool right(std::uint64_t page, void const* data) const { return checksum_of_page(head_, page, data) == sums_[page]; }
  error error_of(read_done const& done) const;
  read_done wrong_page(std::uint64_t page) const;  // error_of reads it for a page that is damaged

 private:
  page_head head_;
  std::string name_;
  std::vector<std::string> names_;
  buffer<std::uint32_t> sums_;  // of page k of the whole
  std::unique_ptr<reader> files_;
};

// A read_queue whose requests are whole pages, each verified on arrival: EBADMSG where the checksum differs.
class page_queue {
 public:
  explicit page_queue(page_file& file, std::shared_ptr<void const> memory = {}) : file_(file), queue_(file.files(), std::move(memory)) {}
  void submit(std::span<page_request const> requests);
  std::span<read_done const> wait(std::size_t most, std::size_t wanted = 1);
  void cancel();
  std::size_t under_way() const { return queue_.under_way(); }
  std::size_t lost() const { return queue_.lost(); }
  void register_memory(void* begin, std::size_t bytes) { queue_.register_memory(begin, bytes); }

 private:
  page_file& file_;
  read_queue queue_;
  std::vector<page_request> asked_;
  std::vector<std::uint64_t> free_;
  std::vector<read_request> reads_;
  std::vector<read_done> told_;
};

// Pages [page, page + count), or the error is thrown.
void read_pages(page_file& file, std::uint64_t page, std::uint64_t count, void* to);

}  // namespace garner
