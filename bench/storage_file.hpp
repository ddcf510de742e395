// What one run of `garner bench storage` measured, as values and as a JSON file; docs/reference/json.md documents the keys. The reader
// takes its own schema and version only, and says by name which key is missing or wrong.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/file_head.hpp"

namespace garner::bench {

// A graph that was generated, like one of the paper's data sets.
struct storage_graph : bench_graph {
  std::string like;  // the paper's name
  bool heterogeneous = false;
  std::uint64_t rows = 0, row_bytes = 0;  // of its table
  double memory = 0;                      // share of the table that the paper's host memory holds
  double rows_a_batch = 0;                // different ones of a mini-batch
};

// One setting. Numbers are of a mini-batch.
struct storage_row {
  std::string graph, figure;  // "stages", "sampling", "cold", "window", "policies", "drives", "memory"
  std::string way, policy;
  std::string drive;  // a simulated one by name; "file": a real one; empty: none is read
  std::uint64_t drives = 0, window = 0, slots = 0;
  std::uint64_t batches = 0;                                           // that were timed
  std::optional<double> ms, sample_ms, read_ms, copy_ms, model_ms;     // none where nothing is timed
  double rows = 0, hits = 0, resident = 0, reads = 0, read_bytes = 0;  // of those that were timed
  // Hits of Belady's rule in as many slots with the whole trace known; of rows that come again within the window alone.
  std::optional<double> possible, possible_in_window;
  std::optional<double> metadata_bytes;  // a slot
  std::uint64_t compared = 0;            // rows, with what the table is made of; all right
  std::vector<double> gbs;               // cold: rows delivered while they are gathered, mini-batch by mini-batch
  std::string skipped;                   // why it was not measured; empty if it was

  double hit_rate() const { return rows > 0 ? hits / rows : 0; }
};
struct storage_file : file_head {
  static constexpr file_schema schema{"garner.bench.storage", 1, "storage"};
  std::vector<std::int64_t> fanouts;
  std::string share;
  std::uint64_t batch = 0, warm = 0, seed = 0;
  double cache_batches = 0, compute_ms = 0, link_gbs = 0;
  bool link_measured = false;  // else it was said
  std::vector<storage_graph> graphs;
  std::vector<storage_row> rows;
};

std::string to_json(storage_file const& file);
storage_file parse_storage(std::string const& text, std::string const& name);  // errc::input begins with `name` and says what is wrong
bool is_storage(std::string const& text);                                      // of this schema, of any version

}  // namespace garner::bench
