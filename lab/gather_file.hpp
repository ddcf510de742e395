// Results of one run of `garner-lab gather`, as values and as a JSON file; `garner-lab schema` documents the keys. The reader accepts
// only its own schema and version, and names the key that is missing or wrong.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/file_head.hpp"

namespace garner::lab {

// A gather on a share of the device while arithmetic runs on the rest. Times are medians of one arithmetic kernel.
struct gather_beside {
  std::string share;                                                    // "partition", "grid"
  unsigned rest = 0;                                                    // multiprocessors of the arithmetic
  double gather_alone_gbs = 0;                                          // on the share, without arithmetic
  double whole_ms = 0, rest_ms = 0, beside_ms = 0;                      // alone on the whole device, alone on the rest, during the gather
  double slower() const { return beside_ms / whole_ms - 1; }            // versus the whole device without a gather
  double slower_than_alone() const { return beside_ms / rest_ms - 1; }  // versus the same multiprocessors without a gather
};

struct gather_row {
  std::string figure, label;
  std::uint64_t row_bytes = 0, ids = 0, batches = 1;
  std::string strategy, order, duplicates;  // duplicates: what was done; empty in older files, and for copies per row
  unsigned multiprocessors = 0, load_bytes = 0;
  std::optional<double> ms, gbs;  // the median; of the bytes delivered
  std::optional<double> rows_a_second;
  std::optional<double> of_link;  // share of the link's rate (CPU: of one copy per row)
  std::uint64_t requests = 0;     // simulated
  std::optional<gather_beside> beside;
  std::string why, skipped;
};

struct gather_file : file_head {  // garner and time: empty in files of the first version
  static constexpr file_schema schema{"garner.bench.gather", 1, "gather"};
  std::uint64_t table_bytes = 0, trials = 0, seed = 0;
  double link_gbs = 0;
  bool link_measured = false;
  std::vector<gather_row> rows;
};

std::string to_json(gather_file const& file);
gather_file parse_gathers(std::string const& text, std::string const& name);  // errc::input begins with `name` and names the problem
bool is_gathers(std::string const& text);                                     // of this schema, any version

}  // namespace garner::lab
