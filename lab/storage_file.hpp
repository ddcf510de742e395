// Results of one run of `garner-lab storage`.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/file_head.hpp"

namespace garner::lab {

// A generated graph, like one of the paper's datasets.
struct storage_graph : bench_graph {
  std::string like;  // the paper's name
  bool heterogeneous = false;
  std::uint64_t rows = 0, row_bytes = 0;  // of its table
  double memory = 0;                      // share of the table that fits the paper's host memory
  double rows_a_batch = 0;                // distinct rows per mini-batch

  void keys(auto& k) {
    bench_graph::keys(k);
    k("like", like, "heterogeneous", heterogeneous, "table_rows", rows, "row_bytes", row_bytes, "memory", memory);
    k("rows_a_batch", rows_a_batch);
  }
};

// One setting. Numbers are per mini-batch.
struct storage_row {
  std::string graph, figure;  // "stages", "sampling", "cold", "window", "policies", "drives", "memory"
  std::string strategy, policy;
  std::string drive;  // name of a simulated drive; "file": a real one; empty: no reads
  std::uint64_t drives = 0, window = 0, slots = 0;
  std::uint64_t batches = 0;                                           // timed
  std::optional<double> ms, sample_ms, read_ms, copy_ms, model_ms;     // empty if nothing is timed
  double rows = 0, hits = 0, resident = 0, reads = 0, read_bytes = 0;  // of the timed ones
  // Hits of Belady's rule with the same slots: over the whole trace; for rows that repeat within the window.
  std::optional<double> possible, possible_in_window;
  std::optional<double> metadata_bytes;  // per slot
  std::uint64_t compared = 0;            // rows compared with the generator; all correct
  std::vector<double> gbs;               // cold: rows delivered over gather time, per mini-batch
  std::string skipped;                   // the reason for a missing measurement; else empty

  double hit_rate() const { return rows > 0 ? hits / rows : 0; }
  void keys(auto& k) {
    k("graph", graph, "figure", figure, "way", strategy);
    k.or_null("policy", policy), k.or_null("drive", drive);
    k("drives", drives, "window", window, "slots", slots, "batches", batches, "ms", ms, "sample_ms", sample_ms, "read_ms", read_ms);
    k("copy_ms", copy_ms, "model_ms", model_ms, "asked", rows, "hits", hits, "resident", resident, "reads", reads);
    k("read_bytes", read_bytes, "possible", possible, "possible_in_window", possible_in_window, "metadata_bytes", metadata_bytes);
    k("compared", compared, "gbs", gbs);
    k.or_null("skipped", skipped);
  }
};
struct storage_file : file_head {
  static constexpr file_schema schema{"garner.bench.storage", 1, "storage"};
  std::vector<std::uint64_t> fanouts;
  std::string share;
  std::uint64_t batch = 0, warm = 0, seed = 0;
  double cache_batches = 0, compute_ms = 0, link_gbs = 0;
  bool link_measured = false;  // else specified
  std::vector<storage_graph> graphs;
  std::vector<storage_row> rows;

  void keys(auto& k) {
    file_head::keys(k);
    k("fanouts", fanouts, "share", share, "batch", batch, "warm", warm, "seed", seed, "cache_batches", cache_batches);
    k("compute_ms", compute_ms, "link_gbs", link_gbs, "link_measured", link_measured, "graphs", graphs, "rows", rows);
  }
};

}  // namespace garner::lab
