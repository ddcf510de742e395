// The three files of a .bel.
#include "reader_fuzz.hpp"
#include "works.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size < 4) return 0;
  garner::files_of_input const in(data, size);
  garner::check_reader([&](garner::read_options const& options) {
    garner::input_stream offsets(in.first, "input.bel.col"), targets(in.second, "input.bel.dst");
    std::optional<garner::input_stream> weights;
    if (in.third) weights.emplace(*in.third, "input.bel.val");
    return garner::read_bel(offsets, targets, weights ? &*weights : nullptr, options);
  });
  return 0;
}
