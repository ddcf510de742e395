// The three files of a .bel: two bytes give the length of the first, two that of the second, the top bit whether there is a third.
#include <algorithm>
#include <optional>

#include "reader_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size < 4) return 0;
  std::size_t const first = std::min<std::size_t>((data[0] | data[1] << 8) & 0x7fff, size - 4);
  std::size_t const second = std::min<std::size_t>((data[2] | data[3] << 8) & 0x7fff, size - 4 - first);
  bool const weighted = data[1] & 0x80;
  auto const* p = reinterpret_cast<char const*>(data) + 4;
  garner::check_reader([&](garner::read_options const& options) {
    garner::input_stream offsets({p, first}, "input.bel.col"), targets({p + first, second}, "input.bel.dst");
    std::optional<garner::input_stream> weights;
    if (weighted) weights.emplace(std::span<char const>(p + first + second, size - 4 - first - second), "input.bel.val");
    return garner::read_bel(offsets, targets, weighted ? &*weights : nullptr, options);
  });
  return 0;
}
