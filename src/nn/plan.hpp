// Predicts memory and work of a training, before anything of the graph but its offsets is read. Invariant: the arrays are those of network,
// aggregate and infer/plan, each a quarter longer where it grows with mini-batches. Mini-batches are the estimates of load/plan. Cost:
// some tens of sums.
#pragma once
#include <optional>
#include <vector>

#include "garner/gnn.hpp"
#include "garner/shards.hpp"
#include "load/plan.hpp"
#include "nn/infer/plan.hpp"
#include "shard/parts.hpp"

namespace garner {

struct training_question {
  load_question load;  // fanouts empty: the whole graph at every step
  model_options model;
  model_types types;  // of several, as load.types and load.relations have them; no names: one type
  double input_dropout = 0;
  bool dropout = true;
  double training = 0;  // training vertices, over all ranks
  std::uint64_t validation = 0, test = 0;
  std::uint32_t ranks = 1;     // mini-batches are of `batch` seeds a rank
  bool lists_on_peer = false;  // else on the device or, as load has it, remote
  // How the gradients of other ranks are read: where they lie all on one place, from peers, or through host memory.
  enum class exchange : std::uint8_t { near, peers, host } gradients = exchange::near;
  // For the whole graph, a shard; none: all of it.
  struct part {
    double vertices = 0, edges = 0, remote_rows = 0;  // at the most, of others
    std::uint32_t blocks = 1;                         // of its gradients
    double largest_block = 0;                         // vertices; where rows come by tier
    bool evaluates = false;                           // the first: scores of all
    shard_asked how = {};
  };
  std::optional<part> shard = {};
  bool shard_windows = false;         // shared data of shards is copied into staging buffers on the device (shard/rows.cpp)
  std::uint64_t evaluation_near = 0;  // bytes that exact evaluation may take
};

// Bytes that a rank reads per step, by memory tier. On the host all of it is local.
struct read_by_tier {
  char const* what;
  double near = 0, peer = 0, far = 0;
  double file = 0;  // from the drive, before
};

// For one rank.
struct training_plan {
  load_plan load;                   // of mini-batches
  std::vector<double> rows, edges;  // per step, of all types: before each layer, the last is the output; of each layer
  std::vector<load_array> near;     // besides the loader's
  std::vector<load_array> host;     // in host memory, besides graph and table
  std::vector<load_array> file;     // in files of shard_options::scratch
  inference_plan evaluation;
  std::uint64_t parameters = 0, steps = 0;  // an epoch
  // Per epoch: operations of GEMM, bytes of rows that aggregation reads and writes on the device, bytes over the link.
  double flops = 0, near_bytes = 0, link_bytes = 0;
  std::vector<read_by_tier> reads;  // for a step: lists, rows, what aggregation reads and writes, gradients of ranks
  std::uint64_t bytes() const;      // on the device, without the evaluation
};
training_plan plan_training(training_question const& q);  // errc::usage: of several types another model than GraphSAGE

// For one direction of a shard's adjacency, as it is stored; an upper bound if compressed.
double shard_list_bytes(training_question const& q);

// Assumed rates without a device to measure: half of a 2022 GPU's TF32 rate and memory bandwidth.
inline constexpr double assumed_flops = 2e14, assumed_near_bytes = 1.5e12;

}  // namespace garner
