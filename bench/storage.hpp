// One run that measures trainings whose rows lie on storage: figures 3 and 8 to 17 of the GIDS paper (PVLDB 17(6) 2024), beside Garner's
// own policies and the floor. Graphs are generated, in the proportions of the paper's data sets and with rows as wide; mini-batches are
// sampled here, and rows come from simulated drives of the paper's two latencies in counted time (storage_replay.hpp), or from a file in a
// folder that is named, by the loader. Invariant: the same mini-batches in all rows of a graph; rows that come are held against what the
// table is made of.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/storage_file.hpp"
#include "garner/handle.hpp"
#include "garner/sample.hpp"

namespace garner::bench {

// stages: 3, 12, 13, 14, 17; sampling: 8; cold: 9; window: 10; policies: 11; drives: 15; memory: 16.
inline constexpr char const* storage_figures[] = {"stages", "sampling", "cold", "window", "policies", "drives", "memory"};

struct storage_bench_options {
  place where;
  int scale = 16;  // of the graph like IGB-Full; the others in proportion
  generator kind = generator::kron;
  std::vector<std::int64_t> fanouts{10, 5, 5};
  std::uint64_t batch = 4096, seed = 1;
  std::uint64_t batches = 40, warm = 10;  // of a setting; warm of these come before what is timed
  double cache_batches = 5;               // the cache has room for the rows of so many
  double compute_ms = 0;                  // stands for a model
  std::optional<double> link_gbs;         // that drives share; unset: measured on a device, else the paper's 24
  std::vector<std::string> folders;       // real drives: a table is made there, and goes with the run
  std::vector<std::string> figures;       // empty: all
  std::string share;                      // as it was said; for the file
  std::function<std::vector<std::int64_t>(graph_handle const&)> training;  // positions
  std::string command;
};

// `told` hears each row when it is measured.
storage_file measure_storage(storage_bench_options const& options,
                             std::function<void(storage_file const&, storage_row const&)> const& told);

}  // namespace garner::bench
