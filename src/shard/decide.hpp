// Chooses the strategy by which rows of other shards arrive, and whether one device is faster than several: a roofline of memory, link and
// launches. Invariant: plain arithmetic, the same on every machine for the same numbers. A floor is the time that the bytes of a strategy
// need at the given rates, with perfect overlap; a prediction adds launches, barriers, serial steps and repeated reads. Cost: some sums per
// shard.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "garner/shards.hpp"
#include "shard/parts.hpp"

namespace garner {

struct shard_rates {
  double memory_gbs, cache_gbs, link_gbs;  // of a place's own memory, of what its last cache holds, of another device's memory
  std::uint64_t cache_bytes;
  double launch_us, meeting_us;
  bool measured;         // memory, link, launches and barriers; the other fields are inputs
  double host_gbs = 51;  // of what lies in host memory
};
// Rates of an H200 with NVLink (docs/benchmarks/results.md), and of a common host.
inline constexpr shard_rates h200_rates{4290, 5500, 375, 60'000'000, 3, 10, false};
inline constexpr shard_rates common_host_rates{20, 60, 20, 16'000'000, 1, 10, false, 20};

// A graph that is split.
struct shard_sizes {
  std::uint64_t vertices = 0;
  struct part {
    std::uint64_t vertices = 0, edges = 0, remote_edges = 0, remote_rows = 0;
  };
  std::vector<part> parts;
  bool one_place = false;  // all shards are at one: they share its memory, and what they read of each other comes from there too
  // `may_be_whole`: all rows may be fetched, as in rows_that_come().
  explicit shard_sizes(shard_report const& r, bool may_be_whole = false);
  // Before lists are read: as if edges led anywhere, so that the most rows are needed that so many edges can need.
  shard_sizes(std::uint64_t vertices, std::vector<part> parts) : vertices(vertices), parts(std::move(parts)) {}
};
// Expected number of distinct vertices, of `targets`, at the ends of this many random edges.
double distinct_targets(double edges, double targets);

// One aggregation.
struct shard_setting {
  shard_strategy strategy = shard_strategy::bulk;
  shard_reduction sums = shard_reduction::deterministic;
  mgg_tuning mgg = {};
  std::uint64_t columns = 16, wire_bytes = 4;  // numbers a row; bytes of a number between shards
  bool weighted = false;
  bool kept = false;  // rows of others are there from an earlier one
  // As shard_options has them.
  bool remote_adjacency = false, compressed_adjacency = false;
  std::uint64_t list_window = 1 << 22;
};
struct shard_cost {
  double memory_bytes = 0, link_bytes = 0;  // of the slowest shard; on one device of all
  double floor_ms = 0, ms = 0;
  char const* bound = "memory";  // or "cache", "link", "lists", "launches": what takes most of it
  double list_bytes = 0;         // of memory_bytes none: what comes of lists from host memory
};
shard_cost cost_of(shard_sizes const& g, shard_setting const& s, shard_rates const& rates);

// What a training does an epoch.
struct shard_pass {
  std::uint64_t columns = 0;
  double times = 1;
  bool constant = false;  // rows that never change: by bulk they come once
};
shard_cost cost_of_epoch(shard_sizes const& g, shard_setting s, std::vector<shard_pass> const& passes, shard_rates const& rates);

// Candidate strategies, the fastest first: all but mgg, the paper's, on n shards, and one device alone if allowed.
std::vector<shard_decision::considered> ways_of(shard_sizes const& g, shard_options const& asked, bool weighted,
                                                std::vector<shard_pass> const& passes, shard_rates const& rates, bool may_take_one);
// How many of these are worth measuring: those that are predicted within twice the best, three at the most; 1: none is.
std::size_t how_many_to_measure(std::vector<shard_decision::considered> const& strategies);

}  // namespace garner
