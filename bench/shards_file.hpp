// What one run of `garner bench shards` measured, as values and as a JSON file; docs/reference/json.md documents the keys. The reader takes
// its own schema and version only, and says by name which key is missing or wrong.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/file_head.hpp"
#include "garner/shards.hpp"
#include "shard/decide.hpp"

namespace garner::bench {

inline constexpr char const* shard_studies[] = {"ways", "gcn", "gin", "ablation", "sweep"};

struct shard_step {
  mgg_shape shape;
  double ms = 0;
};
// The whole forward pass of a model: products and activations too.
struct shard_forward {
  std::uint64_t inputs = 0, classes = 0;
  double ms = 0;
  std::optional<double> against_one, floor_ms;  // as those of a row
  std::vector<std::uint64_t> columns;           // elements a row of each aggregation, in their order
};
struct shard_row {
  std::string graph;
  std::string study = "ways";  // or gcn, gin: all aggregations of a model; ablation, sweep
  shard_options how;
  bool managed = false;  // rows of all shards in managed memory (UVM), read as mgg reads them
  double ms = 0;
  std::optional<double> against_one;              // its time over that of one place
  std::uint64_t bytes = 0, most_bytes = 0;        // of other shards' rows: all that crossed, and of the shard that had the most
  std::vector<shard_step> steps;                  // settings that a search measured to find this one; none: it was not searched for
  std::uint64_t width = 0, layers = 1;            // so many aggregations, one after the other
  double prepare_ms = 0;                          // lists of the shard that took longest
  double memory_bytes = 0;                        // near, of the shard that takes longest; at one place of all
  std::optional<double> floor_ms;                 // what these bytes need at the rates of the file; of managed rows not known
  std::vector<std::vector<std::uint64_t>> links;  // bytes of an aggregation: [reader][owner]; managed: none
  std::optional<shard_forward> forward;           // of a model; all above is of its aggregations alone
  std::string way() const { return managed ? "uvm" : std::string(to_string(how.way)); }
};
struct split_graph : bench_graph {
  double imbalance = 1, references = 0, split_ms = 0;
  std::uint64_t cut_edges = 0, remote_rows = 0;
};
struct shards_file : file_head {
  static constexpr file_schema schema{"garner.bench.shards", 3, "shards"};
  std::uint64_t shards = 0, shrink = 0, width = 0, seed = 0, trials = 0;
  shard_rates rates{};
  std::string over;    // what rows of other shards came over in the ways' rows; empty: one shard, or a file of before it was told
  std::string no_uvm;  // why managed rows were not measured; empty: they were
  std::vector<split_graph> graphs;
  std::vector<shard_row> rows;
};

std::string to_json(shards_file const& file);
shards_file parse_shards(std::string const& text, std::string const& name);  // errc::input begins with `name` and says what is wrong
bool is_shards(std::string const& text);                                     // of this schema, of any version

}  // namespace garner::bench
