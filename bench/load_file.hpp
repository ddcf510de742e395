// What one run of `garner bench load` measured, as values and as a JSON file; docs/reference/json.md documents the keys. The reader takes
// its own schema and version only, and says by name which key is missing or wrong.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/file_head.hpp"

namespace garner::bench {

// When the stages of a mini-batch ran, in ms of the stretch of time that is told; 0 to 0: not in it.
struct load_span {
  double begin = 0, end = 0;
};
struct load_moments {
  std::uint64_t index = 0;  // as they were handed over
  load_span sample, fetch, gather;
  double handed = 0;  // to the caller; 0: not in it
};

// One setting. Numbers are of a mini-batch.
struct load_row {
  std::string graph, figure;  // "ways", "window", "share", "kept"
  std::string lists, way;     // lists: the tier of the neighbour lists
  double kept = 0;            // share of the rows near, of `devices` on each
  std::uint64_t devices = 1, window = 0, multiprocessors = 0;
  std::uint64_t batches = 0;                                                                                // that were timed
  std::optional<double> ms, ms_median, sample_ms, fetch_ms, gather_ms, caller_waited_ms, loader_waited_ms;  // none where nothing is timed
  double vertices = 0, edges = 0, near_rows = 0, peer_rows = 0, far_rows = 0, window_rows = 0, fetched_rows = 0, far_bytes = 0;
  std::vector<load_moments> moments;  // of what ran while two windows were gathered, where that was kept
  std::string skipped;                // why it was not measured; empty if it was

  std::optional<double> hits() const;       // of the far rows, those that the window had
  std::optional<double> fetch_gbs() const;  // far bytes while they were fetched (without a window: gathered)
};
struct load_file : file_head {
  static constexpr file_schema schema{"garner.bench.load", 1, "load"};
  std::vector<std::int64_t> fanouts;  // no -1
  std::string rule, share, score;
  std::uint64_t batch = 0, row_bytes = 0, seed = 0;
  double compute_ms = 0;
  std::optional<double> link_gbs;
  std::vector<bench_graph> graphs;
  std::vector<load_row> rows;
};

std::string to_json(load_file const& file);
load_file parse_loads(std::string const& text, std::string const& name);  // errc::input begins with `name` and says what is wrong
bool is_loads(std::string const& text);                                   // of this schema, of any version

}  // namespace garner::bench
