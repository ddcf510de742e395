// Aggregation over the shards of a graph: this shard's vertices add up rows of their neighbours, whoever has them; backward the same over
// the transposed lists, which of an undirected graph are the same.
//   bulk        brings each needed row once, owner by owner, on a stream of its own; what has come is added up while the next comes
//   collective  brings all rows of all shards, then adds up
//   mgg         a warp adds `dist` local partitions and `dist` remote ones in turn, reads remote rows where they lie, and adds its sums to
//               the rows that come out by atomics (Wang et al., OSDI 2023, section 3; their reads are asynchronous through shared memory,
//               these are plain loads of a peer's memory, several in flight)
// Invariant: every shard makes the same calls. By bulk and collective with exact sums a vertex adds in the order of its list, so that each
// number of shards gives the same bits; mgg keeps no order. Cost: see shard/lists.hpp; the rows that come, once more near.
#pragma once
#include <optional>

#include "gnn/aggregate.hpp"
#include "gnn/whole_graph.hpp"
#include "shard/exchange.hpp"
#include "shard/lists.hpp"

namespace garner {

class sharded_edges final : public aggregation_over<float> {
 public:
  // All must outlive it but `g`, which is read here; without its transpose for forward() alone.
  sharded_edges(shard_group& group, std::uint32_t shard, executor& x, whole_graph const& g, shard_parts const& parts, aggregation how);

  void forward(executor& x, row_block<float const> in, row_block<float> out, std::uint64_t columns, row_block<float const> self) override;
  void backward(executor& x, row_block<float const> in, row_block<float> out, std::uint64_t columns, row_block<float const> self,
                bool add) override;
  std::uint64_t bytes() const override;
  // Rows at `rows` never change, on any shard: by bulk those of others come once, and are kept. On all shards alike.
  void never_changes(float const* rows) { constant_ = rows; }
  std::uint64_t numbers_brought() const { return numbers_brought_; }  // by bulk, so far
  std::uint64_t rows_brought(bool back = false) const;                // of other shards, an aggregation: as often as they cross

 private:
  struct near_chunk {
    std::uint32_t owner;
    buffer<shard_item> items;
    buffer<std::uint64_t> offsets;
    buffer<std::uint32_t> ends, needs;
    buffer<float> weights;
    std::uint64_t first = 0;          // of its sources, among all that are near
    std::uint64_t first_brought = 0;  // of its rows, among those that come
    event came;
  };
  struct direction {
    std::vector<near_chunk> chunks;  // in their order
    buffer<shard_lists::long_list> long_lists;
    std::uint64_t slices = 0, brought = 0, sources = 0, own = 0;  // own: where this shard's sources begin
    buffer<neighbour_partition> local, remote;                    // of mgg
    buffer<std::uint32_t> ends;
    buffer<float> weights;
    relation_edges<float> factors;
  };
  struct sums {  // what an aggregation is, forward or backward
    direction& d;
    float const *of_end, *of_row, *of_self;
    row_block<float const> in, self;
    row_block<float> out;
    std::uint64_t columns;
    bool add;
  };
  void take(executor& x, direction& to, whole_graph::lists const& lists, whole_graph const& g);
  void run(executor& x, sums const& s);
  void add_chunk(executor& x, sums const& s, near_chunk const& c, float const* rows, std::uint64_t stride, float const* of_end);
  // What other shards read: the rows as they are, or rounded.
  struct given_rows {
    void const* base;
    std::uint64_t row_bytes;
    element wire;
  };
  given_rows give(executor& x, sums const& s);
  void run_bulk(executor& x, sums const& s);
  void run_collective(executor& x, sums const& s);
  void run_mgg(executor& x, sums const& s);

  shard_group& group_;
  std::uint32_t shard_;
  shard_parts parts_;
  shard_options const& options_;
  aggregation how_;
  std::uint64_t rows_;
  executor far_;
  bool same_;
  direction forth_, back_;
  buffer<float> brought_, partial_, kept_;
  float const* constant_ = nullptr;
  std::uint64_t kept_columns_ = 0, numbers_brought_ = 0;
  buffer<std::uint16_t> packed_;
  event used_;  // what was brought last
};

}  // namespace garner
