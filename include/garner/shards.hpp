// A whole graph over several places: contiguous parts of its vertices, a thread each (of a GPU each, or all of one place), which train one
// model together without sampling. What a part needs of another's rows comes to it once an aggregation.
// Sources: Wang et al., OSDI 2023 (MGG: parts of equal edges, its way to aggregate, its model).
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "garner/blocks.hpp"
#include "garner/features.hpp"
#include "garner/handle.hpp"

namespace garner {

// What the parts have as many of.
enum class shard_balance : std::uint8_t { edges, vertices };
std::string_view to_string(shard_balance b);
shard_balance parse_shard_balance(std::string_view text);  // errc::usage with the choices otherwise

// In which order rows and gradients are added up.
enum class shard_sums : std::uint8_t {
  exact,  // one that no number of shards changes: the same bits with any
  quick,  // a shard's own rows first, while others come; one gradient a shard
};
std::string_view to_string(shard_sums s);
shard_sums parse_shard_sums(std::string_view text);

// How rows of other shards come.
enum class shard_way : std::uint8_t {
  bulk,        // each needed row once, by owner; what has come is added up while the next comes
  collective,  // all rows of all shards first (the way of NCCL's all-gather), then the sums
  mgg,         // each row where it lies, once an edge, from within the sums; in partitions, by atomics (the paper's way)
};
std::string_view to_string(shard_way w);
shard_way parse_shard_way(std::string_view text);

// Of `mgg`: neighbours of a partition, pairs of a local and a remote partition that one warp does, warps a block.
struct mgg_shape {
  std::uint32_t ps = 16, dist = 1, wpb = 4;
  bool operator==(mgg_shape const&) const = default;
};

struct shard_options {
  std::uint32_t shards = 1;
  shard_balance balance = shard_balance::edges;
  shard_sums sums = shard_sums::exact;
  shard_way way = shard_way::bulk;  // mgg adds by atomics: no order of sums
  mgg_shape mgg = {};
  // What rows are between shards: f32, or rounded to bf16 or f16 and added up in f32 (not by mgg). One shard alone rounds nothing.
  element wire = element::f32;
};

// What a graph comes to when it is split so.
struct shard_report {
  struct part {
    std::uint64_t first = 0, vertices = 0;
    std::uint64_t edges = 0, remote_edges = 0;  // entries of its lists; those that lead to other parts' vertices
    std::vector<std::uint64_t> rows;            // needed of each other part, each once
    std::uint64_t remote_rows() const;
  };
  std::vector<part> parts;
  std::uint64_t edges() const, cut() const, remote_rows() const;  // of all parts
  double imbalance() const;                                       // edges of the largest part over the mean; without edges 1
  double references() const;                                      // to a row that comes: remote edges a remote row; without any 0
};
// Parts are of the order that the graph has (reorder_graph), so `first` is a place there. errc::usage for no shards, more than 16, or more
// than there are vertices.
shard_report split_report(graph_handle const& g, list_side side, shard_options const& options);

// The threads of a training over shards (training_options::shards). errc::usage for a number that is out of range.
class shard_group;
std::shared_ptr<shard_group> shards_of_threads(shard_options const& options, double wait_seconds = 60);

}  // namespace garner
