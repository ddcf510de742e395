// The files of an LDBC graph: two bytes give the length of the vertex list, two that of the edges; the rest is the properties,
// which exist if the top bit of the second byte is set.
#include <algorithm>
#include <optional>

#include "reader_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size < 4) return 0;
  std::size_t const first = std::min<std::size_t>((data[0] | data[1] << 8) & 0x7fff, size - 4);
  std::size_t const second = std::min<std::size_t>((data[2] | data[3] << 8) & 0x7fff, size - 4 - first);
  bool const described = data[1] & 0x80;
  auto const* p = reinterpret_cast<char const*>(data) + 4;
  garner::check_reader([&](garner::read_options const& options) {
    garner::input_stream vertices({p, first}, "input.v"), edges({p + first, second}, "input.e");
    std::optional<garner::input_stream> properties;
    if (described) properties.emplace(std::span<char const>(p + first + second, size - 4 - first - second), "input.properties");
    garner::read_result result = garner::read_ldbc(vertices, edges, described ? &*properties : nullptr, options);
    garner::edge_list const& e = result.edges;
    if (e.vertices != e.ids.size() || std::adjacent_find(e.ids.begin(), e.ids.end(), std::greater_equal<>{}) != e.ids.end()) std::abort();
    return result;
  });
  return 0;
}
