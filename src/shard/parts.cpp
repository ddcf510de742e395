#include "shard/parts.hpp"

#include <algorithm>

#include "core/fail.hpp"

namespace garner {

void check_shard_options(shard_asked const& o, std::uint32_t most_shards) {
  auto const range = [](char const* what, std::uint32_t value, std::uint32_t most) {
    if (value < 1 || value > most) fail(errc::usage, "{} {}: use 1 to {}", value, what, most);
  };
  range("shards", o.shards, most_shards);
  if (o.sums == shard_reduction::deterministic && o.shards > shard_parts::exact_blocks)
    fail(errc::usage, "{} shards with the deterministic reduction: use 1 to {}, or the fast reduction", o.shards,
         shard_parts::exact_blocks);
  range("neighbors of a partition (ps)", o.tuning.ps, mgg_limits::ps);
  range("pairs of partitions per warp (dist)", o.tuning.dist, mgg_limits::dist);
  range("warps per block (wpb)", o.tuning.wpb, mgg_limits::wpb);
  if (o.wire != element::f32 && o.wire != element::bf16 && o.wire != element::f16)
    fail(errc::usage, "rows of {} between shards: use f32, bf16 or f16", to_string(o.wire));
  if (o.remote_adjacency && o.strategy == shard_strategy::mgg)
    fail(errc::usage,
         "adjacency in host memory and mgg, whose partitions are on the device; use another strategy, or adjacency on the device");
  if (o.compressed_adjacency && o.strategy == shard_strategy::mgg)
    fail(errc::usage, "compressed adjacency and mgg, whose partitions are plain; use another strategy, or plain adjacency");
  if (o.far_rows && (o.sums == shard_reduction::fast || o.strategy == shard_strategy::mgg))
    fail(errc::usage, "tiered features come in blocks of the deterministic reduction; use that reduction, and another strategy than mgg");
  if (o.host_activations && (o.sums == shard_reduction::fast || o.strategy == shard_strategy::mgg))
    fail(errc::usage, "activations in host memory come in blocks of the deterministic reduction; use that reduction{}",
         o.strategy == shard_strategy::mgg ? ", and another strategy than mgg" : "");
  if (o.host_layers && !o.host_activations) fail(errc::usage, "layers in host memory go with activations there; set both");
  if (!o.scratch.empty() && !o.host_activations)
    fail(errc::usage, "scratch {}: activations go there where they do not stay on the device; set host_activations too", o.scratch);
  if (o.list_window < 512) fail(errc::usage, "windows of {} edges: use 512 or more", o.list_window);  // a slice
  if (o.compressed_adjacency && o.list_window >= std::uint64_t{1} << 30)
    fail(errc::usage, "windows of {} edges, compressed: use less than 2^30", o.list_window);
  if (o.wire != element::f32 && o.strategy == shard_strategy::mgg)
    fail(errc::usage, "rows of {} between shards by mgg, which reads rows where they lie; use another strategy, or f32", to_string(o.wire));
}

shard_parts::shard_parts(std::uint64_t const* offsets, std::uint64_t vertices, shard_options const& o, std::string const& graph,
                         std::uint64_t grain, std::uint32_t most_shards) {
  std::uint32_t const n = o.shards;
  check_shard_options(o, most_shards);
  if (n > vertices) fail(errc::usage, "{} shards, and {} has {} vertices; use at most as many", n, graph, vertices);
  std::uint64_t const blocks = o.sums == shard_reduction::deterministic ? exact_blocks : n, edges = offsets[vertices];
  bool const by_edges = o.balance == shard_balance::edges && edges > 0;
  auto const begin = [&](std::uint64_t at) {
    begins_.push_back(std::max(begins_.back(), std::min((at + grain / 2) / grain, vertices / grain) * grain));
  };
  begins_.push_back(0);
  for (std::uint64_t k = 1; k < blocks; ++k) {
    std::uint64_t const share = (by_edges ? edges : vertices) / blocks * k + (by_edges ? edges : vertices) % blocks * k / blocks;
    if (!by_edges) {
      begin(share);
      continue;
    }
    std::uint64_t const *const from = offsets + begins_.back(), *at = std::lower_bound(from, offsets + vertices, share);
    if (at != from && *at > share && share - at[-1] < *at - share) --at;
    begin(static_cast<std::uint64_t>(at - offsets));
  }
  begins_.push_back(vertices);
  for (std::uint64_t s = 0; s <= n; ++s) first_block_.push_back(static_cast<std::uint32_t>(blocks * s / n));
}

std::uint32_t shard_parts::owner(std::uint64_t v) const {
  auto const block = static_cast<std::uint32_t>(std::upper_bound(begins_.begin(), begins_.end(), v) - begins_.begin()) - 1;
  return static_cast<std::uint32_t>(std::upper_bound(first_block_.begin(), first_block_.end(), block) - first_block_.begin()) - 1;
}

}  // namespace garner
