// What one run of `garner bench gather` measured, as values and as a JSON file; docs/reference/json.md documents the keys. The reader takes
// its own schema and version only, and says by name which key is missing or wrong.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/file_head.hpp"

namespace garner::bench {

// A gather on a share of the device while arithmetic runs on the rest. Times are of one kernel of arithmetic: medians.
struct gather_beside {
  std::string share;                                                    // "partition", "grid"
  unsigned rest = 0;                                                    // multiprocessors that the arithmetic had
  double gather_alone_gbs = 0;                                          // on the share, nothing beside it
  double whole_ms = 0, rest_ms = 0, beside_ms = 0;                      // alone on the whole device, alone on the rest, beside the gather
  double slower() const { return beside_ms / whole_ms - 1; }            // than with the whole device to itself
  double slower_than_alone() const { return beside_ms / rest_ms - 1; }  // than on the same multiprocessors without a gather
};

struct gather_row {
  std::string figure, label;
  std::uint64_t row_bytes = 0, ids = 0, batches = 1;
  std::string way, order, duplicates;  // duplicates: what was done; empty in files of before it was written, and of copies a row
  unsigned multiprocessors = 0, load_bytes = 0;
  std::optional<double> ms, gbs;  // the median; of the bytes delivered
  std::optional<double> rows_a_second;
  std::optional<double> of_link;  // the share of what the link carries (at the host: of a copy a row)
  std::uint64_t requests = 0;     // simulated
  std::optional<gather_beside> beside;
  std::string why, skipped;
};

struct gather_file : file_head {  // garner and time: empty in files of the first garner that wrote any
  static constexpr file_schema schema{"garner.bench.gather", 1, "gather"};
  std::uint64_t table_bytes = 0, trials = 0, seed = 0;
  double link_gbs = 0;
  bool link_measured = false;
  std::vector<gather_row> rows;
};

std::string to_json(gather_file const& file);
gather_file parse_gathers(std::string const& text, std::string const& name);  // errc::input begins with `name` and says what is wrong
bool is_gathers(std::string const& text);                                     // of this schema, of any version

}  // namespace garner::bench
