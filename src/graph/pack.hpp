// Packed lists (core/packed.hpp): made from plain ones, checked, and made plain again. Once a graph; the file keeps them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace garner {

// Packs targets and weights of both directions in place of the plain arrays, into memory of the same tier, which the host must be able to
// read (errc::usage where they lie on a device). Ids become 4 bytes wide: packed values are below 2^32 (errc::input where a graph has more
// vertices). No change where they are packed already. Host memory: the packed arrays beside the plain ones of one direction.
void pack(graph& g);
void unpack(graph& g);  // the reverse; ids of info.id_bytes

// One array: `offsets` are where lists begin (values rise within a list); null: no lists, every value is a start (weights).
packed_array pack_values(std::uint32_t const* values, std::uint64_t count, std::uint64_t const* offsets, std::uint64_t vertices, tier where,
                         int device);

// An array of `count` values, and where lists begin in it, or null, as above.
struct array_of_lists {
  std::uint64_t count = 0;
  std::uint64_t const* offsets = nullptr;
  std::uint64_t vertices = 0;
};

// The same codes of an array that comes by parts: after each add() and finish() the next of them stand in `words`, and the next entries of
// the directory in `blocks` and `begins`. Every part but the last is a whole number of groups. Memory: some four times a part.
class packed_parts {
 public:
  static constexpr std::uint64_t values_a_group = packed_directory::values_a_block * packed_directory::blocks_a_group;
  explicit packed_parts(array_of_lists const& of) : of_(of) {}
  std::uint64_t add(std::uint32_t const* values, std::uint64_t n);
  void finish();
  std::uint64_t all_words() const { return words_; }

  std::vector<std::uint32_t> words, blocks;
  std::vector<std::uint64_t> begins, sizes;  // sizes: words of the groups of the last part

 private:
  array_of_lists of_;
  std::uint64_t values_ = 0, words_ = 0;
};

// The inverse: `count` values into `to`.
void unpack_values(packed_array const& from, std::uint64_t count, std::uint32_t* to);

// Bytes a packed array of so many values, which are all less than `below`, takes at the most, before it is known.
std::uint64_t most_packed_bytes(std::uint64_t count, std::uint64_t below = std::uint64_t{1} << 32);
// Throws errc::input with what is wrong where a read of a block could leave `words`. `where` names file and section.
// `stored_words`: of codes that stay in a file; what stands in them is held against the directory block by block as they are read.
void check_directory(packed_array const& a, std::uint64_t count, std::string const& where, std::uint64_t stored_words = 0);
// Whether block b has as many words as its widths and its mask ask for.
bool block_is_right(packed_directory const& at, std::uint32_t const* words, std::uint64_t b);

}  // namespace garner
