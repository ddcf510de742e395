// Benchmarks of trainings with features on storage: figures 3 and 8 to 17 of the GIDS paper (PVLDB 17(6) 2024), compared with Garner's
// own policies and the lower bound. Graphs are generated, in the proportions of the paper's datasets and with the same row width.
// Mini-batches are sampled here. Rows come from simulated drives of the paper's two latencies in simulated time (storage_replay.hpp), or
// through the loader from a file in a given folder. Invariant: all settings of a graph use the same mini-batches; rows are compared with
// the generator.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "garner/sample.hpp"
#include "lab/graphs.hpp"
#include "lab/storage_file.hpp"

namespace garner::lab {

// stages: 3, 12, 13, 14, 17; sampling: 8; cold: 9; window: 10; policies: 11; drives: 15; memory: 16.
inline constexpr char const* storage_figures[] = {"stages", "sampling", "cold", "window", "policies", "drives", "memory"};

struct storage_bench_options : measured_training {
  storage_bench_options() { fanouts = {10, 5, 5}, batch = 4096; }
  execution_device where;
  int scale = 16;  // of the graph like IGB-Full; the others in proportion
  generator kind = generator::kron;
  std::uint64_t batches = 40, warm = 10;  // per setting; `warm` of them precede the timed ones
  double cache_batches = 5;               // the cache holds the rows of this many
  double compute_ms = 0;                  // emulates a model
  std::optional<double> link_gbs;         // shared by the drives; unset: measured on a device, else the paper's 24
  std::vector<std::string> folders;       // real drives: a table is created there, and removed after the run
  std::string command;
};

// Calls `told` with each row once it is measured.
storage_file measure_storage(storage_bench_options const& options,
                             std::function<void(storage_file const&, storage_row const&)> const& told);

}  // namespace garner::lab
