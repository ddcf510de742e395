// Gather benchmarks in one run: figures 3.10, 3.12 and 3.13 of the dissertation; the row size from which single copies are efficient; the
// effect of order and density; conversion; the copy engine; the slowdown of concurrent arithmetic. Each result is compared with the
// table before it is timed. The table is random words in host memory; each round uses new ids, so that no round finds the
// previous one's rows in a cache.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "garner/features.hpp"
#include "lab/gather_file.hpp"

namespace garner::lab {

struct gather_bench_options {
  execution_device where;
  std::uint64_t table_bytes = 256ull << 20;
  std::vector<std::uint64_t> ids{100000, 300000, 1000000, 2000000};  // per gather, for orders and density; the other figures use the second
  std::vector<std::string> figures{"unaligned", "sizes", "orders", "dense", "duplicates", "convert", "share", "near", "beside", "copies"};
  std::uint64_t trials = 5, seed = 1;
  std::string command;
};

gather_file measure_gathers(gather_bench_options const& options, std::function<void(gather_row const&)> const& told);

}  // namespace garner::lab
