// Gathers measured in one run: what figures 3.10, 3.12 and 3.13 of the dissertation show, from which size of rows single copies are fair,
// what order and density bring, conversion, the copy engine. Each way's rows are compared with the table before its clock is read. The
// table is random words in host memory; ids are drawn anew for each round, so that no round finds the last one's rows in a cache.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "garner/features.hpp"

namespace garner::bench {

struct gather_bench_options {
  place where;
  std::uint64_t table_bytes = 256ull << 20;
  std::vector<std::uint64_t> ids{100000, 300000, 1000000, 2000000};  // a gather, of the figure of orders; the second is what others take
  std::vector<std::string> figures{"unaligned", "sizes", "orders", "convert", "share", "near"};
  std::uint64_t trials = 5, seed = 1;
  std::string command;
};

struct gather_row {
  std::string figure, label;
  std::uint64_t row_bytes = 0, ids = 0, batches = 1;
  std::string way, order;
  unsigned multiprocessors = 0, load_bytes = 0;
  std::optional<double> ms, gbs;  // the median; of the bytes delivered
  std::optional<double> rows_a_second;
  std::optional<double> of_link;  // the share of what the link carries (at the host: of a copy a row)
  std::uint64_t requests = 0;     // traced
  std::string why, skipped;
};

struct gather_file {
  std::string command, place, device;
  std::uint64_t threads = 0, table_bytes = 0, trials = 0, seed = 0;
  double link_gbs = 0;
  bool link_measured = false;
  std::vector<gather_row> rows;
};

gather_file measure_gathers(gather_bench_options const& options, std::function<void(gather_row const&)> const& told);
std::string to_json(gather_file const& file);

}  // namespace garner::bench
