// A chunk's lists (lists.hpp) in compressed form (`core/packed.hpp`), decompressed on the device a range at a time. They are on the device,
// or in host memory, from where the codes of a range are copied first: the blocks of its values, so that two ranges may share one.
// Invariant: items, offsets and ends of a range are the original ones, bit for bit. Cost: ends ascend within a list, so that one takes a
// gap; an item takes two numbers that ascend, some 2 bytes instead of 16; a range is decompressed by two launches.
#pragma once
#include "core/executor.hpp"
#include "graph/graph.hpp"
#include "shard/lists.hpp"

namespace garner {

class packed_chunk {
 public:
  // Device buffer for the codes of a range, if they are remote.
  class room {
   public:
    void grow(executor& x, packed_chunk const& c, std::vector<chunk_window> const& windows);  // so that each of them fits
    std::uint64_t bytes() const { return rows_.bytes() + marks_.bytes() + ends_.bytes(); }

   private:
    friend packed_chunk;
    struct codes {
      buffer<std::uint32_t> words, blocks;
      buffer<std::uint64_t> groups;
      std::uint64_t bytes() const { return words.bytes() + blocks.bytes() + groups.bytes(); }
    };
    codes rows_, marks_, ends_;
  };
  struct plain {
    shard_item* items;
    std::uint64_t* offsets;  // one more than items
    std::uint32_t* ends;
  };

  packed_chunk() = default;
  packed_chunk(executor& x, shard_lists::chunk const& from, std::vector<chunk_window> const& windows, bool far);
  bool empty() const { return rows_.empty(); }
  std::uint64_t bytes() const { return rows_.bytes() + marks_.bytes() + ends_.bytes(); }
  void unpack(executor& x, chunk_window const& w, room& codes, plain const& to) const;
  // Bytes at the most, before lists are known: of so many chunks of a part with so many rows, slices too, in a graph of so many vertices;
  // of a window's room with `chunks` 2, for the blocks that it shares. `window`: ends of one.
  static std::uint64_t most_bytes(std::uint64_t items, std::uint64_t ends, std::uint64_t chunks, std::uint64_t rows, std::uint64_t vertices,
                                  std::uint64_t window);

 private:
  bool far_ = false;
  packed_array rows_, marks_, ends_;  // marks: where an item's ends begin in its window, times 4, and its two bits
};

}  // namespace garner
