// One run that measures what the figures of chapter 2.3 to 2.5 show: patterns of reading host memory, then every job in every way of
// ways.hpp on every graph. Each run of a job is verified by its certificate after its clock has stopped; a way that fails, does not fit or
// does not go with the place becomes a row that says why (ways `near` at a place without device memory: none). Invariant: the same graph
// and the same sources for all ways of a job; nothing is written here. Memory: the graph as given, beside it one of its copies at a time:
// on the device for the ways `near`, UVM's, or the one with ids of the other width (of packed lists there is none).
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/run_file.hpp"
#include "garner/graph.hpp"
#include "garner/place.hpp"

namespace garner::bench {

struct traversal_options {
  place where;
  std::vector<generator> kinds{generator::kron, generator::uniform, generator::web};
  std::vector<std::filesystem::path> files;  // containers, measured beside or instead of the kinds
  int scale = 20;
  std::uint64_t edge_factor = 16, seed = 1;
  std::vector<std::string> jobs{"bfs", "sssp", "components", "pagerank"};
  std::vector<std::string> ways;               // by name (ways.hpp), of all jobs alike; empty: all
  bool paper_protocol = false;                 // the mean of all; else the median
  std::uint64_t sources = 8, trials = 3;       // of bfs and sssp; runs of components and pagerank
  std::uint64_t iterations = 5;                // of PageRank
  std::optional<double> way_seconds;           // a way begins no further run after so long; its row says how many there were
  std::vector<double> links{12.3, 24, 51};     // GB/s, for which times are predicted
  std::uint64_t pattern_bytes = 256ull << 20;  // of the table that is read in patterns
  std::string command;                         // for the file
};

// `told` hears every row as it is measured. Throws errc::usage where the options ask for what cannot be, and whatever making a graph
// throws.
run_file measure_traversal(traversal_options const& options, std::function<void(pattern_row const&)> const& told_pattern,
                           std::function<void(job_row const&)> const& told);

}  // namespace garner::bench
