// The files of an LDBC graph: the vertices, the edges, and perhaps the properties.
#include "reader_fuzz.hpp"
#include "works.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size < 4) return 0;
  garner::files_of_input const in(data, size);
  garner::check_reader([&](garner::read_options const& options) {
    garner::input_stream vertices(in.first, "input.v"), edges(in.second, "input.e");
    std::optional<garner::input_stream> properties;
    if (in.third) properties.emplace(*in.third, "input.properties");
    garner::read_result result = garner::read_ldbc(vertices, edges, properties ? &*properties : nullptr, options);
    garner::edge_list const& e = result.edges;
    if (e.vertices != e.ids.size() || std::adjacent_find(e.ids.begin(), e.ids.end(), std::greater_equal<>{}) != e.ids.end()) std::abort();
    return result;
  });
  return 0;
}
