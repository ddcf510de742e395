// A training with features on simulated drives, in simulated time: recorded mini-batches go through a cache plan, the reader reads what the
// cache lacks, and sampling and model take specified times. It does not sleep, and a seed reproduces it. Invariant: a mini-batch's rows
// have been read from the drives into slots and are compared with the generator; errc::internal names a wrong row. Cost: the slots, and
// some 2 us per row that is read.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "features/cache_plan.hpp"
#include "lab/drives/simulated.hpp"

namespace garner::lab {

enum class read_order : std::uint8_t {
  faults,     // one at a time, when a mini-batch is due: as a mapped file does, without the system's cost of faults
  on_demand,  // all missing rows of a mini-batch at once, when it is due; sampling and model wait: BaM and GIDS
  ahead,      // missing rows of known mini-batches, as soon as slots allow, during sampling and model: Garner's loader
};

struct replay_terms {
  read_order order = read_order::ahead;
  eviction policy = eviction::next_use;
  std::uint64_t slots = 0;
  std::uint32_t window = 8;                     // known mini-batches after the planned one
  std::span<float const> scores = {};           // as in cache_plan
  std::vector<bool> const* resident = nullptr;  // rows that are never read
  bool resident_at_host = true;                 // they cross the link each time; false: in GPU memory
  std::uint64_t merge_reads = 0;                // on_demand: GIDS' storage access accumulator
  std::uint64_t rows = 0, row_bytes = 0;        // of the table; a multiple of 8
  simulated_drive drive;                        // template of all drives
  std::uint32_t drives = 1;                     // striped
  unsigned depth = 128;                         // reads in flight per drive
  double link_gbs = 0;                          // shared by all drives; 0: unlimited
  double sample_ms = 0, model_ms = 0;           // per mini-batch
  std::uint64_t warm = 0, tail = 0;             // mini-batches before the timed ones, and after them: known, and read ahead
  bool warmed_up = false;                       // faults: the whole trace has passed through the cache before
};

struct replay_run {
  std::uint64_t from = 0, timed = 0;  // the first timed mini-batch, and the number of timed ones
  double ms = 0;                      // per mini-batch, in all
  double read_ms = 0, copy_ms = 0;    // waiting for drives (ahead: any time with reads in flight); copied over the link besides
  std::uint64_t accesses = 0, hits = 0, resident = 0, reads = 0;  // rows (faults: pages) of the timed ones
  std::uint64_t compared = 0;                                     // rows
  std::uint64_t metadata_bytes = 0;                               // of the cache
  std::vector<double> gather_ms;                                  // of each mini-batch, from due until its rows are complete
};

// errc::memory if the slots need more than half of the free host memory; otherwise as cache_plan.
replay_run replay(std::span<std::vector<std::uint64_t> const> trace, replay_terms const& terms);

// Hits of each mini-batch by Belady's rule with this number of slots, if all mini-batches are known, and a row is kept for a use at most
// `reach` after its last one. errc::usage if a mini-batch has more rows than there are slots.
std::vector<std::uint64_t> possible_hits(std::span<std::vector<std::uint64_t> const> trace, std::uint64_t slots,
                                         std::uint64_t reach = ~std::uint64_t{0});

// The pages that hold the rows, distinct per mini-batch.
std::vector<std::vector<std::uint64_t>> pages_of(std::span<std::vector<std::uint64_t> const> trace, std::uint64_t row_bytes,
                                                 std::uint64_t page_bytes);

}  // namespace garner::lab
