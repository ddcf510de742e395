// .el, .wel, .csv and SNAP text, plain or compressed; the first byte chooses which.
#include "reader_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size) garner::check_reader(reinterpret_cast<char const*>(data) + 1, size - 1, static_cast<garner::file_format>(data[0] % 4));
  return 0;
}
