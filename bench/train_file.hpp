// What one run of `garner bench train` measured, as values and as a JSON file; docs/reference/json.md documents the keys. The reader takes
// its own schema and version only, and says by name which key is missing or wrong. What `garner train --json` prints is read as one course.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/file_head.hpp"

namespace garner::bench {

// Times of an epoch by stage; they overlap. None where nothing is timed.
struct train_times {
  std::optional<double> ms, sample_ms, fetch_ms, gather_ms, model_ms, caller_waited_ms, loader_waited_ms;

  // Stages one after the other; none where some was not timed.
  std::optional<double> stages() const;
};
struct train_rows {  // of an epoch, by where the table has them
  double near = 0, peer = 0, far = 0, far_bytes = 0;
};

// One setting. Numbers are of an epoch, the mean of those that were timed.
struct train_row {
  std::string graph, figure;      // "ways", "widths", "placement"
  std::string lists, way, score;  // lists: the tier of the neighbour lists; score: by which rows are kept, where some are
  double kept = 0;                // share of the rows near, of `devices` on each
  std::uint64_t devices = 1, width = 0;
  std::uint64_t batches = 0, epochs = 0;  // an epoch; that were timed
  train_times times;
  std::optional<double> ms_median;
  train_rows rows;
  double loss = 0;      // of the last epoch
  std::string skipped;  // why it was not measured; empty if it was

  bool near() const { return kept == 1 && devices == 1; }
};
// Rows that a model learns, by one optimiser: numbers are of a step. None where nothing is timed, or there is no link.
struct trainable_row {
  std::string optimiser;
  std::uint64_t rows = 0, width = 0, step_rows = 0, record_bytes = 0;  // of the table; different ones a step; a row with its state
  double kept = 0;                                                     // share of the rows near
  std::uint64_t steps = 0;                                             // that were timed
  std::optional<double> gather_ms, update_ms, update_ms_median;
  double far_rows = 0, far_bytes = 0;                      // bytes: with their state, read by an update and as many written
  std::optional<double> gather_floor_ms, update_floor_ms;  // those at the link's rates, each way after the other
  std::string skipped;

  // Of the update, and of gather and update; the time over the floor.
  std::optional<double> of_floor() const;
  std::optional<double> of_both_floors() const;
};

// A training, epoch by epoch.
struct train_epoch {
  std::uint64_t epoch = 0;
  double loss = 0, accuracy = 0;  // of what was learned from
  std::optional<double> train_accuracy, validation_accuracy, test_accuracy;
  train_times times;
  train_rows rows;
};
struct train_course : bench_graph {
  std::vector<train_epoch> epochs;
};

struct train_file : file_head {
  static constexpr file_schema schema{"garner.bench.train", 1, "train"};
  std::vector<std::int64_t> fanouts;  // empty: the whole graph at every step (of garner train)
  std::string share;
  std::uint64_t batch = 0, hidden = 0, classes = 0, seed = 0;
  std::optional<double> link_gbs;
  std::vector<bench_graph> graphs;
  std::vector<train_row> rows;
  std::vector<trainable_row> trainable;  // older files have none
  std::vector<train_course> courses;
  bool alone = false;  // one course of garner train --json, and nothing measured
};

std::string to_json(train_file const& file);
train_file parse_trainings(std::string const& text, std::string const& name);  // errc::input begins with `name` and says what is wrong
bool is_trainings(std::string const& text);  // of this schema, of any version; or printed by garner train --json

}  // namespace garner::bench
