// Results of one run of `garner-lab train`, as values and as a JSON file; `garner-lab schema` documents the keys. The reader accepts
// only its own schema and version, and names the key that is missing or wrong. It reads `garner train --json` output as one curve.
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

  // Stages in sequence; empty if some stage was not timed.
  std::optional<double> stages() const;
};
struct train_rows {  // per epoch, by the table's tiers
  double near = 0, peer = 0, far = 0, remote_bytes = 0;
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
  std::optional<double> of_floor() const;
  std::optional<double> of_both_floors() const;
};

// A training, epoch by epoch.
struct train_epoch {
  std::uint64_t epoch = 0;
  double loss = 0, accuracy = 0;  // of the training nodes
  std::optional<double> train_accuracy, validation_accuracy, test_accuracy;
  train_times times;
  train_rows rows;
};
struct train_course : bench_graph {
  std::vector<train_epoch> epochs;
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
};

std::string to_json(train_file const& file);
train_file parse_trainings(std::string const& text, std::string const& name);  // errc::input begins with `name` and names the problem
bool is_trainings(std::string const& text);  // of this schema, any version; or printed by garner train --json

}  // namespace garner::lab
