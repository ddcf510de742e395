// Results of one run of `garner-lab load`.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/file_head.hpp"

namespace garner::lab {

// Times of the stages of a mini-batch, in ms since the start of the recorded interval; 0 to 0: outside of it.
using load_span = std::pair<double, double>;  // begin and end
struct load_moments {
  std::uint64_t index = 0;  // in order of delivery
  load_span sample, fetch, gather;
  double handed = 0;  // delivery to the caller; 0: outside

  void keys(auto& k) { k("index", index, "sample", sample, "fetch", fetch, "gather", gather, "handed", handed); }
};

// One setting. Numbers are per mini-batch.
struct load_row {
  std::string graph, figure;    // "ways", "window", "share", "kept"
  std::string lists, strategy;  // lists: the memory tier of the adjacency
  double kept = 0;              // share of the rows in device memory, on each of `devices`
  std::uint64_t devices = 1, window = 0, multiprocessors = 0;
  std::uint64_t batches = 0;                                                                                // timed
  std::optional<double> ms, ms_median, sample_ms, fetch_ms, gather_ms, caller_waited_ms, loader_waited_ms;  // empty if nothing is timed
  double vertices = 0, edges = 0, near_rows = 0, peer_rows = 0, far_rows = 0, window_rows = 0, fetched_rows = 0, remote_bytes = 0;
  std::vector<load_moments> moments;  // a timeline of two windows, if recorded
  std::string skipped;                // the reason for a missing measurement; else empty

  std::optional<double> hits() const {  // share of the remote rows that the window had
    double const asked = window_rows + fetched_rows;
    return asked > 0 ? std::optional(window_rows / asked) : std::nullopt;
  }
  std::optional<double> fetch_gbs() const {  // remote bytes during fetches (without a window: during gathers)
    std::optional<double> const took = fetch_ms && *fetch_ms > 0 ? fetch_ms : gather_ms;
    return took && *took > 0 && remote_bytes > 0 ? std::optional(remote_bytes / *took / 1e6) : std::nullopt;
  }
  void keys(auto& k) {
    k("graph", graph, "figure", figure, "lists", lists, "way", strategy, "kept", kept, "devices", devices, "window", window);
    k("multiprocessors", multiprocessors, "batches", batches, "ms", ms, "ms_median", ms_median, "sample_ms", sample_ms);
    k("fetch_ms", fetch_ms, "gather_ms", gather_ms, "caller_waited_ms", caller_waited_ms, "loader_waited_ms", loader_waited_ms);
    k("vertices", vertices, "edges", edges, "near_rows", near_rows, "peer_rows", peer_rows, "far_rows", far_rows);
    k("window_rows", window_rows, "fetched_rows", fetched_rows, "far_bytes", remote_bytes, "moments", moments);
    k.or_null("skipped", skipped);
  }
};
struct load_file : file_head {
  static constexpr file_schema schema{"garner.bench.load", 1, "load"};
  std::vector<std::uint64_t> fanouts;
  std::string rule, share, score;
  std::uint64_t batch = 0, row_bytes = 0, seed = 0;
  double compute_ms = 0;
  std::optional<double> link_gbs;
  std::vector<bench_graph> graphs;
  std::vector<load_row> rows;

  void keys(auto& k) {
    file_head::keys(k);
    k("fanouts", fanouts, "rule", rule, "share", share, "score", score, "batch", batch, "row_bytes", row_bytes, "seed", seed);
    k("compute_ms", compute_ms, "link_gbs", link_gbs, "graphs", graphs, "rows", rows);
  }
};

}  // namespace garner::lab
