// Serialized graphs of the GAP benchmark suite: one byte 'directed'; i64 edges; i64 vertices; i64
// offsets[vertices + 1]; i32 targets (.sg) or pairs of i32 target and i32 weight (.wsg); a directed graph repeats
// offsets and targets for its in-neighbors. Invariant: in-edges are verified against out-edges, and undirected
// edges against their mirrors, by a sum of hashes over all edges, which is independent of order. So each part is
// read once, without a second copy in memory. Beamer, Asanovic, Patterson: The GAP benchmark suite, 2015.
#include "graph/read_binary.hpp"

namespace garner {

std::vector<std::uint64_t> read_offsets(input_stream& in, reading_room& room, std::uint64_t count, std::optional<std::uint64_t> edges,
                                        std::string_view what) {
  std::vector<std::uint64_t> offsets;
  make_room(room, offsets, count, in.plain_size().has_value());
  std::uint64_t last = 0;
  read_pieces<std::uint64_t>(in, count, what, [&](std::uint64_t first, std::uint64_t const* items, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      if (first + i == 0 && items[i] != 0)
        fail(errc::input, "{}: its {} begin at {} and not at 0; it is damaged or another format", in.name(), what, items[i]);
      if (items[i] < last)
        fail(errc::input, "{}: its {} fall from {} to {} at vertex {}; it is damaged", in.name(), what, last, items[i], first + i);
      if (edges && items[i] > *edges)
        fail(errc::input, "{}: offset {} of vertex {} is past the {} edges; it is damaged", in.name(), items[i], first + i, *edges);
      last = items[i];
    }
    room.grow(offsets, n);
    offsets.insert(offsets.end(), items, items + n);
  });
  if (edges && last != *edges)
    fail(errc::input, "{}: its {} end at {}, its header says {} edges; it is damaged", in.name(), what, last, *edges);
  return offsets;
}

namespace {

// One CSR: calls take(vertex, target, weight) for each edge.
template <class Take>
void read_lists(input_stream& in, std::uint64_t vertices, std::uint64_t arcs, bool weighted, bool incoming, Take const& take) {
  reading_room room(in.name());
  auto const offsets = read_offsets(in, room, vertices + 1, arcs, incoming ? "in-offsets" : "offsets");
  std::uint64_t u = 0;
  auto const check = [&](std::uint64_t at, std::int32_t v) {
    while (offsets[u + 1] <= at) ++u;
    if (v < 0 || static_cast<std::uint64_t>(v) >= vertices)
      fail(errc::input, "{}: {} {} of vertex {} is outside 0 to {}; it is damaged", in.name(), incoming ? "in-neighbor" : "neighbor", v, u,
           vertices - 1);
  };
  struct weighted_target {
    std::int32_t v, w;
  };
  if (weighted)
    read_pieces<weighted_target>(
        in, arcs, incoming ? "in-neighbors" : "neighbors", [&](std::uint64_t first, weighted_target const* items, std::size_t n) {
          for (std::size_t i = 0; i < n; ++i) {
            check(first + i, items[i].v);
            if (items[i].w < 0)
              fail(errc::input, "{}: weight {} of the edge {} -> {} is negative; weights are numbers from 0", in.name(), items[i].w,
                   incoming ? static_cast<std::uint64_t>(items[i].v) : u, incoming ? u : static_cast<std::uint64_t>(items[i].v));
            take(u, static_cast<std::uint64_t>(items[i].v), static_cast<std::uint32_t>(items[i].w));
          }
        });
  else
    read_pieces<std::int32_t>(in, arcs, incoming ? "in-neighbors" : "neighbors",
                              [&](std::uint64_t first, std::int32_t const* items, std::size_t n) {
                                for (std::size_t i = 0; i < n; ++i) {
                                  check(first + i, items[i]);
                                  take(u, static_cast<std::uint64_t>(items[i]), std::uint32_t{0});
                                }
                              });
}

}  // namespace

read_result read_sg(input_stream& in, bool weighted, read_options const& options) {
  unsigned char directed = 0;
  std::int64_t counts[2];  // edges, vertices
  read_exactly(in, &directed, 1, "header");
  read_exactly(in, counts, sizeof counts, "header");
  std::string_view const ending = weighted ? ".wsg" : ".sg";
  if (directed > 1)
    fail(errc::input, "{}: its first byte is {}, a {} begins with 0 (undirected) or 1 (directed); is it another format? Then use --from",
         in.name(), directed, ending);
  if (counts[1] < 0 || counts[1] > (std::int64_t{1} << 31))
    fail(errc::input, "{}: the header says {} vertices, a {} has 0 to 2147483648; it is damaged or another format", in.name(), counts[1],
         ending);
  if (counts[0] < 0 || counts[0] > (std::int64_t{1} << 56))
    fail(errc::input, "{}: the header says {} edges; it is damaged or another format", in.name(), counts[0]);
  auto const arcs = static_cast<std::uint64_t>(counts[0]), vertices = static_cast<std::uint64_t>(counts[1]);
  std::uint64_t const half = 8 * (vertices + 1) + (weighted ? 8 : 4) * arcs, size = 17 + (directed ? 2 : 1) * half;
  if (in.plain_size() && *in.plain_size() != size)
    fail(errc::input, "{}: has {} bytes, a {} {} of {} vertices and {} edges has {}; it was cut short, its header lies, or it is a {}",
         in.name(), *in.plain_size(), directed ? "directed" : "undirected", ending, vertices, arcs, size, weighted ? ".sg" : ".wsg");

  read_result result;
  edge_list& edges = result.edges;
  bool const keep_weights = weighted && !options.ignore_weights;
  reading_room room(in.name());
  if (keep_weights) edges.weights_are = weight_kind::u32;
  edges.undirected = edges.mirrored = !directed;
  edges.vertices = vertices;
  std::uint64_t const at_once = part_of(options, arcs);
  make_room(room, edges.arcs, at_once, in.plain_size().has_value());
  if (keep_weights) make_room(room, edges.weights, at_once, in.plain_size().has_value());
  std::uint64_t forward = 0, backward = 0;
  read_lists(in, vertices, arcs, weighted, false, [&](std::uint64_t u, std::uint64_t v, std::uint32_t w) {
    if (edges.arcs.size() == at_once && options.sink) options.sink->take(edges);
    if (edges.arcs.size() == edges.arcs.capacity()) {
      room.grow(edges.arcs, 1);
      if (keep_weights) room.grow(edges.weights, 1);
    }
    edges.arcs.push_back({u, v});
    if (keep_weights) edges.weights.push_back(w);
    forward += fingerprint(u, v, w);
    if (!directed) backward += fingerprint(v, u, w);
  });
  if (options.sink) options.sink->take(edges);
  if (directed)
    read_lists(in, vertices, arcs, weighted, true,
               [&](std::uint64_t v, std::uint64_t u, std::uint32_t w) { backward += fingerprint(u, v, w); });
  expect_end(in);
  if (forward != backward)
    fail(errc::input, "{}: {}; it is damaged", in.name(),
         directed ? "its in-neighbors are not those that its neighbors give" : "it is marked undirected and some edge has no equal mirror");
  return result;
}

}  // namespace garner
