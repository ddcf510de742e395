// One run that measures what figures 4.8, 4.10 and 4.11 of the dissertation show: a training is sampled and its accesses are counted; then
// for each score, for the oracle that knows the counts, and for the counts of another training, how many of them the rows of highest score
// would have answered.
// Invariant: the same graph, training set and trace for all scores of a graph.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "bench/tiering_file.hpp"
#include "garner/sample.hpp"

namespace garner::bench {

struct tiering_options {
  place where;
  std::vector<generator> kinds{generator::kron, generator::web};
  std::vector<std::filesystem::path> files;
  int scale = 20;
  std::uint64_t edge_factor = 16;
  sample_options sampling;  // its seed is also that of graphs and training sets
  std::uint64_t epochs = 1, row_bytes = 512;
  std::uint64_t deeper_epochs = 1;          // of the depths of figure 4.10
  bool deeper = true;                       // figure 4.10 too
  bool gathers = true;                      // of figure 4.11: measured, of up to 20 mini-batches
  std::uint64_t ceiling = 8;                // what a prediction can reach, by another training of so many times `epochs`; 0: not told
  std::vector<std::uint64_t> presample{8};  // epochs that `sampled` counts, a curve each; at the depths of 4.10 one
  std::string train;                        // as it was said; for the file
  std::function<vertex_set(graph_handle const&)> training;
  std::string command;
};

// `told` hears each graph when it is done.
tiering_run measure_tiering(tiering_options const& options,
                            std::function<void(tiering_run const& run, tiering_graph const& graph)> const& told);

}  // namespace garner::bench
