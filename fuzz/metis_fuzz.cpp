// METIS graphs, plain or compressed.
#include "reader_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  garner::check_reader(reinterpret_cast<char const*>(data), size, garner::file_format::metis);
  return 0;
}
