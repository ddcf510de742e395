// Full-graph training over several devices: contiguous parts of the vertices, with one thread or process each (one per GPU, or all on one
// device), train one model without sampling. Remote rows that a part needs are exchanged once per aggregation.
// Sources: Wang et al., OSDI 2023 (MGG: parts of equal edges, its aggregation, its model).
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "garner/blocks.hpp"
#include "garner/features.hpp"
#include "garner/handle.hpp"

namespace garner {

// The quantity that is balanced between parts.
enum class shard_balance : std::uint8_t { edges, vertices };
std::string_view to_string(shard_balance b);
shard_balance parse_shard_balance(std::string_view text);  // errc::usage with the choices otherwise

// The order in which rows and gradients are summed.
enum class shard_sums : std::uint8_t {
  exact,  // deterministic: the same bits for any number of shards
  quick,  // fast: a shard's own rows first, while remote rows arrive; one gradient per shard
};
std::string_view to_string(shard_sums s);
shard_sums parse_shard_sums(std::string_view text);

// How rows of other shards are exchanged.
enum class shard_way : std::uint8_t {
  bulk,        // each needed row once, by owner; reduction overlaps the transfer
  collective,  // all rows of all shards first (as NCCL's all-gather), then the reduction
  mgg,         // each row read in place, for every edge, from within the kernel; in partitions, with atomics (the paper's strategy)
};
std::string_view to_string(shard_way w);
shard_way parse_shard_way(std::string_view text);

// For `mgg`: neighbors per partition, pairs of a local and a remote partition per warp, warps per block.
struct mgg_shape {
  std::uint32_t ps = 16, dist = 1, wpb = 4;
  // Settings to measure parts of it. The paper's figure 9: lists are not split, whatever `ps` is; local and remote partitions use different
  // warps.
  bool whole_lists = false, apart = false;
  bool plain_reads = false;  // read remote rows synchronously; false: overlap them by asynchronous copies
  bool operator==(mgg_shape const&) const = default;
};

// The transport for rows of other shards.
enum class shard_provider : std::uint8_t {
  automatic,  // the first of those below that all shards support, in this order; also the fallback of nccl and
              // nvshmem
  peer,       // direct access: in one process, between processes (shared memory, CUDA IPC), between devices
  nccl,       // NCCL, opened at run time: its windows, else send and receive
  nvshmem,    // NVSHMEM, opened at run time, for shards that are processes; only if requested
  host,       // host memory, where each shard stages its rows for all: slow, always available
};
std::string_view to_string(shard_provider p);
shard_provider parse_shard_provider(std::string_view text);

struct shard_options {
  std::uint32_t shards = 1;
  shard_balance balance = shard_balance::edges;
  shard_sums sums = shard_sums::exact;
  shard_way way = shard_way::bulk;  // mgg uses atomics: its sums have no fixed order
  mgg_shape mgg = {};
  // Adjacency stays in host memory and is streamed in every aggregation, for a part larger than its device. Not for mgg.
  bool far_lists = false;
  // Adjacency is compressed, in device memory or (far_lists) host memory, and decoded chunk by chunk in every aggregation: for a part whose
  // adjacency is larger than its device, or too large for the rate of its link. Weights stay uncompressed. Not for mgg.
  bool packed_lists = false;
  std::uint64_t list_window = 1 << 22;  // edges per chunk; two chunks are in device memory at once
  // Feature rows stay in the table's tiers and are read in blocks of vertices, twice per step (GraphSAGE: three times), for a table larger
  // than all devices. For models that multiply rows first: wider than the first layer's output, or residual.
  // Needs deterministic reduction.
  bool far_rows = false;
  // The type of exchanged rows: f32, or rounded to bf16 or f16 and accumulated in f32 (not for mgg). A single shard rounds nothing.
  element wire = element::f32;
  shard_provider provider = shard_provider::automatic;
};

// Properties of a split of a graph.
struct shard_report {
  struct part {
    std::uint64_t first = 0, vertices = 0;
    std::uint64_t edges = 0, remote_edges = 0;  // entries of its adjacency; those that lead to other parts' vertices
    std::vector<std::uint64_t> rows;            // distinct rows needed from each other part
    std::uint64_t remote_rows() const;
  };
  std::vector<part> parts;
  std::uint64_t edges() const, cut() const, remote_rows() const;  // over all parts
  double imbalance() const;                                       // edges of the largest part over the mean; 1 without edges
  double references() const;                                      // remote edges per remote row; 0 without any
};
// Parts follow the order of the graph (reorder_graph), so `first` is an internal index. errc::usage for 0 shards, more than 16, or more
// than there are vertices.
shard_report split_report(graph_handle const& g, list_side side, shard_options const& options);

// The choice of decide_shards() (garner/gnn.hpp), and why.
struct shard_decision {
  struct considered {
    shard_way way = shard_way::bulk;
    std::uint32_t shards = 1;                // the requested number; 1: a single device
    double predicted_ms = 0, floor_ms = 0;   // per epoch, aggregations only, from a model; the minimum for its bytes
    std::string bound;                       // the bottleneck: memory, cache, link, adjacency from host memory, or launches
    std::optional<double> measured_ms = {};  // the same, measured on this graph; unset: not measured
    std::string refused = {};                // the reason for a missing measurement: insufficient memory
  };
  shard_options options;         // the fastest strategy, and the number of shards
  std::vector<considered> ways;  // by predicted time, fastest first
  bool rates_measured = false;   // of memory and link; false: assumed, those of an H200 or of a typical host
  considered const& chosen() const;
  std::string why() const;  // one line
};

// The threads of a training over shards (training_options::shards). errc::usage for a number out of range. If a shard does not join within
// `wait_seconds`, the calls of all others throw errc::io with its number, as does its own call once it joins.
class shard_group;
std::shared_ptr<shard_group> shards_of_threads(shard_options const& options, double wait_seconds = 300);
// The same for processes of one machine that pass the same name; this one is shard `shard` (training_options::rank too). All pass the same
// options, and train on the same graph with the same build: errc::usage names a difference. `wait_seconds`: timeout for joining and for
// every later barrier: if a process is killed or times out, all others end with an error that names it.
std::shared_ptr<shard_group> shards_of_processes(shard_options const& options, std::string const& name, std::uint32_t shard,
                                                 double wait_seconds = 60);
// The transport in use, once a training has been constructed; also the rejected ones, with the reasons.
struct shard_link {
  shard_provider provider = shard_provider::automatic;
  std::string about;
  std::vector<std::string> passed_over;
};
shard_link link_of(shard_group const& shards);
// The barriers that a thread's shard has reached so far: a shard whose count stands still hangs.
std::uint64_t barriers_of(shard_group const& shards, std::uint32_t shard);

}  // namespace garner
