// Results of one run of `garner-lab gather`.
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

  void keys(auto& k) {
    k("share", share, "rest", rest, "gather_alone_gbs", gather_alone_gbs, "whole_ms", whole_ms, "rest_ms", rest_ms);
    k("beside_ms", beside_ms);
    for (auto const& [key, ms] : {std::pair("whole_ms", whole_ms), std::pair("rest_ms", rest_ms), std::pair("beside_ms", beside_ms)})
      k.require(key, ms > 0, "a time above 0");
    k.derived("slower", slower()), k.derived("slower_than_alone", slower_than_alone());
  }
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

  void keys(auto& k) {
    k("figure", figure, "label", label, "row_bytes", row_bytes, "ids", ids, "batches", batches, "way", strategy, "order", order);
    if (k.has("duplicates")) k("duplicates", duplicates);
    k("multiprocessors", multiprocessors, "load_bytes", load_bytes, "ms", ms, "gbs", gbs, "rows_a_second", rows_a_second);
    k("of_link", of_link, "requests", requests);
    if (k.has("beside")) k("beside", beside);
    k("why", why, "skipped", skipped);
  }
};

struct gather_file : file_head {  // garner and time: empty in files of the first version
  static constexpr file_schema schema{"garner.bench.gather", 1, "gather"};
  std::uint64_t table_bytes = 0, trials = 0, seed = 0;
  std::optional<double> link_gbs;  // if measured
  std::vector<gather_row> rows;

  void keys(auto& k) {
    if (k.has("garner")) k("garner", garner);
    k("command", command);
    if (k.has("time")) k("time", time);
    k("place", place, "device", device, "threads", threads, "table_bytes", table_bytes, "trials", trials, "seed", seed);
    k("link_gbs", link_gbs, "rows", rows);
  }
};

}  // namespace garner::lab
