// Gathers measured in one run: what figures 3.10, 3.12 and 3.13 of the dissertation show, from which size of rows single copies are fair,
// what order and density bring, conversion, the copy engine, what arithmetic beside a gather loses. Each way's rows are compared with the
// table before its clock is read. The table is random words in host memory; ids are drawn anew for each round, so that no round finds the
// last one's rows in a cache.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/gather_file.hpp"
#include "garner/features.hpp"

namespace garner::bench {

struct gather_bench_options {
  place where;
  std::uint64_t table_bytes = 256ull << 20;
  std::vector<std::uint64_t> ids{100000, 300000, 1000000, 2000000};  // a gather, of orders and density; the second is what others take
  std::vector<std::string> figures{"unaligned", "sizes", "orders", "dense", "duplicates", "convert", "share", "near", "beside", "copies"};
  std::uint64_t trials = 5, seed = 1;
  std::string command;
};

gather_file measure_gathers(gather_bench_options const& options, std::function<void(gather_row const&)> const& told);

}  // namespace garner::bench
