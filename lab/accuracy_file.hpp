// Results of tools/measure_sampling, MGG's table 5: accuracy and epoch time with and without sampling. Its files have no version.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/file_head.hpp"

namespace garner::lab {

inline constexpr char const* accuracy_ways[] = {"whole", "shards", "sampled"};

struct accuracy_row {
  std::string set, model, strategy, measure;  // way: one of the above
  std::uint64_t vertices = 0, arcs = 0;
  double mean = 0, deviation = 0;  // percentage points, over the seeds
  double epoch_ms = 0;             // the minimum

  void keys(auto& k) {
    k("set", set, "model", model, "way", strategy, "measure", measure, "vertices", vertices, "arcs", arcs, "mean", mean);
    k("deviation", deviation, "epoch_ms", epoch_ms);
    k.require("way", std::count(std::begin(accuracy_ways), std::end(accuracy_ways), strategy) > 0, "whole, shards or sampled");
  }
};
struct accuracy_file {
  static constexpr file_schema schema{"garner.measure.sampling", 0, "tools/measure_sampling", ""};
  std::string time, garner, processor, fanout;
  std::uint64_t threads = 0, seeds = 0, shards = 0, batch = 0;
  std::vector<accuracy_row> rows;

  void keys(auto& k) {
    k("time", time, "garner", garner, "processor", processor, "threads", threads, "seeds", seeds, "shards", shards);
    k("fanout", fanout, "batch", batch, "rows", rows);
  }
};

}  // namespace garner::lab
