// Dataset files: any text gives one error line about the input, or types and edges that survive a round trip.
#include <cstdint>
#include <string>

#include "graph/hetero.hpp"
#include "works.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace garner;
  works([&] {
    dataset_info const m = parse_manifest({reinterpret_cast<char const*>(data), size}, "input.json");
    std::string const text = manifest_text(m, "input.json");
    dataset_info const again = parse_manifest(text, "input.json");
    if (m.types.size() != again.types.size() || m.edges.size() != again.edges.size()) std::abort();
    for (std::size_t i = 0; i < m.types.size(); ++i)
      if (m.types[i].name != again.types[i].name || m.types[i].count != again.types[i].count ||
          m.types[i].features.has_value() != again.types[i].features.has_value())
        std::abort();
    for (std::size_t i = 0; i < m.edges.size(); ++i)
      if (name_of(m.edges[i]) != name_of(again.edges[i]) || m.edges[i].stored_edges != again.edges[i].stored_edges ||
          m.edges[i].edges != again.edges[i].edges)
        std::abort();
    if (manifest_text(again, "input.json") != text) std::abort();
  });
  return 0;
}
