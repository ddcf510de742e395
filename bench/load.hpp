// One run that measures mini-batches: near, far and with a tenth of the rows kept, in each way of the loader; against the window, the share
// of the multiprocessors and the share of the rows kept (figures 3.12, 4.11 and 4.12 of the dissertation).
// Invariant: the same graph, training vertices and mini-batches in all rows of a graph; before a setting is timed its first mini-batches
// are held against graph and table, and against those of the first setting.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "bench/load_file.hpp"
#include "garner/sample.hpp"

namespace garner::bench {

inline constexpr char const* load_figures[] = {"ways", "window", "share", "kept"};

struct load_bench_options {
  place where;
  std::vector<generator> kinds{generator::kron};
  std::vector<std::filesystem::path> files;
  int scale = 20;
  std::uint64_t edge_factor = 16;
  std::vector<std::int64_t> fanouts{15, 10, 5};
  hop_rule rule = hop_rule::last;
  std::uint64_t batch = 1024, row_bytes = 512, seed = 1;
  std::uint64_t batches = 96;  // timed and to get warm, a setting; more where a window asks for it
  double compute_ms = 0;
  score_kind score = score_kind::degree;
  std::vector<int> peers;            // devices that hold rows for each other; the place is one of them. Empty: none
  std::vector<std::string> figures;  // empty: all
  std::string share;                 // as it was said; for the file
  std::function<std::vector<std::int64_t>(graph_handle const&)> training;  // positions
  std::string command;
};

// `told` hears each row when it is measured.
load_file measure_loads(load_bench_options const& options, std::function<void(load_file const&, load_row const&)> const& told);

}  // namespace garner::bench
