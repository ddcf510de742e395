// Benchmarks of aggregation over shards: graphs with the vertices and edges of MGG's table 3 (or files), one device versus n shards,
// every strategy, MGG's with its own parameters and with those that its search finds. Also its paper's studies: rows in managed memory,
// GCN and GIN forward, whole and their aggregations alone (figure 8), without partitions and without interleaving (figure 9), all of its
// shapes (figure 10). Each time comes with the minimum for its bytes. Invariant: before timing, every setting's result is compared with
// sums in f64, completely for a small graph, else on a random sample of rows; a wrong number fails the run and nothing is written.
// A time is that of the slowest shard, the median of the trials,
// with fewer trials for slow settings.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lab/shards_file.hpp"

namespace garner::lab {

// Table 3 of the paper.
struct mgg_graph {
  char const* name;
  std::uint64_t vertices, edges;
  std::uint64_t inputs, classes;  // of the models: row width, and number of classes
};
inline constexpr mgg_graph mgg_graphs[] = {{"RDD", 232'965, 114'615'892, 602, 41},
                                           {"ENWIKI", 4'203'323, 202'623'226, 96, 128},
                                           {"PROD", 2'449'029, 61'859'140, 100, 64},
                                           {"PROT", 132'534, 39'561'252, 128, 112},
                                           {"ORKT", 3'072'441, 117'185'083, 128, 32}};
inline constexpr std::uint64_t usual_inputs = 128, usual_classes = 32;  // for a graph file, which has neither: those of ORKT
// A directed graph of this number of vertices and edges, both divided by `shrink`; lognormal degrees, random ends.
graph_handle make_mgg_graph(mgg_graph const& of, std::uint64_t shrink, std::uint64_t seed);

struct shards_bench_options {
  std::vector<execution_device> places;      // of the shards; the first is also the single device
  std::vector<std::string> graphs;           // of table 3; empty: all
  std::vector<std::filesystem::path> files;  // also measured
  shard_provider provider = shard_provider::automatic;
  std::uint64_t shrink = 64, width = 16, seed = 1, trials = 5;
  std::vector<std::string> figures;  // of ways, models, ablation, sweep; empty: all
  std::string command;
};

shards_file measure_shards(shards_bench_options const& options, std::function<void(shards_file const&, shard_row const&)> const& told = {});

}  // namespace garner::lab
