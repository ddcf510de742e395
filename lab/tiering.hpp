// Benchmarks of figures 4.8, 4.10 and 4.11 of the dissertation: a training is sampled and its accesses are counted; then, for each score,
// for the oracle that knows the counts, and for the counts of another training, the hit rate of the rows with the highest
// scores.
// Invariant: all scores of a graph use the same graph, training set and trace.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "garner/sample.hpp"
#include "lab/graphs.hpp"
#include "lab/tiering_file.hpp"

namespace garner::lab {

struct tiering_options : measured_graphs {
  tiering_options() { kinds.push_back(generator::web); }
  sample_options sampling;  // its seed is also that of graphs and training sets
  std::uint64_t epochs = 1, row_bytes = 512;
  std::uint64_t deeper_epochs = 1;          // for the depths of figure 4.10
  bool deeper = true;                       // figure 4.10 too
  bool gathers = true;                      // figure 4.11: up to 20 mini-batches
  std::uint64_t ceiling = 8;                // upper bound of predictions, from another training of this many times `epochs`; 0: none
  std::vector<std::uint64_t> presample{8};  // epochs that `sampled` counts, one curve each; 1 at the depths of 4.10
  std::string train;                        // as specified; for the file
  std::function<vertex_set(graph_handle const&)> training;
};

// Calls `told` with each finished graph.
tiering_run measure_tiering(tiering_options const& options,
                            std::function<void(tiering_run const& run, tiering_graph const& graph)> const& told);

}  // namespace garner::lab
