// Mini-batches ahead of time: the loader samples, gathers features and delivers one mini-batch while the model trains on the previous one.
// Sources: chapters 3.3 and 4 of Min's dissertation (the input pipeline of a training), GIDS (PVLDB 17(6) 2024; window buffering).
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "garner/detail/held.hpp"
#include "garner/features.hpp"
#include "garner/stream.hpp"
#include "garner/subgraph.hpp"

namespace garner {

// How feature rows are fetched.
enum class load_strategy : std::uint8_t {
  automatic,  // window if rows are remote, else tiered
  window,     // remote rows of the next mini-batches, each fetched once for all of them, in order, and kept until their last use
  tiered,     // one gather per mini-batch, in the order that the tensor chooses
  zero_copy,  // the same, in the order of sampling (PyTorch-Direct)
  staged,     // host threads gather, then the rows are copied, as frameworks do
};
inline constexpr load_strategy all_load_strategies[] = {load_strategy::automatic, load_strategy::window, load_strategy::tiered,
                                                        load_strategy::zero_copy, load_strategy::staged};
std::string_view to_string(load_strategy strategy);
load_strategy parse_load_strategy(std::string_view text);  // errc::usage with the choices otherwise

// A table whose rows belong to each mini-batch: for all its nodes of a type, for the seeds only (labels), or for the edges of a relation.
struct loaded_table {
  tiered_tensor* table = nullptr;
  std::uint32_t type = 0;
  bool seeds_only = false;
  std::optional<element> to = {};  // conversion, as gather_options::to
  // For a table of edge features: indexed by position in adjacency_of(), which needs block_options::edge_ids. `by`: indexed by the number
  // (4 or 8 bytes) that this earlier table has for the edge (a permutation).
  std::optional<std::uint32_t> relation = {}, by = {};
};

struct loader_options {
  std::uint64_t batch_size = 1024;
  bool shuffle = true;
  bool drop_last = false;  // skip a mini-batch with fewer seeds than the others
  std::uint64_t seed = 1;  // for shuffling
  std::uint32_t seed_type = 0;
  std::uint32_t prefetch = 2;  // mini-batches ready before next() requests them, 1 to 64
  // The prefetch window: mini-batches whose remote rows are fetched together, or are known before rows are read from a file, 1 to 64. For a
  // file of 64 MiB or more it is at least what keeps the drive busy, which is measured first. 0: automatic, see load_report::window: 8 at
  // first; for remote rows then the largest of 32, 16 and 8 that fits a quarter of the free GPU memory, by the size of the first 8.
  std::uint32_t window = 0;
  load_strategy strategy = load_strategy::automatic;
  // Limit per table, including rows of a file cached on the device; unset: a quarter of the free memory there.
  std::optional<std::uint64_t> window_bytes = {};
  cache_policy cache = cache_policy::next_use;  // for tables in a file: which rows stay in their file_cache bytes
  std::uint32_t multiprocessors = 8;            // of the device, for fetching remote rows; 0: all
  // Data parallel: this rank's share of the seeds. All ranks have the same number of mini-batches; repeated seeds fill a remainder.
  std::uint32_t rank = 0, ranks = 1;
  std::uint64_t keep_times = 0;  // record batch_times of this many mini-batches in load_report::times
};

// Times of the stages of a mini-batch, in ms since the loader was constructed.
struct batch_times {
  struct stage {
    double begin = 0, end = 0;
  };
  std::uint64_t epoch = 0, index = 0;
  stage sample, fetch, gather;  // sample, fetch: set for the first mini-batch of a group; else 0
  double handed = 0;            // when next() returned it; 0: not yet
};

// Statistics of the delivered mini-batches since begin(), resume(), or construction.
struct load_report {
  std::uint64_t batches = 0, seeds = 0, nodes = 0, edges = 0;
  double ms = 0;  // from the start of the epoch to the last of them
  // Time of each stage, by the device's clock for stages on a device; stages overlap.
  double sample_ms = 0, fetch_ms = 0, gather_ms = 0;
  double loader_waited_ms = 0;     // the loader, for the caller to return buffers
  double caller_waited_ms = 0;     // the caller, in next()
  rows_by_tier rows;               // by the tier of the tables' rows
  std::uint64_t window_rows = 0;   // remote rows that were fetched before, or for another mini-batch of the group
  std::uint64_t fetched_rows = 0;  // remote rows that crossed the link for a group
  std::uint64_t remote_bytes = 0;  // bytes of rows that crossed the link
  std::uint32_t window = 0;        // mini-batches per prefetch window
  // For tables in a file: rows that were in memory; rows (kernels: pages) that were read, and their bytes; the loader's waiting time for
  // them.
  std::uint64_t file_hits = 0, file_reads = 0, file_bytes = 0;
  double file_waited_ms = 0;
  std::vector<batch_times> times;  // of the first loader_options::keep_times mini-batches
};

// A mini-batch with the caller's own seeds, in the order passed: each type at most once; a repeated seed appears twice in it.
struct own_seeds {
  std::uint32_t type = 0;
  std::vector<std::int64_t> seeds = {}, times = {};  // times: one per seed, for temporal sampling; empty: the seeds' own times
};
using own_batch = std::vector<own_seeds>;

// The position of a loader, as text for a checkpoint.
struct load_state {
  std::uint64_t epoch = 0, next = 0;               // the epoch's first undelivered mini-batch
  std::uint64_t fingerprint = 0;                   // of seeds, options and graph
  std::string text() const;                        // one line
  static load_state parse(std::string_view text);  // errc::input for any other text
};

// The result of next(). Its buffers return to the loader with its destruction, or when next() assigns to the same object.
class mini_batch {
 public:
  mini_batch();
  ~mini_batch();
  mini_batch(mini_batch&&) noexcept;
  mini_batch& operator=(mini_batch&&) noexcept;
  explicit operator bool() const { return taken_ != nullptr; }

  std::uint64_t epoch() const, index() const, seeds() const;
  sampled_subgraph const& subgraph() const;
  std::int64_t const* positions() const;  // position of each seed in the constructor's seeds; device memory. Null: the caller's own seeds
  struct rows {
    void* data = nullptr;  // device memory
    std::uint64_t count = 0, row_bytes = 0;
    element kind = element::f32;
  };
  rows const& of_table(std::size_t k) const;
  // Work submitted to this stream from now on also uses the mini-batch: the rows are ready in stream order. The loader reuses the buffers
  // only after the work that all such streams had when the mini-batch was destroyed. Empty: the host uses it, and the rows are ready now.
  void use_on(stream_ref stream);

  struct parts;

 private:
  friend class loader;
  void release() noexcept;
  std::shared_ptr<parts> taken_;
};

// A background thread samples and gathers ahead. The sampler (for the loader's exclusive use), tables, graphs and times must outlive it.
class loader {
 public:
  // `seeds`: distinct positions of nodes of one type. errc::usage for options out of range; errc::input for seeds that are empty, repeated
  // or not nodes of their type, and for a table with fewer rows than its type has nodes.
  loader(block_sampler& sampler, std::vector<loaded_table> tables, std::vector<std::int64_t> seeds, loader_options const& options = {},
         std::vector<std::int64_t> times = {});
  // A loader without seeds: start each epoch with open(). It ignores the options batch_size, shuffle, drop_last, seed, rank and ranks.
  static loader of_own(block_sampler& sampler, std::vector<loaded_table> tables, loader_options const& options = {});
  ~loader();  // returns all buffers and ends the thread
  loader(loader&&) noexcept;
  loader& operator=(loader&&) noexcept;

  std::uint64_t batches() const;    // per epoch; for an open() epoch, those submitted so far
  std::uint32_t window() const;     // mini-batches sampled together (at first fewer), as load_report::window
  void begin(std::uint64_t epoch);  // next() then returns the first mini-batch of that epoch; mini-batches in progress are dropped
  // Begins an epoch of the caller's own seeds, not divided among ranks: the mini-batches passed to submit(), until end(). Mini-batch k has
  // the sampling number `number` + k. A mini-batch that is passed about 5 windows before its delivery needs no waiting. next() is
  // errc::usage if all submitted mini-batches have been delivered and the epoch has not ended; after end() it returns none until the next
  // open(). resume() of a state() needs the same epoch opened and submitted before.
  void open(std::uint64_t epoch, std::uint64_t number = 0);
  void submit(own_batch seeds);  // errc::input for seeds that are not nodes of their type; the epoch is unchanged then
  void end();
  void stop();  // ends the thread and frees the sampler, until next() continues where it stopped
  // The next mini-batch of the epoch, or none at its end (the next call begins the following epoch). Rows are ready in the order of
  // `stream`; empty: when the call returns. An error is thrown after all mini-batches before it, for a group with its first mini-batch. The
  // thread has ended then, and the next call continues where this one stopped. On errc::memory the mini-batch is not lost: call next()
  // again once memory is available. errc::device names a rank that held rows of a table and has ended; if rows were still in flight on a
  // stream, the next call throws it.
  std::optional<mini_batch> next(stream_ref stream = {});
  load_state state() const;
  void resume(load_state const& state);  // errc::input for a state of another loader
  load_report report() const;
  std::uint64_t bytes() const;  // device memory that it holds now, including the sampler's

 private:
  struct impl;
  friend struct loader_access;  // for Garner's own modules
  explicit loader(std::unique_ptr<impl> made);
  detail::held<impl> impl_;
};

}  // namespace garner
