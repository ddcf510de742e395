// Mini-batch benchmarks in one run: rows local, remote, and with a tenth cached, for each strategy of the loader; against the prefetch
// window, the share of the multiprocessors and the share of cached rows (figures 3.12, 4.11 and 4.12 of the dissertation).
// Invariant: all results of a graph use the same graph, training nodes and mini-batches; before a setting is timed, its first mini-batches
// are checked against graph and table, and against those of the first setting.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "garner/sample.hpp"
#include "lab/graphs.hpp"
#include "lab/load_file.hpp"

namespace garner::lab {

inline constexpr char const* load_figures[] = {"ways", "window", "share", "kept"};

struct load_bench_options : measured_graphs, measured_training {
  hop_rule rule = hop_rule::last;
  std::uint64_t row_bytes = 512;
  std::uint64_t batches = 96;  // warm-up and timed, per setting; more if a window needs them
  double compute_ms = 0;
  score_kind score = score_kind::degree;
  std::vector<int> peers;  // devices that hold rows for each other, including `where`. Empty: none
};

// Calls `told` with each row once it is measured.
load_file measure_loads(load_bench_options const& options, std::function<void(load_file const&, load_row const&)> const& told);

}  // namespace garner::lab
