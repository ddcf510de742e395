// What a training will take near and work out, before anything of the graph but its offsets is read.
// Invariant: the arrays are those of network, aggregate, infer_plan and types_in_parts, each a quarter longer where it grows with
// mini-batches. Mini-batches are the estimates of load/plan. Cost: some tens of sums.
#pragma once
#include <optional>
#include <vector>

#include "garner/gnn.hpp"
#include "garner/shards.hpp"
#include "gnn/infer_plan.hpp"
#include "load/plan.hpp"

namespace garner {

struct training_question {
  load_question load;  // fanouts empty: the whole graph at every step
  model_options model;
  model_types types;  // of several, as load.types and load.relations have them; no names: one type
  double input_dropout = 0;
  bool dropout = true;
  double training = 0;  // vertices to train with, of all ranks
  std::uint64_t validation = 0, test = 0;
  std::uint32_t ranks = 1;     // mini-batches are of `batch` seeds a rank
  bool lists_on_peer = false;  // else near or, where load says so, far
  // How the gradients of other ranks are read: where they lie all on one place, from peers, or through host memory.
  enum class exchange : std::uint8_t { near, peers, host } gradients = exchange::near;
  // Of the whole graph, a shard; none: all of it.
  struct part {
    double vertices = 0, edges = 0, remote_rows = 0;  // at the most, of others
    std::uint32_t blocks = 1;                         // of its gradients
    double largest_block = 0;                         // vertices; where rows come by tier
    bool evaluates = false;                           // the first: scores of all
    shard_options how = {};
  };
  std::optional<part> shard = {};
  bool shard_windows = false;         // what shards share is copied into windows, which lie near (shard/windows.hpp)
  std::uint64_t evaluation_near = 0;  // bytes that exact evaluation may take
};

// Bytes that a rank reads for a step, by where they are. At the host all is near.
struct read_by_tier {
  char const* what;
  double near = 0, peer = 0, far = 0;
  double file = 0;  // from the drive, before
};

// Of one rank.
struct training_plan {
  load_plan load;                   // of mini-batches
  std::vector<double> rows, edges;  // a step, of all types: before each layer, the last those that come out; of each layer
  std::vector<load_array> near;     // besides the loader's
  inference_plan evaluation;
  std::uint64_t parameters = 0, steps = 0;  // an epoch
  // An epoch: of dense products, of rows that aggregation reads and writes near, over the link.
  double flops = 0, near_bytes = 0, link_bytes = 0;
  std::vector<read_by_tier> reads;  // for a step: lists, rows, what aggregation reads and writes, gradients of ranks
  std::uint64_t bytes() const;      // near, without the evaluation
};
training_plan plan_training(training_question const& q);  // errc::usage: of several types another model than GraphSAGE

// Of one direction of a shard's lists, as they are kept; of packed ones at the most.
double shard_list_bytes(training_question const& q);

// Rates of a device where none is there to be measured: halves of what one of 2022 has of TF32 and of its memory.
inline constexpr double assumed_flops = 2e14, assumed_near_bytes = 1.5e12;

}  // namespace garner
