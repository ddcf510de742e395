// What one run of `garner bench shards` measured, as values and as a JSON file; docs/report.md documents the keys. The reader takes its own
// schema and version only, and says by name which key is missing or wrong.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/file_head.hpp"
#include "garner/shards.hpp"

namespace garner::bench {

struct shard_step {
  mgg_shape shape;
  double ms = 0;
};
struct shard_row {
  std::string graph;
  shard_options how;
  double ms = 0;
  std::optional<double> against_one;        // its time over that of one place
  std::uint64_t bytes = 0, most_bytes = 0;  // of other shards' rows: all that crossed, and of the shard that had the most
  std::vector<shard_step> steps;            // settings that a search measured to find this one; none: it was not searched for
};
struct split_graph : bench_graph {
  double imbalance = 1, references = 0, split_ms = 0;
  std::uint64_t cut_edges = 0, remote_rows = 0;
};
struct shards_file : file_head {
  static constexpr file_schema schema{"garner.bench.shards", 1, "shards"};
  std::uint64_t shards = 0, shrink = 0, width = 0, seed = 0, trials = 0;
  std::vector<split_graph> graphs;
  std::vector<shard_row> rows;
};

std::string to_json(shards_file const& file);
shards_file parse_shards(std::string const& text, std::string const& name);  // errc::input begins with `name` and says what is wrong
bool is_shards(std::string const& text);                                     // of this schema, of any version

}  // namespace garner::bench
