// Feature tables larger than GPU memory: the unified tensor (a host array that a device reads in place) and the tiered tensor (one table
// whose rows lie in GPU memory, peer GPU memory, host memory or a file).
// Sources: chapters 3 and 4 of Min's dissertation (PyTorch-Direct, PVLDB 14(11) 2021; Data Tiering, KDD 2022).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "garner/detail/held.hpp"
#include "garner/device.hpp"
#include "garner/stream.hpp"
#include "garner/traffic.hpp"

namespace garner {

enum class element : std::uint8_t { f32, f16, bf16, i8, i64, u8 };  // u8: raw bytes
constexpr std::uint64_t bytes_of(element e) {
  switch (e) {
    case element::f32:
      return 4;
    case element::f16:
    case element::bf16:
      return 2;
    case element::i64:
      return 8;
    case element::i8:
    case element::u8:
      return 1;
  }
  return 0;  // unknown element type
}
std::string_view to_string(element e);  // "f32" ...
element parse_element(std::string_view text);

class stored_rows;  // for Garner's own modules

// A table in host memory: `rows` contiguous rows of `width` elements. `owner` keeps it alive; empty: the caller does.
struct row_array {
  void const* data = nullptr;
  std::uint64_t rows = 0, width = 0;
  element kind = element::f32;
  std::shared_ptr<void const> owner = {};
  // The element type of the source array ("<f8") and its size, if `kind` is u8 because the type has no equivalent here. Only messages
  // use them; gathers do not.
  std::string type = {};
  std::uint64_t type_bytes = 0;
  std::vector<std::uint64_t> shape = {};         // the array's shape, first dimension rows; empty: rows and width
  std::shared_ptr<stored_rows const> file = {};  // the source of rows that stay on disk (open_rows); `data` is null then
  bool writable = true;                          // tiered_tensor::put writes to `data`; false where that must not be (map_rows)

  std::uint64_t row_bytes() const { return width * bytes_of(kind); }
};

// Reads an .npy file (C order, little endian; a row is everything but the first dimension) or a feature file (.gnt) into host memory. An
// unsupported element type (f64, i32, u16, void, text ...) is held as raw bytes. `as` overrides the file's element type, for example bf16,
// which .npy cannot name (ml_dtypes writes <V2). errc::input if the file is shorter than its header declares, big-endian, or of objects
// or records; errc::usage if the elements of `as` have another size than the file's.
row_array read_rows(std::filesystem::path const& file, std::optional<element> as = {});
// The same, memory-mapped: pages are read on access, and the file stays open until the last owner is destroyed. Do not change the file.
row_array map_rows(std::filesystem::path const& file, std::optional<element> as = {});
struct file_options {
  unsigned depth = 0;            // reads in flight per drive and reader; 0: 128, or what a loader measures to be best (64 to 1024)
  bool direct = true;            // bypass the page cache, if the file system supports it
  double deadline_seconds = 30;  // a read that takes longer is an error; 0: no limit
};
// The same for rows that stay in the file, of any size: a tiered_tensor reads them on demand. The file stays open until the last owner is
// destroyed; replacing or writing to it meanwhile is errc::input.
row_array open_rows(std::filesystem::path const& file, std::optional<element> as = {}, file_options const& how = {});
// Reinterprets a table's bytes as elements of the same size, as u8, or from u8 as any type. Nothing is converted.
row_array seen_as(row_array rows, element as);

// A host array, pinned and mapped in place, that any kernel of any library can read at device_data(). Copies share it; the last one
// unpins it. An array that was pinned before stays pinned. Without a device (-1) nothing is pinned.
class unified_tensor {
 public:
  // errc::memory if the system refuses to pin (the message names the limit), errc::usage for an empty array.
  unified_tensor(row_array rows, int device);
  row_array const& rows() const;
  void const* device_data() const;  // the device address
  int device() const;               // -1: only the host reads it

 private:
  struct mapping;
  std::shared_ptr<mapping const> mapping_;
};

struct tiered_options {
  execution_device device;  // where gathers run: the CPU, simulated, or a GPU
  // feature_cache: bytes of the hottest rows, replicated on every gathering device. peer_cache: bytes per device of the next hottest rows,
  // each on one of `peers`, interleaved: row k of them is row k / peers of device k % peers. All other rows lie in host memory. Unset: from
  // the free memory; about() reports the choice. The CPU caches nothing, since all rows are local. For `simulated`, host memory stands in
  // for all tiers (unset: caches nothing), and any numbers may be peers.
  std::optional<std::uint64_t> feature_cache, peer_cache;
  // For a table in a file (open_rows): bytes of host memory for its rows. The hottest rows outside GPU memory stay there permanently; the
  // rest of it, file_cache bytes (unset: a quarter), caches other rows of the file. Unset: half of the free host memory. Rows that fit
  // neither stay in the file.
  std::optional<std::uint64_t> host_cache, file_cache;
  std::vector<int> peers;         // devices with fast links to each other, including device.index; empty: none. Needs NVLink or similar
  std::span<float const> scores;  // one per row: the hottest rows (ties: the first); empty: the first rows. Read by the constructor
  std::span<float const> scales;  // i8: the scale of each row for conversion; empty: 1. Kept in the gathering device's memory
  // Peers in several processes (of one user and machine, one device each): all pass this name, the same table, scores and `peers` (all
  // devices, visible to each), and their own device as `device`. Each process holds its share; rows that fit all shares lie on peers. The
  // constructor waits for all processes, at most timeout_seconds (errc::io names a missing one). Afterwards, once one process has ended,
  // every gather is errc::device. A process that destroys its tensor keeps its share until the others have destroyed theirs, so finish all
  // gathers before the first process exits.
  std::string group = {};
  double timeout_seconds = 60;
};

enum class gather_strategy : std::uint8_t {
  automatic,
  staged,   // the host gathers into pinned memory, then copies, as frameworks do: the baseline
  naive,    // one warp per row, from the first byte of the row
  shifted,  // the circular shift of Listing 3.2
  aligned,  // one warp per row, starting at a cache line, with the widest loads that fit
  bulk,     // the copy engines (TMA) of a few multiprocessors
};
enum class gather_order : std::uint8_t { automatic, none, sorted, bucketed };  // bucketed: by translation page only
// Duplicate ids in a gather. once: a duplicated remote row is fetched once. repeat: every position fetches it. automatic: once, unless
// deduplication costs more than it saves (only with order automatic). If the output is pinned host memory, `once` needs sorted ids;
// otherwise it behaves like repeat.
enum class gather_duplicates : std::uint8_t { automatic, once, repeat };
std::string_view to_string(gather_strategy);
std::string_view to_string(gather_order);
std::string_view to_string(gather_duplicates);
gather_strategy parse_gather_strategy(std::string_view);
gather_order parse_gather_order(std::string_view);
gather_duplicates parse_gather_duplicates(std::string_view);

// Replacement policies of the cache for rows of a file.
enum class cache_policy : std::uint8_t {
  next_use,  // evicts the row whose next use is last, among known mini-batches, so each row is read once for all of them
  pinned,    // keeps the hottest rows by score
};
inline constexpr cache_policy all_cache_policies[] = {cache_policy::next_use, cache_policy::pinned};
std::string_view to_string(cache_policy);  // "next-use", "pinned"
cache_policy parse_cache_policy(std::string_view);

// The user's row ids, 4 or 8 bytes each, readable by the gathering device. None may be negative.
class id_span {
 public:
  id_span() = default;
  id_span(std::span<std::int32_t const> ids) : id_span(ids.data(), ids.size(), 4) {}
  id_span(std::span<std::int64_t const> ids) : id_span(ids.data(), ids.size(), 8) {}
  id_span(std::span<std::uint64_t const> ids) : id_span(ids.data(), ids.size(), 8, true) {}
  // From an address and a type known at run time. An unsigned id (8 bytes) that is too large is reported as passed, not as a negative
  // number.
  id_span(void const* data, std::uint64_t count, std::uint32_t id_bytes, bool is_unsigned = false)
      : data_(data), count_(count), id_bytes_(id_bytes), is_unsigned_(is_unsigned) {}

  void const* data() const { return data_; }
  std::uint64_t size() const { return count_; }
  std::uint32_t id_bytes() const { return id_bytes_; }
  bool is_unsigned() const { return is_unsigned_; }

 private:
  void const* data_ = nullptr;
  std::uint64_t count_ = 0;
  std::uint32_t id_bytes_ = 8;
  bool is_unsigned_ = false;
};

// An output buffer: memory that the gathering device can write, large enough for all requested rows.
class row_output {
 public:
  row_output() = default;
  // From a vector, an array, a span: any contiguous range.
  template <class Range>
  requires requires(Range& r) { static_cast<void*>(r.data()), r.size(); }
  row_output(Range&& rows) : data_(rows.data()), bytes_(rows.size() * sizeof(*rows.data())) {}
  row_output(void* data, std::uint64_t bytes) : data_(data), bytes_(bytes) {}

  void* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

struct gather_options {
  gather_strategy strategy = gather_strategy::automatic;
  gather_order order = gather_order::automatic;
  gather_duplicates duplicates = gather_duplicates::automatic;
  std::optional<element> to;      // f32 or bf16 from f16, bf16 or i8 rows; unset: no conversion
  std::span<float const> scales;  // i8: overrides the tensor's scales; in host memory, copied to the device by each call
  unsigned multiprocessors = 0;   // limit for the device; 0: all
  unsigned load_bytes = 0;        // limit per lane and load: 1, 2, 4, 8, 16; 0: the strategy's own (naive and shifted 4)
  // The stream for the gather: the call returns once the ids are checked, and the rows are ready in stream order.
  // Empty: the tensor's own stream, and the call returns when the rows are ready.
  stream_ref stream = {};
};

// The result of a gather, or of a dry run.
struct gather_run {
  gather_strategy strategy = gather_strategy::automatic;
  gather_order order = gather_order::automatic;
  gather_duplicates duplicates = gather_duplicates::automatic;
  std::uint64_t rows = 0, row_bytes = 0;        // delivered
  std::string why;                              // reason for the strategy and the order
  traffic link;                                 // simulated: link traffic of the reads of host memory
  std::uint64_t file_rows = 0, file_reads = 0;  // a table in a file: rows that are not cached, and rows read by this gather
};

// Rows by tier.
class rows_by_tier {
 public:
  std::uint64_t& operator[](tier t) { return rows_[static_cast<std::size_t>(t)]; }
  std::uint64_t operator[](tier t) const { return rows_[static_cast<std::size_t>(t)]; }
  std::uint64_t all() const;
  bool operator==(rows_by_tier const&) const = default;

 private:
  std::array<std::uint64_t, tier_count> rows_{};
};

// Concurrent calls are serialized. Gathers on different streams wait for each other, since they share sort buffers.
class tiered_tensor {
 public:
  // Host memory: uses `rows` in place (pinned and mapped for the device). File: reads the rows that it caches. errc::memory if a budget or
  // the system refuses; errc::usage if options contradict each other.
  tiered_tensor(row_array rows, tiered_options const& options = {});
  ~tiered_tensor();
  // The same table for another device of this process (or the same one). Rows in GPU memory are copied. Rows on peers and in host memory
  // are shared, and freed with their last user; for a table in a file, each tensor has its own cache. The device should have fast links to
  // the peers; otherwise it reads their rows from host memory, and about() reports it (table in a file: errc::usage, host memory lacks
  // them). errc::usage between devices of different kinds, or if peers are processes.
  tiered_tensor for_device(execution_device device) const;
  tiered_tensor(tiered_tensor&&) noexcept;
  tiered_tensor& operator=(tiered_tensor&&) noexcept;

  std::uint64_t rows() const, width() const, row_bytes() const;
  element kind() const;
  execution_device device() const;
  rows_by_tier tiers() const;  // its rows by tier
  std::string about() const;   // one line: the tier of the rows, and why

  // Gathers rows of ids into `out`, unchanged or converted; errc::usage if `out` is too small. The device must be able to write `out` and
  // read `ids`; pinned host memory works on a GPU, other memory is errc::usage. errc::input names a negative or too large id and its
  // position; nothing outside the table is read, and the contents of `out` are undefined then. Rows in a file are read first, while the
  // call waits; errc::io and errc::input name file and row if the drive fails or a checksum mismatches.
  gather_run gather(id_span ids, row_output out, gather_options const& options = {});
  // Gathers several mini-batches at once: each remote row is read once for all of them. outs[k] receives the rows of batches[k].
  gather_run gather_many(std::span<id_span const> batches, std::span<row_output const> outs, gather_options const& options = {});
  // The strategy that gather() would choose, and why; `ids` of `batches` mini-batches in all.
  gather_run explain(std::uint64_t ids, gather_options const& options = {}, std::uint64_t batches = 1) const;
  rows_by_tier hits(id_span ids) const;  // the rows of these ids by tier: one pass over the ids
  // Writes rows (of this element type, one after the other) over those of ids: in the array that the table was made of, and in every copy
  // that this tensor and all made by for_device keep; of equal ids the last counts. `ids` and `rows` lie in host memory or on the device,
  // and nothing may be writing them. Gathers before the call get the old rows, gathers after it the new ones, and so do epochs of loaders;
  // a loader in the middle of an epoch may hand over either, or a row that is part old and part new. errc::input for an invalid id, as by
  // gather; errc::usage for rows of another size, and for a table of a file, of a group or of an array that is not `writable`;
  // errc::memory: nothing was written then. A table that was made of the same array by itself does not notice.
  void put(id_span ids, std::span<std::byte const> rows);

 private:
  friend struct tensor_access;  // for Garner's own modules
  struct parts;
  explicit tiered_tensor(std::unique_ptr<parts> made);
  detail::held<parts> parts_;
};

}  // namespace garner
