// Input of one shard's aggregation: the lists of its vertices, cut by the owner of the other ends. A chunk has the ends in one owner's
// part: an item per vertex that has ends there, a range of the chunk's ends, which index the rows that arrive from that owner, each needed
// row once, in ascending order. Lists of more than `slice` ends are cut into slices before, which are items too and have row sums of their
// own. Invariant: chunks are processed in the order of their owners (shard_reduction::deterministic) or the shard's own first. An ascending
// list is then summed in its own order, for any number of shards; others are sorted first. Every vertex has an item that begins its sum and
// one that ends it. Cost: 16 bytes per item, 4 per end (8 with weights); one pass over the part's lists by one thread, with one bit per
// vertex of the graph.
#pragma once
#include <cstdint>
#include <vector>

#include "shard/parts.hpp"

namespace garner {

struct shard_item {
  std::uint32_t row;          // of the part; beyond it: of the slices
  std::uint32_t begins : 1;   // a sum: it starts at 0, else with what the row holds
  std::uint32_t ends : 1;     // it is whole
  std::uint32_t unused : 30;  // so that both sides agree
};

// If more than this share of the rows of an owner on another device is needed, all are fetched: a copy engine is faster than a kernel that
// picks them, and leaves the multiprocessors to the sums. It needs rows that are read in place.
inline constexpr double whole_above = 0.75;
constexpr std::uint64_t rows_that_come(std::uint64_t needed, std::uint64_t all, bool may_be_whole) {
  return may_be_whole && static_cast<double>(needed) > whole_above * static_cast<double>(all) ? all : needed;
}

struct shard_lists {
  struct given {  // adjacency of the whole graph, in host memory
    std::uint64_t const* offsets;
    std::uint32_t const* ends;
    float const* weights;  // null: none
  };
  enum class numbered : std::uint8_t {
    by_arrival,  // ends count the rows that come
    by_graph,    // all rows of the graph are fetched: one chunk, whose ends are vertices
  };

  // `whole`: by owner, whether all its rows may be fetched when nearly all are needed; empty: needed rows alone.
  shard_lists(given const& lists, shard_parts const& parts, std::uint32_t shard, shard_reduction sums, numbered how, std::uint64_t slice,
              std::vector<bool> const& whole = {});

  struct chunk {
    std::vector<shard_item> items;
    std::vector<std::uint64_t> offsets;  // one more than items
    std::vector<std::uint32_t> ends;
    std::vector<float> weights;
  };
  struct long_list {
    std::uint32_t row, count;
    std::uint64_t first;  // slice
  };
  std::vector<std::uint32_t> order;               // of the chunks, by owner
  std::vector<chunk> chunks;                      // an owner each
  std::vector<std::vector<std::uint32_t>> needs;  // rows of each owner, by its own numbers, ascending; none of its own
  std::vector<long_list> long_lists;
  std::uint64_t slices = 0;
  std::uint64_t edges = 0, remote_edges = 0, remote_rows = 0;
};

// Adjacent items and their ends: the part of a chunk that is on the device at once if its adjacency is remote, or compressed.
struct chunk_window {
  std::uint64_t item, items, end, ends;
};
// A window has at most `edges` ends (an item has no more) and a quarter as many items.
std::vector<chunk_window> windows_of(shard_lists::chunk const& c, std::uint64_t edges);

// The same for MGG: neighbor partitions of at most `ps` ends of one vertex and one owner, local and remote ones separated. Ends are rows of
// the owner.
struct neighbor_partition {
  std::uint32_t row, owner, count, unused;
  std::uint64_t begin;
};
struct mgg_lists {
  mgg_lists(shard_lists::given const& lists, shard_parts const& parts, std::uint32_t shard, std::uint32_t ps);
  std::vector<neighbor_partition> local, remote;
  std::vector<std::uint32_t> ends;
  std::vector<float> weights;
  std::uint64_t remote_edges = 0;
};

}  // namespace garner
