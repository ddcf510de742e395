// Results of tools/measure_sampling, MGG's table 5: accuracy and epoch time with and without sampling. The reader names the
// key that is missing or wrong.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace garner::lab {

inline constexpr char const* accuracy_ways[] = {"whole", "shards", "sampled"};

struct accuracy_row {
  std::string set, model, strategy, measure;  // way: one of the above
  std::uint64_t vertices = 0, arcs = 0;
  double mean = 0, deviation = 0;  // percentage points, over the seeds
  double epoch_ms = 0;             // the minimum
};
struct accuracy_file {
  static constexpr char const* schema = "garner.measure.sampling";
  std::string time, garner, processor, fanout;
  std::uint64_t threads = 0, seeds = 0, shards = 0, batch = 0;
  std::vector<accuracy_row> rows;
};

accuracy_file parse_accuracy(std::string const& text, std::string const& name);  // errc::input begins with `name`
bool is_accuracy(std::string const& text);

}  // namespace garner::lab
