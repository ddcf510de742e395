// Results of tools/measure_whole_graph: full-graph training with activations on the GPU, in host memory and in a file. Its files have no
// version.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lab/file_head.hpp"

namespace garner::lab {

struct whole_row {
  std::string model, way;
  double ms = 0, device_bytes = 0, of_one_piece = 0;  // an epoch; planned; times the epoch all on the GPU
  std::optional<double> moved_ms, floor_ms;           // of its bytes: over the link; over the link three times, or to and from the drive

  bool in_file() const { return way == "a file"; }
  bool by_two() const { return way.starts_with("two"); }  // each over its own link
  std::optional<double> needed_ms() const { return in_file() ? floor_ms : by_two() && moved_ms ? *moved_ms / 2 : moved_ms; }
  void keys(auto& k) {
    k("model", model, "way", way, "ms", ms, "planned_device_bytes", device_bytes, "of_one_piece", of_one_piece);
    if (k.has("moved_ms")) k("moved_ms", moved_ms);
    if (k.has("floor_ms")) k("floor_ms", floor_ms);
  }
};
struct whole_file {
  static constexpr file_schema schema{"garner.measure.whole", 0, "tools/measure_whole_graph", ""};
  std::string device, date, commit, command;
  std::uint64_t scale = 0, layers = 0, hidden = 0, width = 0;
  std::vector<whole_row> rows;

  void keys(auto& k) {
    k("device", device, "date", date), k.or_null("commit", commit);
    k("command", command, "scale", scale, "layers", layers, "hidden", hidden, "width", width, "rows", rows);
  }
};

}  // namespace garner::lab
