// A training whose rows lie on simulated drives, in counted time: mini-batches that were sampled before go through a cache plan, the reader
// reads what the cache lacks, and sampling and model take the time that they are said to. Nobody waits, and by one seed it is the same
// again. Invariant: what a mini-batch is given has been read from the drives into the slots of its rows and is held against what the table
// is made of; errc::internal says what came wrong. Cost: the slots, and of a row that is read some 2 us.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "features/cache_plan.hpp"
#include "storage/simulated.hpp"

namespace garner::bench {

enum class read_order : std::uint8_t {
  faults,     // one at a time, when a mini-batch is due: what a mapped file does, without what its faults cost the system
  on_demand,  // all that a mini-batch lacks at once, when it is due; sampling and model wait: BaM and GIDS
  ahead,      // what known mini-batches lack, as soon as slots allow, beside sampling and model: Garner's loader
};

struct replay_terms {
  read_order order = read_order::ahead;
  cache_policy policy = cache_policy::next_use;
  std::uint64_t slots = 0;
  std::uint32_t window = 8;                     // mini-batches known beyond the one that is planned
  std::span<float const> scores = {};           // as cache_plan
  std::vector<bool> const* resident = nullptr;  // rows that are never read ...
  bool resident_at_host = true;                 // ... and cross the link each time; false: they are near
  std::uint64_t merge_reads = 0;                // on_demand: GIDS' storage access accumulator
  std::uint64_t rows = 0, row_bytes = 0;        // of the table; a multiple of 8
  simulated_drive drive;                        // like this one
  std::uint32_t drives = 1;                     // striped
  unsigned depth = 128;                         // reads under way a drive
  double link_gbs = 0;                          // that all drives share; 0: any
  double sample_ms = 0, model_ms = 0;           // a mini-batch
  std::uint64_t warm = 0, tail = 0;             // mini-batches before those that are timed, and behind them: known, and read ahead
  bool warmed_up = false;                       // faults: the whole trace has been through the cache before
};

struct replay_run {
  std::uint64_t from = 0, timed = 0;  // the first that is timed, and how many are
  double ms = 0;                      // a mini-batch, all of it
  double read_ms = 0, copy_ms = 0;    // waited for drives (ahead: with reads under way, beside all else); crossed the link besides
  std::uint64_t accesses = 0, hits = 0, resident = 0, reads = 0;  // rows (faults: pages) of those that are timed
  std::uint64_t compared = 0;                                     // rows
  std::uint64_t metadata_bytes = 0;                               // of the cache
  std::vector<double> gather_ms;                                  // of each mini-batch, from being due to having its rows
};

// errc::memory where the slots take more than half of the host memory that is free; else as cache_plan.
replay_run replay(std::span<std::vector<std::uint64_t> const> trace, replay_terms const& terms);

// Hits of each mini-batch by Belady's rule in so many slots, where all mini-batches are known, and a row is kept for one that is at most
// `reach` behind the last that had it. errc::usage where a mini-batch has more rows than there are slots.
std::vector<std::uint64_t> possible_hits(std::span<std::vector<std::uint64_t> const> trace, std::uint64_t slots,
                                         std::uint64_t reach = ~std::uint64_t{0});

// The pages that rows lie on, each once a mini-batch.
std::vector<std::vector<std::uint64_t>> pages_of(std::span<std::vector<std::uint64_t> const> trace, std::uint64_t row_bytes,
                                                 std::uint64_t page_bytes);

}  // namespace garner::bench
