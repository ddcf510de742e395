// Benchmarks of the figures of chapter 2.3 to 2.5: patterns of reading host memory, then every algorithm with every strategy of
// ways.hpp on every graph. Each run is verified by its certificate after its clock has stopped; a strategy that fails, does not fit or
// does not support the device becomes a row with the reason (`near` without device memory: no row). Invariant: all strategies of an
// algorithm use the same graph and sources; nothing is written here. Memory: the original graph, plus one of its copies at a time:
// on the device for the strategies `near`, UVM's, or the one with ids of the other width (not for compressed adjacency).
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lab/graphs.hpp"
#include "lab/run_file.hpp"

namespace garner::lab {

struct traversal_options : measured_graphs {
  traversal_options() { kinds = {generator::kron, generator::uniform, generator::web}; }
  std::uint64_t seed = 1;
  std::vector<std::string> jobs{"bfs", "sssp", "components", "pagerank"};
  std::vector<std::string> strategies;         // by name (ways.hpp), for all algorithms; empty: all
  bool paper_protocol = false;                 // the mean of all; else the median
  std::uint64_t sources = 8, trials = 3;       // for bfs and sssp; runs of components and pagerank
  std::uint64_t iterations = 5;                // of PageRank
  std::optional<double> way_seconds;           // a strategy starts no further run after this time; its row has the number of runs
  std::vector<double> links{12.3, 24, 51};     // GB/s, for which times are predicted
  std::uint64_t pattern_bytes = 256ull << 20;  // of the table that is read in patterns
};

// Calls `told` with every row as it is measured. Throws errc::usage for impossible options, and whatever building a graph
// throws.
run_file measure_traversal(traversal_options const& options, std::function<void(pattern_row const&)> const& told_pattern,
                           std::function<void(job_row const&)> const& told);

}  // namespace garner::lab
