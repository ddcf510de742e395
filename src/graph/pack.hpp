// Compressed adjacency (`core/packed.hpp`): encoding, validation, decoding. Done once per graph; the file stores the result.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace garner {

// Compresses targets and weights of both directions in place. The result is in memory of the same tier, which must be host-accessible
// (errc::usage if it is on a device). Ids become 4 bytes wide: values must be below 2^32 (errc::input if the graph has more vertices).
// Leaves compressed arrays unchanged. Peak host memory: both forms of one direction.
void pack(graph& g);
void unpack(graph& g);  // the inverse; ids get info.id_bytes

// One array. `offsets`: starts of lists (values ascend within a list). Null: no lists, every value is a start (weights).
packed_array pack_values(std::uint32_t const* values, std::uint64_t count, std::uint64_t const* offsets, std::uint64_t vertices, tier where,
                         int device);

// An array of `count` values, and where lists begin in it, or null, as above.
struct array_of_lists {
  std::uint64_t count = 0;
  std::uint64_t const* offsets = nullptr;
  std::uint64_t vertices = 0;
};

// Streaming version with the same output. After each add() and finish(), `words` holds the next codes, and `blocks` and `begins` the next
// directory entries. Every part except the last is a whole number of groups. Memory: about four times a part.
class packed_parts {
 public:
  static constexpr std::uint64_t values_a_group = packed_directory::values_a_block * packed_directory::blocks_a_group;
  explicit packed_parts(array_of_lists const& of) : of_(of) {}
  std::uint64_t add(std::uint32_t const* values, std::uint64_t n);
  void finish();
  std::uint64_t all_words() const { return words_; }

  std::vector<std::uint32_t> words, blocks;
  std::vector<std::uint64_t> begins, sizes;  // sizes: words per group of the last part

 private:
  array_of_lists of_;
  std::uint64_t values_ = 0, words_ = 0;
};

// The inverse: `count` values into `to`.
void unpack_values(packed_array const& from, std::uint64_t count, std::uint32_t* to);

// Upper bound on the compressed size of that many values, which are all less than `below`.
std::uint64_t most_packed_bytes(std::uint64_t count, std::uint64_t below = std::uint64_t{1} << 32);
// Throws errc::input with the fault if decoding a block could read outside `words`. `where` names file and section. `stored_words`: of
// codes that stay in a file; their contents are checked against the directory block by block as they are read.
void check_directory(packed_array const& a, std::uint64_t count, std::string const& where, std::uint64_t stored_words = 0);
// Whether block b has the number of words that its widths and mask imply.
bool block_is_right(packed_directory const& at, std::uint32_t const* words, std::uint64_t b);

}  // namespace garner
