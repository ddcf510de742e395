// Text with columns selected by number or by name; the first byte chooses which.
#include "reader_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  bool const by_name = data[0] & 1, weighted = data[0] & 2;
  std::vector<std::string> columns = by_name ? std::vector<std::string>{"a", "b"} : std::vector<std::string>{"1", "3"};
  if (weighted) columns.push_back(by_name ? "w" : "2");
  garner::check_reader([&](garner::read_options const& options) {
    garner::read_options picks = options;
    picks.columns = columns;
    garner::input_stream in({reinterpret_cast<char const*>(data) + 1, size - 1}, "input.csv");
    return garner::read_edges(in, data[0] & 4 ? garner::file_format::csv : garner::file_format::snap, picks);
  });
  return 0;
}
