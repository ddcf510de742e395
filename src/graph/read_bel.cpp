// The binary edge lists of the EMOGI program: PREFIX.bel.col holds the offsets, PREFIX.bel.dst the targets, PREFIX.bel.val (optional) u32
// weights; each begins with a u64 count and a u64 that is ignored.
#include "graph/read_binary.hpp"

namespace garner {

namespace {
// The count of a file of `item` bytes each, checked against its size.
std::uint64_t read_count(input_stream& in, std::uint64_t item) {
  std::uint64_t header[2];
  read_exactly(in, header, sizeof header, "header");
  if (header[0] >> 56) fail(errc::input, "{}: the header says {} entries; it is damaged or another format", in.name(), header[0]);
  if (in.plain_size() && *in.plain_size() != 16 + header[0] * item)
    fail(errc::input, "{}: has {} bytes, {} entries of {} bytes and the header have {}; it was cut short or its header lies", in.name(),
         *in.plain_size(), header[0], item, 16 + header[0] * item);
  return header[0];
}
}  // namespace

read_result read_bel(input_stream& in_offsets, input_stream& in_targets, input_stream* in_weights, read_options const& options) {
  if (options.skip_lines) fail(errc::usage, "{}: --skip-lines is for text, and this is a binary file; leave it out", in_offsets.name());
  read_result result;
  edge_list& edges = result.edges;
  std::uint64_t const count = read_count(in_offsets, 8);
  if (count == 0) fail(errc::input, "{}: has no offsets; there is one more than there are vertices", in_offsets.name());
  reading_room room(in_offsets.name());
  auto const offsets = read_offsets(in_offsets, room, count, std::nullopt, "offsets");
  expect_end(in_offsets);
  edges.vertices = count - 1;

  std::uint64_t const arcs = read_count(in_targets, 8);
  if (offsets.back() != arcs)
    fail(errc::input, "{}: has {} targets, the offsets of {} end at {}; the files do not belong together", in_targets.name(), arcs,
         in_offsets.name(), offsets.back());
  bool const weighted = in_weights && !options.ignore_weights;
  if (weighted) {
    std::uint64_t const weights = read_count(*in_weights, 4);
    if (weights != arcs)
      fail(errc::input, "{}: has {} weights, {} has {} targets; the files do not belong together", in_weights->name(), weights,
           in_targets.name(), arcs);
    edges.weights_are = weight_kind::u32;
  }
  std::uint64_t const at_once = part_of(options, arcs);
  make_room(room, edges.arcs, at_once, in_targets.plain_size().has_value());
  if (weighted) make_room(room, edges.weights, at_once, in_weights->plain_size().has_value());
  std::uint64_t u = 0;
  read_pieces<std::uint64_t>(in_targets, arcs, "targets", [&](std::uint64_t first, std::uint64_t const* items, std::size_t n) {
    room.grow(edges.arcs, n);
    for (std::size_t i = 0; i < n; ++i) {
      while (offsets[u + 1] <= first + i) ++u;
      if (items[i] >= edges.vertices)
        fail(errc::input, "{}: target {} of vertex {} is outside 0 to {}; it is damaged", in_targets.name(), items[i], u,
             edges.vertices - 1);
      edges.arcs.push_back({u, items[i]});
    }
    if (weighted) {
      room.grow(edges.weights, n);
      std::size_t const had = edges.weights.size();
      edges.weights.resize(had + n);
      read_exactly(*in_weights, edges.weights.data() + had, n * 4, "weights");
    }
    if (options.sink) options.sink->take(edges);
  });
  expect_end(in_targets);
  if (weighted) expect_end(*in_weights);
  edges.source = in_offsets.name();
  return result;
}

}  // namespace garner
