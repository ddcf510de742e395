// .sg and .wsg files, plain or compressed; the first byte chooses which.
#include "reader_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using garner::file_format;
  if (size) garner::check_reader(reinterpret_cast<char const*>(data) + 1, size - 1, data[0] % 2 ? file_format::wsg : file_format::sg);
  return 0;
}
