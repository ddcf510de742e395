// Settings for measurements: those that reproduce the papers' programs, or isolate one of Garner's optimizations. The defaults are the
// fastest.
#pragma once
#include <cstdint>
#include <optional>

namespace garner {

// How a traversal assigns adjacency to teams, and what a simulated run assumes.
struct traversal_tuning {
  std::uint32_t slice = 1024;           // bfs, sssp, components: elements of a long list per team; a multiple of 32, 64 or more
  std::uint32_t vertices_per_team = 1;  // lists per team, in sequence; EMOGI's fastest program uses 8
  bool split_hubs = true;               // bfs, sssp: several teams read a long list, `slice` elements each
  // bfs, sssp: read adjacent lists of the frontier as one span; unset: if access is aligned with one vertex per team, and for sssp not on
  // the CPU
  std::optional<bool> join_lists;
  bool queue_small = true;                // bfs: small levels use a queue, one launch each (aligned or merged, one vertex per team)
  std::uint64_t block_bytes = 64u << 20;  // access copied: bytes of adjacency (and weights) per copy
  std::uint64_t l2_bytes = 0;             // simulated runs: an L2 of this size before the link; 0: none
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

}  // namespace garner
