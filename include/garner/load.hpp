// Mini-batches in time: sampled ahead, their rows fetched together, handed over one after the other while the one before is learned from.
// Sources: chapter 3.3 and 4 of Min's dissertation (what feeds a training), GIDS (PVLDB 17(6) 2024; window buffering).
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "garner/blocks.hpp"
#include "garner/detail/held.hpp"
#include "garner/features.hpp"
#include "garner/stream.hpp"

namespace garner {

// How rows come.
enum class load_way : std::uint8_t {
  automatic,  // window where rows are far, tiered elsewhere
  window,     // far rows of the next mini-batches once for all of them, in order, kept until their last use
  tiered,     // each mini-batch its own gather, ordered as the tensor chooses
  zero_copy,  // the same, in the order in which vertices were drawn (PyTorch-Direct)
  staged,     // threads of the host gather, then the rows are copied: what frameworks do
};
inline constexpr load_way all_load_ways[] = {load_way::automatic, load_way::window, load_way::tiered, load_way::zero_copy,
                                             load_way::staged};
std::string_view to_string(load_way way);
load_way parse_load_way(std::string_view text);  // errc::usage with the choices otherwise

// A table whose rows come with each mini-batch: of all its nodes of a type, of the seeds alone (labels), or of the edges of a relation.
struct loaded_table {
  tiered_tensor* table = nullptr;
  std::uint32_t type = 0;
  bool seeds_only = false;
  std::optional<element> to = {};  // converted, as gather_options::to
  // Of the edges: by where each stands in lists_of(), which takes block_options::edge_ids. `by`: by the number of 4 or 8 bytes that
  // this table, which comes before, has for it (a permutation).
  std::optional<std::uint32_t> relation = {}, by = {};
};

struct loader_options {
  std::uint64_t batch = 1024;
  bool shuffle = true;
  bool drop_last = false;  // a mini-batch with fewer seeds than the others is left out
  std::uint64_t seed = 1;  // of the shuffling
  std::uint32_t seed_type = 0;
  std::uint32_t ahead = 2;  // mini-batches that are ready before they are asked for, 1 to 64
  // Mini-batches whose far rows are fetched together, or that are known ahead of one whose rows come from a file, 1 to 64; of a file of 64
  // MiB and more at least as many as keep its drive busy, which is measured first. 0: chosen, and told by load_report::window: 8 at first;
  // then, where rows are far, the most of 32, 16 and 8 that take at most a quarter of what is free near, by what the first 8 took.
  std::uint32_t window = 0;
  load_way way = load_way::automatic;
  // Of a table, at the most, also of the rows of a file that stay on the device a while; unset: a quarter of what is free there.
  std::optional<std::uint64_t> window_bytes = {};
  cache_policy cache = cache_policy::next_use;  // of tables that stay in a file: what of them is kept in their file_cache bytes
  reads_by reads = reads_by::ahead;             // of them: who asks for what is not there; kernels have a clock of pages for a policy
  // 0: what comes from a file is read without a pause. Else GIDS' storage access accumulator: mini-batches are read together until they ask
  // for so many rows, and the next when these have come. merge_share: for so many that the drive, which is measured first, gives this share
  // of its rate (GIDS' formula); more than 0 and less than 1.
  std::uint64_t merge_reads = 0;
  double merge_share = 0;
  std::uint32_t multiprocessors = 8;  // of the device, for far rows; 0: all
  // Data parallel: this rank's share of the seeds. All ranks have as many mini-batches; where seeds do not divide, some come twice.
  std::uint32_t rank = 0, ranks = 1;
  std::uint64_t keep_times = 0;  // of so many mini-batches when each stage ran, into load_report::times
};

// When the stages of a mini-batch ran, in ms since the loader was made.
struct batch_times {
  struct stage {
    double begin = 0, end = 0;
  };
  std::uint64_t epoch = 0, index = 0;
  stage sample, fetch, gather;  // sample, fetch: of the group that this one is the first of; else 0
  double handed = 0;            // when next() returned it; 0: not yet
};

// Since begin(), resume(), or the loader was made: of what was handed over.
struct load_report {
  std::uint64_t batches = 0, seeds = 0, vertices = 0, edges = 0;
  double ms = 0;  // since the epoch began, to the last of them
  // What each stage took, by the device's clock where it runs on one; they overlap.
  double sample_ms = 0, fetch_ms = 0, gather_ms = 0;
  double loader_waited_ms = 0;     // the loader, for the caller to give mini-batches back
  double caller_waited_ms = 0;     // the caller, in next()
  rows_by_tier rows;               // by where the tables have them
  std::uint64_t window_rows = 0;   // of these far ones that had been fetched before, or for another of the group ...
  std::uint64_t fetched_rows = 0;  // ... and those that crossed the link for a group
  std::uint64_t far_bytes = 0;     // of rows that crossed
  std::uint32_t window = 0;        // mini-batches that are drawn together, and their far rows fetched
  // Rows of tables that stay in a file: that were in memory by then; rows (pages, where kernels ask for them) that were read, and their
  // bytes; what the loader waited for them.
  std::uint64_t file_hits = 0, file_reads = 0, file_bytes = 0;
  double file_waited_ms = 0;
  std::vector<batch_times> times;  // of the first loader_options::keep_times
};

// A mini-batch whose seeds are the caller's own: as they are handed over, each type at most once; a seed that stands twice comes twice.
struct own_seeds {
  std::uint32_t type = 0;
  std::vector<std::int64_t> seeds = {}, times = {};  // times: one a seed, where sampling is temporal; empty: those of the seeds' own
};
using own_batch = std::vector<own_seeds>;

// Where a loader is, in words that a file keeps.
struct load_state {
  std::uint64_t epoch = 0, next = 0;               // the first mini-batch of the epoch that was not handed over
  std::uint64_t fingerprint = 0;                   // of seeds, options and graph
  std::string text() const;                        // one line
  static load_state parse(std::string_view text);  // errc::input where it is none
};

// What next() hands over. Buffers go back to the loader with it, or with the next one into the same object.
class mini_batch {
 public:
  mini_batch();
  ~mini_batch();
  mini_batch(mini_batch&&) noexcept;
  mini_batch& operator=(mini_batch&&) noexcept;
  explicit operator bool() const { return taken_ != nullptr; }

  std::uint64_t epoch() const, index() const, seeds() const;
  blocks const& drawn() const;
  std::int64_t const* positions() const;  // of each seed among those the loader was given; near. Null: its seeds were the caller's own
  struct rows {
    void* data = nullptr;  // near
    std::uint64_t count = 0, row_bytes = 0;
    element kind = element::f32;
  };
  rows const& of_table(std::size_t k) const;
  // Work that this stream is given from here on uses it too: the rows are there when the stream has come so far, and the buffers are reused
  // when the work has happened that all such streams were given before this goes. Empty: the host uses it, and the rows are there now.
  void use_on(stream_ref stream);

  struct parts;

 private:
  friend class loader;
  void give_back() noexcept;
  std::shared_ptr<parts> taken_;
};

// One thread of its own samples ahead and gathers. The sampler (which it uses alone), tables, graphs and times must outlive it.
class loader {
 public:
  // `seeds`: positions of vertices of one type, each once. errc::usage for options out of range; errc::input for seeds that are no vertices
  // or stand twice, none, or a table with fewer rows than its type has vertices.
  loader(block_sampler& sampler, std::vector<loaded_table> tables, std::vector<std::int64_t> seeds, loader_options const& options = {},
         std::vector<std::int64_t> times = {});
  // One without seeds of its own: each epoch is open()ed. Of the options batch, shuffle, drop_last, seed, rank and ranks have no part.
  static loader of_own(block_sampler& sampler, std::vector<loaded_table> tables, loader_options const& options = {});
  ~loader();  // gives everything back; no thread is left
  loader(loader&&) noexcept;
  loader& operator=(loader&&) noexcept;

  std::uint64_t batches() const;    // an epoch; of one that is open, that were given so far
  std::uint32_t window() const;     // mini-batches that are sampled together, as load_report::window
  void begin(std::uint64_t epoch);  // the next next() is the first of that epoch; what was under way is dropped
  // Begins an epoch of the caller's own, shared among no ranks: of the mini-batches that give() brings, until end() says that no more come.
  // Mini-batch k samples what the sampler samples by number draws + k. What was given some 5 windows before it is handed over comes without
  // a wait. next() is errc::usage where all that was given has been handed over and the epoch has not ended; after its end it has none
  // until another is begun. state() can be resumed where the same epoch was opened and given before.
  void open(std::uint64_t epoch, std::uint64_t draws = 0);
  void give(own_batch seeds);  // errc::input for seeds that are no nodes of their type; the epoch is then as it was
  void end();
  void stop();  // no thread is left, and the sampler is free, until next() goes on where it stopped
  // The next mini-batch of the epoch, or none at its end (the next call begins the epoch after it). Rows are there when `stream` has come
  // so far; empty: when the call returns. Throws what went wrong (with one of those that are drawn together: with the first of them), after
  // all mini-batches before it; no thread is left then, and the next call begins where this one stopped. errc::memory: with the very
  // mini-batch, once there is room. errc::device names a rank that held rows of a table and has ended; a mini-batch on a stream whose rows
  // were still on their way is told of by the call after it.
  std::optional<mini_batch> next(stream_ref stream = {});
  load_state state() const;
  void resume(load_state const& state);  // errc::input where it is of another loader
  load_report report() const;
  std::uint64_t bytes() const;  // near memory, now, with what the sampler takes

 private:
  struct impl;
  explicit loader(std::unique_ptr<impl> made);
  detail::held<impl> impl_;
};

}  // namespace garner
