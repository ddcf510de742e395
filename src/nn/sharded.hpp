// Aggregation over the shards of a graph: this shard's vertices sum rows of their neighbors, on whichever shard these are; backward the
// same over the transposed adjacency, which is the same for an undirected graph.
//   bulk        fetches each needed row once, owner by owner, on a stream of its own; sums of one owner's rows overlap the next fetch
//   collective  fetches all rows of all shards, then sums
//   mgg         a team as wide as a row adds `dist` local partitions and `dist` remote ones in turn, copies remote rows from where they
//               lie to shared memory while it adds local ones, and adds its sums to the rows that come out by atomics (Wang et al., OSDI
//               2023, section 3)
// Invariant: every shard makes the same calls. By bulk and collective with deterministic sums a vertex adds in list order, so that each
// number of shards gives the same bits; mgg does not keep an order. Cost: see shard/lists.hpp; fetched rows take device memory again.
#pragma once
#include <optional>

#include "core/lease.hpp"
#include "nn/aggregate.hpp"
#include "nn/whole_graph.hpp"
#include "shard/exchange.hpp"
#include "shard/lists.hpp"
#include "shard/packed_chunk.hpp"

namespace garner {

class sharded_edges final : public aggregation_over<float> {
 public:
  // All must outlive it but `g`, which is read here; without its transpose for forward() alone.
  sharded_edges(shard_group& group, std::uint32_t shard, executor& x, whole_graph const& g, shard_parts const& parts, aggregation how);
  // For a shard without a group in this process: the caller provides remote rows, and begin() and finish() are one call.
  sharded_edges(shard_asked const& options, std::uint32_t shard, executor& x, whole_graph const& g, shard_parts const& parts,
                aggregation how);

  void forward(executor& x, row_block<float const> in, row_block<float> out, std::uint64_t columns, row_block<float const> self) override;
  void backward(executor& x, row_block<float const> in, row_block<float> out, std::uint64_t columns, row_block<float const> self,
                bool add) override;
  std::uint64_t bytes() const override;
  // Sums local rows first, and then the rest. `brought`: the rows listed by needed(), one after the other by owner.
  void begin(executor& x, bool back, row_block<float const> in, row_block<float> out, std::uint64_t columns);
  void finish(executor& x, bool back, row_block<float const> in, float const* brought, row_block<float> out, std::uint64_t columns);
  std::vector<std::vector<std::uint32_t>> const& needed(bool back) const { return back && !same_ ? back_.needed : forth_.needed; }
  bool same() const { return same_; }               // back and forth
  void aggregate_as(executor& x, aggregation how);  // from here on
  // Rows at `rows` are constant, on all shards: by bulk remote ones are fetched once, and kept. The same on all shards.
  void never_changes(float const* rows) { constant_ = rows; }
  // From here on rows that others read are in that tier, where each call copies them first: a baseline with managed memory.
  void share_in(tier where) { scaled_ = {}, shared_in_ = where; }
  std::uint64_t numbers_brought() const { return numbers_brought_; }  // by bulk, so far
  std::uint64_t rows_brought(bool back = false) const;                // of other shards, an aggregation: as often as they cross

 private:
  struct near_chunk {
    std::uint32_t owner;
    std::vector<chunk_window> windows;  // where its adjacency is remote, or compressed
    packed_chunk packed;                // instead of items, offsets and ends
    buffer<shard_item> items;
    buffer<std::uint64_t> offsets;
    buffer<std::uint32_t> ends, needs;
    buffer<float> weights;
    std::uint64_t first_brought = 0;  // of its rows, among those that come
  };
  struct direction {
    std::vector<near_chunk> chunks;  // in their order
    buffer<shard_lists::long_list> long_lists;
    std::uint64_t slices = 0, brought = 0;
    buffer<neighbor_partition> local, remote;  // of mgg
    buffer<std::uint32_t> ends;
    buffer<float> weights;
    // For rows provided by the caller: which rows, by owner, and their factors here.
    std::vector<std::vector<std::uint32_t>> needed;
    buffer<float> degrees;
    relation_edges<float> factors;
    std::shared_ptr<row_demand const> demand;  // of rows that others send; null: they are read where they lie
  };
  struct sums {  // what an aggregation is, forward or backward
    direction& d;
    float const *of_row, *of_self;  // null: 1
    row_block<float const> in, self;
    row_block<float> out;
    std::uint64_t columns;
    bool add;
  };
  sharded_edges(shard_group* group, shard_asked const& options, std::uint32_t shard, executor& x, whole_graph const& g,
                shard_parts const& parts, aggregation how);
  void take(executor& x, direction& to, whole_graph::lists const& lists, whole_graph const& g);
  std::vector<bool> whole_from(executor const& x) const;  // by owner: whether all its rows may come (rows_that_come())
  buffer<float> degrees_of(executor& x, whole_graph const& g, std::vector<std::uint64_t> const& vertices) const;
  void normalise(executor& x);
  shard_asked const& options() const { return group_ ? group_->options() : own_options_; }
  // `multiplied`: rows times what the other end of an edge multiplies them by.
  row_block<float const> as_read(executor& x, bool back, row_block<float const> in, std::uint64_t columns);
  sums sums_of(bool back, row_block<float const> in, row_block<float const> multiplied, row_block<float> out, std::uint64_t columns,
               row_block<float const> self, bool add);
  bool first_is_own(direction const& d) const { return !d.chunks.empty() && d.chunks.front().owner == shard_; }
  void run(executor& x, sums const& s);
  template <class T>
  buffer<T> keep(executor& x, std::vector<T> const& from, char const* what) const;  // on the device, or in host memory
  bool by_windows() const { return options().remote_adjacency || options().compressed_adjacency; }
  // Rows that a chunk's ends count.
  struct chunk_rows {
    void const* data;
    std::uint64_t stride;  // numbers
    element is;            // f32, or what crossed
  };
  static chunk_rows of_floats(row_block<float const> rows) { return {rows.data, rows.stride, element::f32}; }
  // For the adjacency in one staging buffer, from that end on.
  void add_items(executor& x, sums const& s, chunk_rows const& rows, shard_item const* items, std::uint64_t count,
                 std::uint64_t const* offsets, std::uint32_t const* ends, float const* weights, std::uint64_t first_end);
  void add_chunk(executor& x, sums const& s, near_chunk const& c, chunk_rows const& rows);
  void add_slices(executor& x, sums const& s);  // of long lists
  // What other shards read: the rows as they are, or rounded.
  struct given_rows : shared_part {
    element wire;
  };
  given_rows give(executor& x, sums const& s);
  void run_bulk(executor& x, sums const& s);
  void run_collective(executor& x, sums const& s);
  void run_mgg(executor& x, sums const& s);
  template <bool Ahead>
  void run_partitions(executor& x, sums const& s);

  shard_group* group_;  // null: the caller brings rows
  std::uint32_t shard_;
  shard_parts parts_;
  shard_asked own_options_;  // without a group
  aggregation how_;
  std::uint64_t rows_;
  executor far_;
  bool same_;
  direction forth_, back_;
  struct staged_lists {
    buffer<shard_item> items;
    buffer<std::uint64_t> offsets;
    buffer<std::uint32_t> ends;
    buffer<float> weights;
    std::uint64_t bytes() const { return items.bytes() + offsets.bytes() + ends.bytes() + weights.bytes(); }
  };
  std::optional<executor> lists_come_;  // by windows
  leased<staged_lists> staged_[2];      // these fill them
  packed_chunk::room codes_;
  std::uint64_t windows_come_ = 0;
  relation_edges<float> factors_;  // of this shard's vertices, whose rows are multiplied before they are shared
  buffer<float> degrees_, partial_, scaled_, multiplied_;
  leased<buffer<char>> brought_, kept_;  // of other shards, as they crossed; far_ fills them
  std::optional<tier> shared_in_;        // none: where rows are
  float const* constant_ = nullptr;
  std::uint64_t kept_columns_ = 0, numbers_brought_ = 0;
  buffer<std::uint16_t> packed_;
  event here_done_, aside_;  // of mgg, where local and remote partitions have warps of their own
  wait_at_end settled_{far_};
};

}  // namespace garner
