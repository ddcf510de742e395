// Contiguous parts of a graph's vertices, one per shard, with about as many edges: algorithm 1 of MGG (Wang et al., OSDI 2023) by a binary
// search of the offsets, each boundary at its share of all edges, so that surplus of one part does not shrink the next. Deterministic sums
// are over blocks of vertices that depend on the graph alone; a shard has some of them, whole. Invariant: parts and blocks follow each
// other and cover all vertices; any may be empty. Cost: one search per boundary.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "garner/shards.hpp"

namespace garner {

class shard_parts {
 public:
  static constexpr std::uint32_t most = 16;              // of one machine
  static constexpr std::uint32_t most_elsewhere = 4096;  // the caller provides remote rows
  // Of 1, 2, 3, 4, 6, 8 and 16 shards each has as many, of others nearly; few enough for a gradient each.
  static constexpr std::uint32_t exact_blocks = 48;

  // errc::usage as split_report(). Parts and blocks begin at multiples of `grain` vertices.
  shard_parts(std::uint64_t const* offsets, std::uint64_t vertices, shard_options const& o, std::string const& graph,
              std::uint64_t grain = 1, std::uint32_t most_shards = most);

  std::uint32_t shards() const { return static_cast<std::uint32_t>(first_block_.size()) - 1; }
  std::uint64_t vertices() const { return begins_.back(); }
  std::uint64_t first(std::uint32_t shard) const { return begins_[first_block_[shard]]; }
  std::uint64_t count(std::uint32_t shard) const { return first(shard + 1) - first(shard); }
  std::uint32_t owner(std::uint64_t v) const;
  // Where its blocks begin, and where the last ends.
  std::span<std::uint64_t const> blocks(std::uint32_t shard) const {
    return std::span(begins_).subspan(first_block_[shard], first_block_[shard + 1] - first_block_[shard] + 1);
  }

 private:
  std::vector<std::uint64_t> begins_;       // of each block; the last: all vertices
  std::vector<std::uint32_t> first_block_;  // of each shard; the last: all blocks
};

// MGG's kernel (shard_strategy::mgg): neighbors per partition, pairs of a local and a remote partition per warp, warps per block.
struct mgg_tuning {
  std::uint32_t ps = 16, dist = 1, wpb = 4;
  // Settings to measure parts of it. The paper's figure 9: lists are not split, whatever `ps` is; local and remote partitions use different
  // warps.
  bool whole_lists = false, apart = false;
  bool plain_reads = false;  // read remote rows synchronously; false: overlap them by asynchronous copies
  bool operator==(mgg_tuning const&) const = default;
};
struct mgg_limits {
  static constexpr std::uint32_t ps = 32, dist = 16, wpb = 16;  // at the most: the paper's ranges
};
// Options of the contract, and the shape of MGG's kernel, which garner-lab alone sets. Passed as shard_options it would be lost.
struct shard_asked : shard_options {
  mgg_tuning tuning = {};
  shard_asked() = default;
  shard_asked(shard_options o) : shard_options(std::move(o)) {}
};
// errc::usage names the option that is out of range.
void check_shard_options(shard_asked const& o, std::uint32_t most_shards = shard_parts::most);

}  // namespace garner
