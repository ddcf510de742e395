// Arrays from a binary stream; sizes are checked before memory is allocated.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "core/fail.hpp"
#include "graph/formats.hpp"
#include "graph/reading_room.hpp"

namespace garner {

// Reads `bytes` bytes or throws; messages call the data `what`.
inline void read_exactly(input_stream& in, void* to, std::size_t bytes, std::string_view what) {
  std::uint64_t const at = in.position();
  std::size_t const got = in.read(to, bytes);
  if (got != bytes)
    fail(errc::input, "{}: ends at byte {}, within the {} that begin{} at byte {}; it was cut short or its header lies", in.name(),
         at + got, what, what.ends_with('s') ? "" : "s", at);
}

inline void expect_end(input_stream& in) {
  if (!in.at_end())
    fail(errc::input, "{}: goes on after byte {}, where its header ends it; the header lies or it is another format", in.name(),
         in.position());
}

// How many of these edges are collected at a time: all, unless a sink takes parts.
inline std::uint64_t part_of(read_options const& options, std::uint64_t arcs) {
  return options.sink ? std::min<std::uint64_t>(arcs, 1u << 17) : arcs;
}

// Calls take(first, items, count) for `count` items of T in chunks of at most 1 MiB, so that a false count allocates nothing.
template <class T, class Take>
void read_pieces(input_stream& in, std::uint64_t count, std::string_view what, Take const& take) {
  std::vector<T> chunk(static_cast<std::size_t>(std::min<std::uint64_t>(count, (1u << 20) / sizeof(T))));
  for (std::uint64_t first = 0; first < count;) {
    auto const n = static_cast<std::size_t>(std::min<std::uint64_t>(count - first, chunk.size()));
    read_exactly(in, chunk.data(), n * sizeof(T), what);
    take(first, static_cast<T const*>(chunk.data()), n);
    first += n;
  }
}

// `count` offsets that begin at 0, never decrease and end at `edges` (unset: anywhere).
std::vector<std::uint64_t> read_offsets(input_stream& in, reading_room& room, std::uint64_t count, std::optional<std::uint64_t> edges,
                                        std::string_view what);

// Reserves space for `count` items: at once if the file's size supports the count, else as they arrive.
template <class T>
void make_room(reading_room& room, std::vector<T>& items, std::uint64_t count, bool believed) {
  room.reserve(items, static_cast<std::size_t>(believed ? count : std::min<std::uint64_t>(count, 1u << 20)));
}

}  // namespace garner
