// Feature files, and lists of stripes. Random bytes rarely have valid checksums, so the first byte selects how to use the
// rest:
//   0:  the rest is the file, as it is.
//   1:  the rest is a header, whose magic, version, length and checksum are corrected; the second byte is the number of bytes added to
//   the file. 2:  the same, and the file has the length in its header, if that is small.
// A feature file that opens has the declared number of pages, and reading them gives their contents or one error line.
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "features/row_file.hpp"
#include "works.hpp"

namespace {

using namespace garner;

template <class T>
void put(std::string& to, std::size_t at, T value) {
  std::memcpy(to.data() + at, &value, sizeof value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static int const fd = ::memfd_create("input", MFD_CLOEXEC);
  static std::string const file = "/proc/self/fd/" + std::to_string(fd);
  if (size < 2) return 0;
  std::string bytes(reinterpret_cast<char const*>(data) + 1, size - 1);
  if (int const how = data[0] % 3; how != 0) {
    bytes.erase(0, 1);
    bytes.resize((std::max<std::size_t>(bytes.size(), 96) + 4095) / 4096 * 4096);
    std::memcpy(bytes.data(), "\x89GNT\r\n\x1a\n", 8);
    put<std::uint32_t>(bytes, 8, 1);
    put<std::uint32_t>(bytes, 12, static_cast<std::uint32_t>(bytes.size()));
    put<std::uint64_t>(bytes, 16, 0);
    put<std::uint64_t>(bytes, 16, XXH3_64bits(bytes.data(), bytes.size()));
    std::size_t longer = data[1];
    if (how == 2) {
      std::uint32_t page = 0;
      std::uint64_t pages = 0;
      std::memcpy(&page, bytes.data() + 40, 4);
      std::memcpy(&pages, bytes.data() + 72, 8);
      std::size_t const align = std::max(page, 4096u);
      if (page <= 1u << 16 && pages <= 64) longer = (align - bytes.size() % align) % align + pages * (page + 4u);
    }
    bytes.resize(bytes.size() + longer);
  }
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, bytes.data(), bytes.size(), 0) != static_cast<::ssize_t>(bytes.size())) std::abort();
  std::string const in(bytes.data(), bytes.size());
  page_head head;
  if (works([&] {
        head = page_head::parse(file, in.size(), [&](void* to, std::uint64_t n, std::uint64_t at) {
          if (at > in.size() || n > in.size() - at) std::abort();
          std::memcpy(to, in.data() + at, n);
        });
      })) {
    // A rewritten file has the same header.
    std::string const again = head.written();
    if (again.size() != head.head_bytes() || in.compare(0, 16, again, 0, 16) != 0 || in.compare(24, 72, again, 24, 72) != 0) std::abort();
  }
  works([&] {
    reader_options options;
    options.engine = engine_kind::threads;
    options.threads = 1;
    page_file pages(file, options);
    if (pages.pages() * pages.page_bytes() > in.size()) std::abort();
    std::vector<std::byte> all(pages.pages() * pages.page_bytes());
    if (!all.empty()) read_pages(pages, 0, pages.pages(), all.data());
    row_file rows(file, options);
    if (rows.places().bytes_of(rows.rows()) != pages.bytes()) std::abort();
  });
  return 0;
}
