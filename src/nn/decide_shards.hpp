// What a training over shards aggregates, and how long that takes by a way: decide_shards() of the contract stands on it.
// Invariant: all ways of a decision are measured with the same aggregations, forward and backward, of rows of the model's widths; a time is
// the longest of the shards, the median of three rounds, or of one that takes long. Cost: a way's lists once more, and its rows.
#pragma once
#include <vector>

#include "garner/gnn.hpp"
#include "nn/network.hpp"
#include "shard/decide.hpp"

namespace garner {

// The default dropout of feature rows: that between layers for gcn and sage without residual, else 0, for sums of gin grow with degrees.
double input_dropout_of(model_options const& m, double dropout);

struct model_pass {
  std::uint64_t columns = 0;
  bool forward = false, backward = false;
  bool constant = false;  // forward: rows of the table as they are
};
// A layer each.
std::vector<model_pass> passes_of(model_options const& m, double input_dropout);
std::vector<shard_pass> costs_of(std::vector<model_pass> const& passes);  // what ways_of() predicts by

// Milliseconds of these. errc::memory where it does not fit, and the errors of sharded_edges.
double measure_way(graph_handle const& g, edge_direction side, bool weighted, aggregation how, std::vector<model_pass> const& passes,
                   shard_options const& options, std::vector<execution_device> const& places);

// Shard split stored in a checkpoint, with strategy and shards for the training that continues: copied into `asked` if it was one shard or
// the configured number (else false, and the training refuses it).
std::string split_words(shard_options const& o);
bool resume_split(std::filesystem::path const& checkpoint, shard_options& asked);

}  // namespace garner
