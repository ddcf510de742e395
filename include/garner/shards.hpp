// A whole graph over several places: contiguous parts of its vertices, a thread or a process each (of a GPU each, or all of one place),
// which train one model together without sampling. What a part needs of another's rows comes to it once an aggregation.
// Sources: Wang et al., OSDI 2023 (MGG: parts of equal edges, its way to aggregate, its model).
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
  // What shows the worth of a part of it. The paper's figure 9: lists are not cut, whatever `ps` is; local and remote partitions are of
  // warps apart.
  bool whole_lists = false, apart = false;
  bool plain_reads = false;  // of remote rows: waited for as they are added up; else they come meanwhile, by asynchronous copies
  bool operator==(mgg_shape const&) const = default;
};

// What rows of other shards come over.
enum class shard_provider : std::uint8_t {
  automatic,  // the first of those below that all shards can have, in their order; so too where nccl or nvshmem was said and is not to be
              // had
  peer,       // each other's memory: of one process, of processes (shared, CUDA IPC), of devices that reach each other
  nccl,       // NCCL, opened at run time: its windows, else sent and received
  nvshmem,    // NVSHMEM, opened at run time, of shards that are processes; by its name alone
  host,       // host memory, where each shard leaves its rows for all: slow, and there everywhere
};
std::string_view to_string(shard_provider p);
shard_provider parse_shard_provider(std::string_view text);

struct shard_options {
  std::uint32_t shards = 1;
  shard_balance balance = shard_balance::edges;
  shard_sums sums = shard_sums::exact;
  shard_way way = shard_way::bulk;  // mgg adds by atomics: no order of sums
  mgg_shape mgg = {};
  // Lists stay in host memory and come near a window at a time, in every aggregation: of a part that is larger than its device. Not by mgg.
  bool far_lists = false;
  // Lists lie packed, near or (far_lists) in host memory, and are unpacked near a window at a time, in every aggregation: of a part whose
  // plain lists are larger than its device, or than what its link brings in time. Weights stay plain. Not by mgg.
  bool packed_lists = false;
  std::uint64_t list_window = 1 << 22;  // edges of a window; two are near at once
  // Rows of the table stay where its tiers have them, and come near a block of vertices at a time, twice a step (GraphSAGE: three times),
  // for a table larger than all devices. Of models that multiply rows first: wider than what the first layer makes of them, or residual.
  // With exact sums.
  bool far_rows = false;
  // What rows are between shards: f32, or rounded to bf16 or f16 and added up in f32 (not by mgg). One shard alone rounds nothing.
  element wire = element::f32;
  shard_provider provider = shard_provider::automatic;
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

// What decide_shards() (garner/gnn.hpp) chose, and why.
struct shard_decision {
  struct considered {
    shard_way way = shard_way::bulk;
    std::uint32_t shards = 1;                // as many as were asked for; 1: one place alone
    double predicted_ms = 0, floor_ms = 0;   // of an epoch's aggregations, by arithmetic; the least that its bytes need
    std::string bound;                       // what most of it waits for: memory, cache, link, lists from host memory, or launches
    std::optional<double> measured_ms = {};  // the same on this graph; unset: not measured
    std::string refused = {};                // why it could not be measured: memory that it lacks
  };
  shard_options options;         // the fastest way, and how many shards
  std::vector<considered> ways;  // the fastest first, as predicted
  bool rates_measured = false;   // of memory and link; else those of an H200, or of a common host
  considered const& chosen() const;
  std::string why() const;  // one line
};

// The threads of a training over shards (training_options::shards). errc::usage for a number that is out of range. A shard that does not
// come for `wait_seconds` is late: the calls of all others name it, errc::io, as does its own once it comes.
class shard_group;
std::shared_ptr<shard_group> shards_of_threads(shard_options const& options, double wait_seconds = 300);
// Or processes of one machine that say the same name; this one is shard `shard` (training_options::rank too). All say the same options, and
// train on the same graph by the same build: errc::usage tells what differs. `wait_seconds`: for all to come, and for each wherever others
// wait for it: all end with the name of one that was killed, or that is later.
std::shared_ptr<shard_group> shards_of_processes(shard_options const& options, std::string const& name, std::uint32_t shard,
                                                 double wait_seconds = 60);
// What rows of other shards come over, once a training has been made of them; and which were tried before it, with why they were not taken.
struct shard_link {
  shard_provider provider = shard_provider::automatic;
  std::string about;
  std::vector<std::string> passed_over;
};
shard_link link_of(shard_group const& shards);

}  // namespace garner
