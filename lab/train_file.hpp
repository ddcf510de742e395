// Results of one run of `garner-lab train`; and what `garner train --json` prints, as one curve.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/file_head.hpp"

namespace garner::lab {

// Times of an epoch by stage; they overlap. Empty if nothing is timed.
struct train_times {
  std::optional<double> ms, sample_ms, fetch_ms, gather_ms, model_ms, caller_waited_ms, loader_waited_ms;

  // Adds one of `count` whose mean this becomes, of what was timed.
  void add(train_times const& one, double count) {
    for (auto const which : {&train_times::ms, &train_times::sample_ms, &train_times::fetch_ms, &train_times::gather_ms,
                             &train_times::model_ms, &train_times::caller_waited_ms, &train_times::loader_waited_ms})
      if (auto const& x = one.*which) this->*which = (this->*which).value_or(0) + *x / count;
  }
  // Stages in sequence; empty if some stage was not timed.
  std::optional<double> stages() const {
    if (!sample_ms || !fetch_ms || !gather_ms || !model_ms) return std::nullopt;
    return *sample_ms + *fetch_ms + *gather_ms + *model_ms;
  }
  void keys(auto& k) {
    k("ms", ms, "sample_ms", sample_ms, "fetch_ms", fetch_ms, "gather_ms", gather_ms, "model_ms", model_ms);
    k("caller_waited_ms", caller_waited_ms, "loader_waited_ms", loader_waited_ms);
  }
};
struct train_rows {  // per epoch, by the table's tiers
  double near = 0, peer = 0, far = 0, remote_bytes = 0;

  void keys(auto& k) {  // garner train --json has other names since 0.1.0 than these files, and than it had before
    if (k.reads && (k.has("local_rows") || k.has("remote_rows") || k.has("remote_bytes")))
      k("local_rows", near, "peer_rows", peer, "remote_rows", far, "remote_bytes", remote_bytes);
    else k("near_rows", near, "peer_rows", peer, "far_rows", far, "far_bytes", remote_bytes);
  }
};

// One setting. Numbers are per epoch, the mean of the timed ones.
struct train_row {
  std::string graph, figure;           // "ways", "widths", "placement"
  std::string lists, strategy, score;  // lists: the memory tier of the adjacency; score: selects the cached rows, if any
  double kept = 0;                     // share of the rows in device memory, on each of `devices`
  std::uint64_t devices = 1, width = 0;
  std::uint64_t batches = 0, epochs = 0;  // per epoch; timed
  train_times times;
  std::optional<double> ms_median;
  train_rows rows;
  double loss = 0;      // of the last epoch
  std::string skipped;  // the reason for a missing measurement; else empty

  bool near() const { return kept == 1 && devices == 1; }
  void keys(auto& k) {
    k("graph", graph, "figure", figure, "lists", lists, "way", strategy), k.or_null("score", score);
    k("kept", kept, "devices", devices, "width", width, "batches", batches, "epochs_timed", epochs);
    times.keys(k), k("ms_median", ms_median), rows.keys(k), k("loss", loss), k.or_null("skipped", skipped);
  }
};
// Trainable rows, with one optimizer: numbers are per step. Empty if nothing is timed, or without a link.
struct trainable_row {
  std::string optimizer;
  std::uint64_t rows = 0, width = 0, step_rows = 0, record_bytes = 0;  // of the table; distinct rows per step; a row with its state
  double kept = 0;                                                     // share of the rows in device memory
  std::uint64_t steps = 0;                                             // timed
  std::optional<double> gather_ms, update_ms, update_ms_median;
  double far_rows = 0, remote_bytes = 0;                   // bytes: with their state, read by an update, and as many written
  std::optional<double> gather_floor_ms, update_floor_ms;  // the bytes at the link's rates, one direction after the other
  std::string skipped;

  // For the update, and for gather and update: time over the minimum.
  std::optional<double> of_floor() const {
    return update_ms && update_floor_ms && *update_floor_ms > 0 ? std::optional(*update_ms / *update_floor_ms) : std::nullopt;
  }
  std::optional<double> of_both_floors() const {
    if (!of_floor() || !gather_ms || !gather_floor_ms) return std::nullopt;
    return (*gather_ms + *update_ms) / (*gather_floor_ms + *update_floor_ms);
  }
  void keys(auto& k) {
    k("optimiser", optimizer, "rows", rows, "width", width, "step_rows", step_rows, "record_bytes", record_bytes, "kept", kept);
    k("steps", steps, "gather_ms", gather_ms, "update_ms", update_ms, "update_ms_median", update_ms_median, "far_rows", far_rows);
    k("far_bytes", remote_bytes, "gather_floor_ms", gather_floor_ms, "update_floor_ms", update_floor_ms);
    k.derived("of_floor", of_floor()), k.derived("of_both_floors", of_both_floors());
    k.or_null("skipped", skipped);
  }
};

// A training, epoch by epoch.
struct train_epoch {
  std::uint64_t epoch = 0;
  double loss = 0, accuracy = 0;  // of the training nodes
  std::optional<double> train_accuracy, validation_accuracy, test_accuracy;
  train_times times;
  train_rows rows;

  void keys(auto& k) {
    k("epoch", epoch, "loss", loss, "accuracy", accuracy, "train_accuracy", train_accuracy, "validation_accuracy", validation_accuracy);
    k("test_accuracy", test_accuracy), times.keys(k), rows.keys(k);
  }
};
struct train_course : bench_graph {
  std::vector<train_epoch> epochs;

  void keys(auto& k) { bench_graph::keys(k), k("epochs", epochs); }
};

struct train_file : file_head {
  static constexpr file_schema schema{"garner.bench.train", 1, "train"};
  std::vector<std::int64_t> fanouts;  // empty: full-graph steps (of garner train)
  std::string share;
  std::uint64_t batch = 0, hidden = 0, classes = 0, seed = 0;
  std::optional<double> link_gbs;
  std::vector<bench_graph> graphs;
  std::vector<train_row> rows;
  std::vector<trainable_row> trainable;  // empty in older files
  std::vector<train_course> courses;
  bool alone = false;  // one curve of garner train --json, without benchmarks

  void keys(auto& k) {
    file_head::keys(k);
    k("fanouts", fanouts, "share", share, "batch", batch, "hidden", hidden, "classes", classes, "seed", seed, "link_gbs", link_gbs);
    k("graphs", graphs, "rows", rows);
    if (k.has("trainable")) k("trainable", trainable);
    k("courses", courses);
  }
};

bool is_course(json const& all);                                 // garner train --json printed it
train_file course_in(json const& all, std::string const& name);  // errc::input begins with `name`

}  // namespace garner::lab
