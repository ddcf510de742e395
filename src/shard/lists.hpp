// What one shard adds up: the lists of its vertices, cut by the owner of the other ends. A chunk is what lies in one owner's part: for each
// vertex that has ends there an item, a range of the chunk's ends, which count the rows that come from that owner, each needed row once, in
// ascending order. Lists of more than `slice` ends are cut into slices before, which are items too and add up rows of their own.
// Invariant: chunks are taken one after the other in the order of their owners (shard_sums::exact) or the shard's own first; a list that
// ascends is then added up in its own order, whatever the number of shards; one that does not is sorted first. Every vertex has an item
// that begins its sum and one that ends it. Cost: 16 bytes an item, 4 an end (8 with weights); made in one pass over the part's lists by
// one thread, with a bit a vertex of the graph.
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

// Of an owner on another device, of whose rows more than this share is needed, all come: a copy engine brings them faster than a kernel
// picks them, and takes nothing of the multiprocessors, which add up meanwhile. It needs rows that are read where they lie.
inline constexpr double whole_above = 0.75;
constexpr std::uint64_t rows_that_come(std::uint64_t needed, std::uint64_t all, bool may_be_whole) {
  return may_be_whole && static_cast<double>(needed) > whole_above * static_cast<double>(all) ? all : needed;
}

struct shard_lists {
  struct given {  // lists of the whole graph, in host memory
    std::uint64_t const* offsets;
    std::uint32_t const* ends;
    float const* weights;  // null: none
  };
  enum class numbered : std::uint8_t {
    by_arrival,  // ends count the rows that come
    by_graph,    // all rows of the graph come: one chunk, whose ends are vertices
  };

  // `whole`: by owner, whether all its rows may come where nearly all are needed; empty: needed rows alone.
  shard_lists(given const& lists, shard_parts const& parts, std::uint32_t shard, shard_sums sums, numbered how, std::uint64_t slice,
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

// Items next to each other, and their ends: what of a chunk is near at once where its lists are far, or packed.
struct chunk_window {
  std::uint64_t item, items, end, ends;
};
// A window has at most `edges` ends (an item has no more) and a quarter as many items.
std::vector<chunk_window> windows_of(shard_lists::chunk const& c, std::uint64_t edges);

// The same for MGG's way: neighbour partitions of at most `ps` ends of one vertex and one owner, local and remote ones apart. Ends are
// rows of the owner.
struct neighbour_partition {
  std::uint32_t row, owner, count, unused;
  std::uint64_t begin;
};
struct mgg_lists {
  mgg_lists(shard_lists::given const& lists, shard_parts const& parts, std::uint32_t shard, std::uint32_t ps);
  std::vector<neighbour_partition> local, remote;
  std::vector<std::uint32_t> ends;
  std::vector<float> weights;
  std::uint64_t remote_edges = 0;
};

}  // namespace garner
