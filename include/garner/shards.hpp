// A graph that is split into contiguous parts of its vertices, with one thread or process each (one per GPU, or all on one device):
// - an algorithm over parts (the `devices` of its options): each shard reads only the adjacency of its own vertices; state that all need
//   (reached vertices, ranks, linked trees) is exchanged in bulk, as one bit or one number per vertex;
// - full-graph training over parts: remote rows that a part needs are exchanged once per aggregation;
// - mini-batches of a graph whose adjacency lies in several processes (graph_part, split_sampler).
// Sources: Wang et al., OSDI 2023 (MGG: parts of equal edges, its aggregation, its model).
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "garner/detail/held.hpp"
#include "garner/device.hpp"
#include "garner/features.hpp"
#include "garner/handle.hpp"
#include "garner/subgraph.hpp"
#include "garner/traffic.hpp"

namespace garner {

// One part of a graph: vertices [first, first + vertices) in the order of the graph (reorder_graph), and the entries of their adjacency.
struct shard_part {
  std::uint64_t first = 0, vertices = 0, edges = 0;
};

// One shard's share of a run of an algorithm.
struct shard_run {
  shard_part part;
  execution_device device;
  double ms = 0;  // its own work; for the rest of the run it waited for other shards
  traffic link;
  std::uint64_t bytes_exchanged = 0;  // read from other shards
};

// The quantity that is balanced between parts.
enum class shard_balance : std::uint8_t { edges, vertices };
std::string_view to_string(shard_balance b);
shard_balance parse_shard_balance(std::string_view text);  // errc::usage with the choices otherwise

// The order in which rows and gradients are summed.
enum class shard_reduction : std::uint8_t {
  deterministic,  // the same bits for any number of shards
  fast,           // a shard's own rows first, while remote rows arrive; one gradient per shard
};
std::string_view to_string(shard_reduction s);
shard_reduction parse_shard_reduction(std::string_view text);

// How rows of other shards are exchanged.
enum class shard_strategy : std::uint8_t {
  bulk,        // each needed row once, by owner; reduction overlaps the transfer
  collective,  // all rows of all shards first (as NCCL's all-gather), then the reduction
  mgg,         // each row read in place, for every edge, from within the kernel; in partitions, with atomics (the paper's strategy)
};
std::string_view to_string(shard_strategy w);
shard_strategy parse_shard_strategy(std::string_view text);

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
  shard_reduction sums = shard_reduction::deterministic;
  shard_strategy strategy = shard_strategy::bulk;  // mgg uses atomics: its sums have no fixed order
  // Adjacency stays in host memory and is streamed in every aggregation, for a part larger than its device. Not for mgg.
  bool remote_adjacency = false;
  // Adjacency is compressed, in device memory or (remote_adjacency) host memory, and decoded chunk by chunk in every aggregation: for a
  // part whose adjacency is larger than its device, or too large for the rate of its link. Weights stay uncompressed. Not for mgg.
  bool compressed_adjacency = false;
  std::uint64_t list_window = 1 << 22;  // edges per chunk; two chunks are in device memory at once
  // Feature rows stay in the table's tiers and are read in blocks of vertices, twice per step (GraphSAGE: three times), for a table larger
  // than all devices. For models that multiply rows first: wider than the first layer's output, or residual.
  // Needs deterministic reduction.
  bool far_rows = false;
  // Activations that the backward pass needs are kept in host memory, for a graph whose activations are larger than all devices. A device
  // has one or two arrays of rows of its part; what is kept crosses the link once each way. The same bits; any model takes far_rows then.
  // Needs deterministic reduction, and one type of nodes.
  bool host_activations = false;
  // With these: the arrays of rows too. The device has 64 columns of them at a time, which cross the link for each aggregation.
  bool host_layers = false;
  // With these: the activations are in a file without a name in this folder, on a disk with room for them; empty: in host memory.
  std::string scratch = {};
  // The type of exchanged rows: f32, or rounded to bf16 or f16 and accumulated in f32 (not for mgg). A single shard rounds nothing.
  element wire = element::f32;
  shard_provider provider = shard_provider::automatic;
};

// Properties of a split of a graph.
struct shard_report {
  struct part : shard_part {
    std::uint64_t remote_edges = 0;   // entries of its adjacency that lead to other parts' vertices
    std::vector<std::uint64_t> rows;  // distinct rows needed from each other part
    std::uint64_t remote_rows() const;
  };
  std::vector<part> parts;
  std::uint64_t edges() const, cut() const, remote_rows() const;  // over all parts
  double imbalance() const;                                       // edges of the largest part over the mean; 1 without edges
  double references() const;                                      // remote edges per remote row; 0 without any
};
// Parts follow the order of the graph (reorder_graph), so `first` is an internal index. errc::usage for 0 shards, more than 16, or more
// than there are vertices.
shard_report split_report(graph_handle const& g, edge_direction side, shard_options const& options);

// The choice of decide_shards() (garner/gnn.hpp), and why.
struct shard_decision {
  struct considered {
    shard_strategy strategy = shard_strategy::bulk;
    std::uint32_t shards = 1;                // the requested number; 1: a single device
    double predicted_ms = 0, floor_ms = 0;   // per epoch, aggregations only, from a model; the minimum for its bytes
    std::string bound;                       // the bottleneck: memory, cache, link, adjacency from host memory, or launches
    std::optional<double> measured_ms = {};  // the same, measured on this graph; unset: not measured
    std::string refused = {};                // the reason for a missing measurement: insufficient memory
  };
  shard_options options;               // the fastest strategy, and the number of shards
  std::vector<considered> strategies;  // by predicted time, fastest first
  bool rates_measured = false;         // of memory and link; false: assumed, those of an H200 or of a typical host
  considered const& chosen() const;
  std::string why() const;  // one line
};

// The threads of a training over shards (training_options::shards). errc::usage for a number out of range. If a shard does not join within
// `timeout_seconds`, the calls of all others throw errc::io with its number, as does its own call once it joins.
class shard_group;
std::shared_ptr<shard_group> shards_of_threads(shard_options const& options, double timeout_seconds = 300);
// The same for processes of one machine that pass the same name; this one is shard `shard` (training_options::rank too). All pass the same
// options, and train on the same graph with the same build: errc::usage names a difference. `timeout_seconds`: timeout for joining and for
// every later barrier: if a process is killed or times out, all others end with an error that names it.
std::shared_ptr<shard_group> shards_of_processes(shard_options const& options, std::string const& name, std::uint32_t shard,
                                                 double timeout_seconds = 60);
// The transport in use, once a training has been constructed; also the rejected ones, with the reasons.
struct shard_link {
  shard_provider provider = shard_provider::automatic;
  std::string about;
  std::vector<std::string> passed_over;
};
shard_link link_of(shard_group const& shards);
// The barriers that a thread's shard has reached so far: a shard whose count stands still hangs.
std::uint64_t barriers_of(shard_group const& shards, std::uint32_t shard);

// --- mini-batches of a split graph ---
// A graph_part holds the adjacency of one part. A split_sampler serves sampling requests for its part, and builds its own mini-batches from
// the results. The caller transports messages between processes: per hop, node ids to the owners of their adjacency (request()), and the
// sampled neighbors back (complete()).
// Invariant: a mini-batch has the same bits as block_sampler's over the whole graph, for any split.
struct part_options {
  edge_direction side = edge_direction::in;
  shard_balance balance = shard_balance::edges;  // the quantity that is balanced between parts
  bool weights = false;                          // keep edge weights too, for weighted sampling
};

// The adjacency of a block of vertices, in host memory or on a device. Vertices are named by their positions among all ids().
class graph_part {
 public:
  // Part `part` of the graph, which may be destroyed afterwards. If the graph stays in its file, only the part is read. errc::usage for
  // a part that does not exist; errc::input if the graph lacks requested in-edges or weights.
  graph_part(graph_handle const& g, std::uint32_t part, std::uint32_t of, part_options const& options = {});
  // From arrays: the vertices from `first` on, of `vertices` in all; targets by position; one weight per edge, or none. `first_edge`:
  // number of edges of earlier vertices, of `edges` in all. errc::input for descending offsets and for targets that do not exist.
  struct arrays {
    std::uint64_t first = 0, vertices = 0, first_edge = 0, edges = 0;
    std::span<std::int64_t const> offsets = {}, targets = {};  // offsets start at 0, one more than there are vertices here
    std::span<float const> weights = {};
  };
  explicit graph_part(arrays const& lists);
  ~graph_part();
  graph_part(graph_part&&) noexcept;
  graph_part& operator=(graph_part&&) noexcept;

  shard_part part() const;
  std::uint64_t all_vertices() const, all_edges() const;  // of all parts
  // A digest shared by all parts of one graph: of its sizes, degrees and order; 0 for arrays.
  std::uint64_t digest() const;
  std::uint64_t bytes() const;                                              // of its adjacency and its vertex metadata
  void to_device(execution_device device, std::optional<tier> edges = {});  // as to_device() of a graph; errc::usage once a sampler uses it

  struct parts;
  std::shared_ptr<parts> const& inside() const { return parts_; }

 private:
  std::shared_ptr<parts> parts_;  // shared with the samplers
};

// One hop's sampling requests: node positions, and the mini-batch of each. `more`: a hop follows, whose request may be empty.
struct sampling_request {
  bool more = false;
  std::uint32_t hop = 0;
  std::vector<std::int64_t> vertices;
  std::vector<std::uint32_t> batches;
};
// The sampled neighbors: counts per node, the neighbors contiguously, and with edge_ids the index of each edge in the whole graph's
// adjacency.
struct sampling_response {
  std::vector<std::uint32_t> counts;
  std::vector<std::int64_t> neighbors, edges;
};

// Call it from one thread at a time; every call blocks. It shares the part's adjacency, so the part may be destroyed or moved.
class split_sampler {
 public:
  static constexpr std::uint64_t max_batches = 64;

  // Options used: seed, replace, weighted, labor, edges, edge_ids, access, adjacency. errc::usage for others, and as block_sampler. With
  // labor, a reordered graph gives other neighbors than the whole graph.
  split_sampler(execution_device device, graph_part const& part, std::vector<std::int64_t> fanouts, block_options const& options = {});
  ~split_sampler();
  split_sampler(split_sampler&&) noexcept;
  split_sampler& operator=(split_sampler&&) noexcept;

  // Serves a request: hop `hop` of mini-batches number + batches[i] for vertices[i]. errc::input for a vertex of another part.
  sampling_response sample(std::uint64_t number, std::uint32_t hop, std::span<std::int64_t const> vertices,
                           std::span<std::uint32_t const> batches);
  // For this process: mini-batches number, number + 1 ... of these seeds, 1 to max_batches of them, into these. errc::input for a seed
  // that does not exist.
  void begin(std::uint64_t number, std::vector<std::span<std::int64_t const>> const& seeds, std::vector<sampled_subgraph> into);
  sampling_request const& request() const;
  void complete(sampling_response response);  // the results for request(), in its order; errc::input if they do not match
  std::vector<sampled_subgraph> finish();     // once request().more is false

  execution_device device() const;
  std::uint64_t bytes() const;        // device memory that it holds now
  std::uint64_t fingerprint() const;  // of everything that determines the samples: must be equal in all processes

  struct parts;

 private:
  detail::held<parts> parts_;
};

}  // namespace garner
