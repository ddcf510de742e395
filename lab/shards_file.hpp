// Results of one run of `garner-lab shards`, as values and as a JSON file; `garner-lab schema` documents the keys. The reader accepts
// only its own schema and version, and names the key that is missing or wrong.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "garner/shards.hpp"
#include "lab/file_head.hpp"
#include "shard/decide.hpp"

namespace garner::lab {

inline constexpr char const* shard_studies[] = {"ways", "gcn", "gin", "ablation", "sweep"};

struct shard_step {
  mgg_tuning shape;
  double ms = 0;
};
// The whole forward pass of a model, including GEMMs and activations.
struct shard_forward {
  std::uint64_t inputs = 0, classes = 0;
  double ms = 0;
  std::optional<double> against_one, floor_ms;  // as in shard_row
  std::vector<std::uint64_t> columns;           // row width of each aggregation, in order
};
struct shard_row {
  std::string graph;
  std::string study = "ways";  // or gcn, gin: all aggregations of a model; ablation, sweep
  shard_options how;
  bool managed = false;  // rows of all shards in managed memory (UVM), read as by mgg
  double ms = 0;
  std::optional<double> against_one;              // its time over that of one device
  std::uint64_t bytes = 0, most_bytes = 0;        // of remote rows: all traffic, and that of the shard with the most
  std::vector<shard_step> steps;                  // settings that a search measured to find this one; empty: not searched for
  std::uint64_t width = 0, layers = 1;            // number of aggregations in sequence
  double prepare_ms = 0;                          // adjacency of the slowest shard
  double memory_bytes = 0;                        // device memory of the slowest shard; one device: of all
  std::optional<double> floor_ms;                 // the minimum for these bytes at the file's rates; unknown for managed rows
  std::vector<std::vector<std::uint64_t>> links;  // bytes of an aggregation: [reader][owner]; managed: empty
  std::optional<shard_forward> forward;           // of a model; all values above are of its aggregations alone
  std::string strategy() const { return managed ? "uvm" : std::string(to_string(how.strategy)); }
};
struct split_graph : bench_graph {
  double imbalance = 1, references = 0, split_ms = 0;
  std::uint64_t cut_edges = 0, remote_rows = 0;
};
struct shards_file : file_head {
  static constexpr file_schema schema{"garner.bench.shards", 3, "shards"};
  std::uint64_t shards = 0, shrink = 0, width = 0, seed = 0, trials = 0;
  shard_rates rates{};
  std::string over;    // the transport for remote rows; empty: one shard, or an older file
  std::string no_uvm;  // why managed rows were not measured; else empty
  std::vector<split_graph> graphs;
  std::vector<shard_row> rows;
};

std::string to_json(shards_file const& file);
shards_file parse_shards(std::string const& text, std::string const& name);  // errc::input begins with `name` and names the problem
bool is_shards(std::string const& text);                                     // of this schema, any version

}  // namespace garner::lab
