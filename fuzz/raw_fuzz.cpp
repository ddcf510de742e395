// Texts that describe raw bytes: any text is refused, or names a type, rows, a width and a file, and survives a round trip.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "files/npy.hpp"
#include "works.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace garner;
  std::string const text(reinterpret_cast<char const*>(data), size);
  works([&] {
    raw_rows const found = raw_rows::parse(text, "/input.raw");
    if (found.width == 0 || found.type.empty() || found.file.empty()) std::abort();
    raw_rows const again = raw_rows::parse(found.text(), "/input.raw");
    if (again.type != found.type || again.rows != found.rows || again.width != found.width || again.file != found.file) std::abort();
  });
  return 0;
}
