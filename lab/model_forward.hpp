// The forward pass of a whole model over shards: the library's own network, GEMMs and activations, with aggregation over shards.
// Invariant: before timing, the rows of each layer are compared with f64, layer by layer: a vertex's expected row is computed from its
// neighbors' actual rows before that layer. All vertices if that is little work, else a random sample. GEMMs
// use f32. A time is that of the slowest shard, the median of the trials.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "garner/gnn.hpp"
#include "garner/shards.hpp"
#include "nn/whole_graph.hpp"

namespace garner::lab {

struct bench_model {
  model_kind kind = model_kind::gcn;  // or gin
  std::uint64_t inputs = 0, hidden = 0, classes = 0;
  std::uint32_t layers = 0;
};
struct forward_job {
  bench_model model;
  std::vector<execution_device> const& places;  // of the shards
  std::vector<float> const& features;           // of all vertices, `inputs` each
  std::uint64_t seed = 1, trials = 1;           // for the parameters and the sample
  bool managed = false;                         // rows that shards read of each other lie in managed memory
};
struct forward_taken {
  double ms = 0;
  std::vector<std::uint64_t> columns;  // row width of each aggregation in turn
};
// errc::internal names the first wrong number.
forward_taken measure_forward(whole_graph const& lists, shard_options const& how, forward_job const& job, std::string const& name);

}  // namespace garner::lab
