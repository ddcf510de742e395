// Results of one run of `garner-lab shards`.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "garner/shards.hpp"
#include "lab/file_head.hpp"
#include "shard/decide.hpp"

namespace garner::lab {

inline constexpr char const* shard_studies[] = {"ways", "gcn", "gin", "ablation", "sweep"};

void shape_keys(auto& k, mgg_tuning& s) {
  k("ps", s.ps, "dist", s.dist, "wpb", s.wpb);
  for (auto const& [key, n] : {std::pair("ps", s.ps), std::pair("dist", s.dist), std::pair("wpb", s.wpb)})
    k.require(key, n >= 1 && n <= 32, "a number from 1 to 32");
}
void keys_of(auto& k, shard_rates& r) {
  k("memory_gbs", r.memory_gbs, "cache_gbs", r.cache_gbs, "cache_bytes", r.cache_bytes, "link_gbs", r.link_gbs);
  k("launch_us", r.launch_us, "meeting_us", r.meeting_us, "measured", r.measured);
}

struct shard_step {
  mgg_tuning shape;
  double ms = 0;

  void keys(auto& k) { shape_keys(k, shape), k("ms", ms); }
};
// The whole forward pass of a model, including GEMMs and activations.
struct shard_forward {
  std::uint64_t inputs = 0, classes = 0;
  double ms = 0;
  std::optional<double> against_one, floor_ms;  // as in shard_row
  std::vector<std::uint64_t> columns;           // row width of each aggregation, in order

  void keys(auto& k) {
    k("inputs", inputs, "classes", classes, "columns", columns, "ms", ms, "against_one", against_one, "floor_ms", floor_ms);
  }
};
struct shard_row {
  std::string graph;
  std::string study = "ways";  // or gcn, gin: all aggregations of a model; ablation, sweep
  shard_asked how;
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

  void keys(auto& k) {
    std::string way = strategy();
    k("graph", graph, "study", study, "shards", how.shards, "way", way);
    k.require("study", std::count(std::begin(shard_studies), std::end(shard_studies), study) > 0, "a word of garner-lab shards");
    k.require("shards", how.shards >= 1 && how.shards <= 16, "a number from 1 to 16");
    if (managed = way == "uvm"; managed) how.strategy = shard_strategy::mgg;
    else k.word("way", how.strategy, parse_shard_strategy);
    k.word("sums", how.sums, parse_shard_reduction), k.word("wire", how.wire, parse_element);
    k("width", width, "layers", layers);
    if (how.strategy == shard_strategy::mgg) shape_keys(k, how.tuning);
    else k.derived("ps", json()), k.derived("dist", json()), k.derived("wpb", json());
    k("whole_lists", how.tuning.whole_lists, "apart", how.tuning.apart);
    if (k.has("plain_reads")) k("plain_reads", how.tuning.plain_reads);
    k("prepare_ms", prepare_ms, "ms", ms, "against_one", against_one, "bytes", bytes, "most_bytes", most_bytes);
    k("memory_bytes", memory_bytes, "floor_ms", floor_ms, "links", links, "forward", forward, "steps", steps);
    bool const square = std::all_of(links.begin(), links.end(), [&](auto const& of) { return of.size() == links.size(); });
    k.require("links", square, "as many numbers for each shard as there are shards");
  }
};
struct split_graph : bench_graph {
  double imbalance = 1, references = 0, split_ms = 0;
  std::uint64_t cut_edges = 0, remote_rows = 0;

  void keys(auto& k) {
    k("name", name, "vertices", vertices, "edges", edges, "imbalance", imbalance, "cut_edges", cut_edges);
    k("remote_rows", remote_rows, "references", references, "split_ms", split_ms);
  }
};
struct shards_file : file_head {
  static constexpr file_schema schema{"garner.bench.shards", 3, "shards"};
  std::uint64_t shards = 0, shrink = 0, width = 0, seed = 0, trials = 0;
  shard_rates rates{};
  std::string over;    // the transport for remote rows; empty: one shard, or an older file
  std::string no_uvm;  // why managed rows were not measured; else empty
  std::vector<split_graph> graphs;
  std::vector<shard_row> rows;

  void keys(auto& k) {
    file_head::keys(k);
    k("shards", shards, "shrink", shrink, "width", width, "seed", seed, "trials", trials, "rates", rates);
    if (k.has("over")) k.or_null("over", over);
    k.or_null("no_uvm", no_uvm);
    k("graphs", graphs, "rows", rows);
  }
};

}  // namespace garner::lab
