// Lists of 32-bit values in compressed blocks: what a team reads instead of a plain segment where an edge list, or its weights, was
// compressed. Element i is in block i / 32, so that offsets, pieces and joined lists mean the same as for plain arrays. A block is a whole
// number of words: a base, a mask if it contains several lists, then the starts (value - base; the first value of each list, or wherever
// values descend) of `start_bits` each, then the gaps to the value before of `gap_bits` each. A directory of 32 bits per block has its
// begin and the widths of its fields; that is a bit per element, kept on the device that runs if its memory allows. Invariant (see
// check_packed): the words of block b end where those of block b + 1 begin; one word more than all blocks can be read.
// Cost: for 32 elements of one list two words and 31 gaps; a warp decodes a block with a scan of five shuffles.
#pragma once
#include <bit>
#include <cstdint>

#include "core/mark.hpp"

namespace garner {

// Where blocks begin and how they are coded, of one array.
struct packed_directory {
  static constexpr std::uint64_t values_a_block = 32, blocks_a_group = 4096;
  static constexpr std::uint32_t all_start = 63;  // gap_bits of a block of starts alone (weights; lists of one or two elements)
  std::uint32_t const* blocks = nullptr;          // one more than there are blocks
  std::uint64_t const* groups = nullptr;          // word where each group of blocks begins

  struct entry {
    std::uint64_t word;
    std::uint32_t gap_bits, start_bits;
    bool mixed;
  };
  GARNER_HD std::uint64_t word_of(std::uint64_t b) const { return groups[b / blocks_a_group] + (blocks[b] & 0x3ffff); }
  GARNER_HD entry operator[](std::uint64_t b) const {
    std::uint32_t const e = blocks[b];
    return {groups[b / blocks_a_group] + (e & 0x3ffff), e >> 18 & 63, e >> 24 & 63, e >> 30 != 0};
  }
  static constexpr std::uint32_t make(std::uint64_t word_in_group, std::uint32_t gap_bits, std::uint32_t start_bits, bool mixed) {
    return static_cast<std::uint32_t>(word_in_group) | gap_bits << 18 | start_bits << 24 | (mixed ? 1u << 30 : 0);
  }
};

struct packed_view {
  packed_directory at;
  std::uint32_t const* words = nullptr;  // remote: only a team reads it
  GARNER_HD explicit operator bool() const { return words != nullptr; }
};

// The fields of one block, read by one thread from words that begin at the block (anything that can be indexed). Holds for any bits: a
// damaged block gives wrong values, never a read past its words and one more (its widths having been checked).
template <class Words>
struct packed_block {
  Words words;
  std::uint32_t base, starts, gap_bits, start_bits;  // starts: bit e is set where element e is one
  std::uint32_t first_start, first_gap;              // bits from the block's first word

  GARNER_HD static packed_block open(Words words, packed_directory::entry const& e) {
    bool const all = e.gap_bits == packed_directory::all_start;
    std::uint32_t const starts = e.mixed ? words[1] | 1 : all ? ~0u : 1u, header = e.mixed ? 64 : 32;
    return {words,
            words[0],
            starts,
            all ? 0 : e.gap_bits,
            e.start_bits,
            header,
            header + (e.mixed ? bits_of(starts) : all ? 32 : 1) * e.start_bits};
  }
  GARNER_HD static std::uint32_t bits_of(std::uint32_t w) { return static_cast<std::uint32_t>(std::popcount(w)); }
  GARNER_HD bool starts_at(std::uint32_t e) const { return starts >> e & 1; }
  GARNER_HD std::uint32_t place_of(std::uint32_t e) const {  // first bit of element e
    std::uint32_t const before = bits_of(starts & ((1u << e) - 1));
    return starts_at(e) ? first_start + before * start_bits : first_gap + (e - before) * gap_bits;
  }
  GARNER_HD static std::uint32_t extract(Words const& words, std::uint32_t bit, std::uint32_t width) {
    if (width == 0) return 0;
    std::uint64_t const both = words[bit / 32] | std::uint64_t{words[bit / 32 + 1]} << 32;
    return static_cast<std::uint32_t>(both >> bit % 32) & (~0u >> (32 - width));
  }
  // What is stored of element e: a start's distance from the base, or the gap from the element before.
  GARNER_HD std::uint32_t field(std::uint32_t e) const { return extract(words, place_of(e), starts_at(e) ? start_bits : gap_bits); }
};

// Decodes elements [i, end), one thread in order: f(value, index) until it returns true. Returns whether it did. In each block it begins
// where the list of its first element does.
template <class F>
GARNER_HD inline bool each_in_turn(packed_view const& packed, std::uint64_t i, std::uint64_t end, F f) {
  using block_type = packed_block<std::uint32_t const*>;
  while (i < end) {
    packed_directory::entry const e = packed.at[i / 32];
    block_type const block = block_type::open(packed.words + e.word, e);
    std::uint64_t const first = i / 32 * 32, last = end < first + 32 ? end : first + 32;
    auto const k = static_cast<std::uint32_t>(i - first);
    if (block.starts == ~0u) {
      for (std::uint32_t at = block.first_start + k * block.start_bits; i < last; ++i, at += block.start_bits)
        if (f(block.base + block_type::extract(block.words, at, block.start_bits), i)) return true;
      continue;
    }
    auto const s = static_cast<std::uint32_t>(std::bit_width(block.starts & (~0u >> (31 - k)))) - 1;  // element 0 is always a start
    std::uint32_t const before = s ? block_type::bits_of(block.starts & ((1u << s) - 1)) : 0;
    std::uint32_t start_at = block.first_start + before * block.start_bits, gap_at = block.first_gap + (s - before) * block.gap_bits;
    std::uint32_t value = 0;
    // One loop, not one a list with one of its gaps inside: nvcc 13.0 made of that a walk that takes an element too many after lists of
    // one.
    for (std::uint64_t j = first + s; j < last; ++j) {
      if (block.starts_at(static_cast<std::uint32_t>(j - first))) {
        value = block.base + block_type::extract(block.words, start_at, block.start_bits);
        start_at += block.start_bits;
      } else {
        value += block_type::extract(block.words, gap_at, block.gap_bits);
        gap_at += block.gap_bits;
      }
      if (j >= i && f(value, j)) return true;
    }
    i = last;
  }
  return false;
}

// The first `count` elements of block b, by the host: each element's field is chosen without a branch, since lists begin anywhere. Three
// times as fast as each_in_turn, and reading the values overlaps the decoding of the next block.
inline void unpack_block(packed_view const& packed, std::uint64_t b, std::uint32_t count, std::uint32_t* to) {
  using block_type = packed_block<std::uint32_t const*>;
  packed_directory::entry const e = packed.at[b];
  block_type const block = block_type::open(packed.words + e.word, e);
  std::uint32_t const of_start = block.start_bits ? ~0u >> (32 - block.start_bits) : 0,
                      of_gap = block.gap_bits ? ~0u >> (32 - block.gap_bits) : 0;
  auto const bits_at = [words = block.words](std::uint32_t bit) {
    return static_cast<std::uint32_t>((words[bit / 32] | std::uint64_t{words[bit / 32 + 1]} << 32) >> bit % 32);
  };
  // Fields of no bits are read where there are some.
  std::uint32_t start_at = block.start_bits ? block.first_start : 0, gap_at = block.gap_bits ? block.first_gap : 0;
  if (block.starts == ~0u) {
    for (std::uint32_t k = 0; k < count; ++k, start_at += block.start_bits) to[k] = block.base + (bits_at(start_at) & of_start);
    return;
  }
  std::uint32_t value = 0;
  for (std::uint32_t k = 0, starts = block.starts; k < count; ++k, starts >>= 1) {
    bool const begins = starts & 1;
    value = (begins ? block.base : value) + (bits_at(begins ? start_at : gap_at) & (begins ? of_start : of_gap));
    to[k] = value;
    start_at += begins ? block.start_bits : 0;
    gap_at += begins ? 0 : block.gap_bits;
  }
}

}  // namespace garner
