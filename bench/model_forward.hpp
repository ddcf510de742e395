// The forward pass of a whole model over shards: the library's own network, its dense products and activations, on aggregation over shards.
// Invariant: rows of each layer are compared with f64 before anything is timed, layer by layer: what a vertex should have come to is worked
// out from the rows that its neighbours had before that layer. All vertices where that is little work, else some drawn at random. Products
// are of f32. A time is of the slowest shard, the median of the trials.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "garner/gnn.hpp"
#include "garner/shards.hpp"
#include "gnn/whole_graph.hpp"

namespace garner::bench {

struct bench_model {
  model_kind kind = model_kind::gcn;  // or gin
  std::uint64_t inputs = 0, hidden = 0, classes = 0;
  std::uint32_t layers = 0;
};
struct forward_job {
  bench_model model;
  std::vector<place> const& places;    // of the shards
  std::vector<float> const& features;  // of all vertices, `inputs` each
  std::uint64_t seed = 1, trials = 1;  // of the parameters and of what is drawn
  bool managed = false;                // rows that shards read of each other lie in managed memory
};
struct forward_taken {
  double ms = 0;
  std::vector<std::uint64_t> columns;  // elements a row, of each aggregation in turn
};
// errc::internal names the first number that is wrong.
forward_taken measure_forward(whole_graph const& lists, shard_options const& how, forward_job const& job, std::string const& name);

}  // namespace garner::bench
