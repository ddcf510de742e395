// A shard's side of training on the whole graph: its vertices, their rows and blocks, aggregation over all shards, gradients and all
// scores. Network and training use it as a graph on one device. Parts are contiguous in the graph's internal order. Where that differs
// from the order of the user's ids, which indexes rows, labels and scores, each shard knows the positions of its vertices among these.
// Invariant: all shards make the same calls.
// Cost: adjacency and rows of the part (shard/lists.hpp); the whole adjacency in host memory once, during the split; a gradient per
// block.
#pragma once
#include <functional>
#include <memory>

#include "garner/features.hpp"
#include "nn/evaluate.hpp"
#include "nn/network.hpp"
#include "nn/part_rows.hpp"
#include "nn/sharded.hpp"

namespace garner {

class graph_shard {
 public:
  // The thread has taken its shard of the group. All must outlive it.
  graph_shard(shard_group& group, std::uint32_t shard, executor& x, graph_handle const& g, edge_direction side, bool weighted,
              aggregation how);

  std::uint64_t first() const { return parts_->first(shard_); }
  std::uint64_t count() const { return parts_->count(shard_); }
  std::uint64_t blocks() const { return blocks_.size() - 1; }
  std::uint64_t block(std::uint64_t b) const { return blocks_[b]; }  // counted from first()
  std::uint64_t position(std::uint64_t i) const {                    // of its vertex i, among the user's ids
    return permuted_ ? static_cast<std::uint64_t>(positions_[i]) : first() + i;
  }
  // errc::usage: rows by tier with a model that needs all of them on the device.
  static void require_rows(shard_options const& o, network<float> const& net);
  // Rows, edges and blocks of the part. Depending on the group, the rows are gathered once, or read from their tiers block by block.
  void fill(network<float>::pass& p, network<float>& net, row_scaling scaling, tiered_tensor& features);
  // Sets gradients(), the same bits on all shards.
  void sum_gradients(network<float>& net);
  // Labels of its vertices, -1 where they are of another part.
  near_labels labels(labelled_parts const& of, split_part p) const;
  // On shard 0: take(first, count, scores) for positions of all shards, ascending: block by block, or all at once where the order differs.
  using taker = std::function<void(std::uint64_t first, std::uint64_t count, row_block<float const> scores)>;
  void scores_of_all(row_block<float const> mine, std::uint64_t columns, taker const& take);
  std::uint64_t bytes() const {
    return edges_->bytes() + (kept_ ? kept_->bytes() : 0) + rows_.bytes() + all_positions_.bytes() + all_scores_.bytes() +
           group_.access(shard_).bytes() + (far_rows_ ? far_rows_->bytes() : 0);
  }

 private:
  shard_group& group_;
  std::uint32_t shard_;
  executor& x_;
  std::optional<shard_parts> parts_;
  std::optional<sharded_edges> edges_;
  std::vector<relation_edges<float>> relations_;
  std::vector<std::uint64_t> blocks_;
  std::vector<std::int64_t> positions_;  // of its vertices; none: they follow each other
  buffer<std::int64_t> all_positions_;   // shard 0: of all
  buffer<float> rows_, all_scores_;
  std::optional<part_rows> far_rows_;
  std::optional<kept_rows<float>> kept_;
  bool have_rows_ = false, permuted_ = false;
};

}  // namespace garner
