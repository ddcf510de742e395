// Tables of feature rows larger than a device, or than the host likes to copy: the unified tensor (a host array that a device reads in
// place) and the tiered tensor (one array to look at, its rows in device memory, in that of other devices and in host memory).
// Sources: chapters 3 and 4 of Min's dissertation (PyTorch-Direct, PVLDB 14(11) 2021; Data Tiering, KDD 2022).
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "garner/detail/held.hpp"
#include "garner/place.hpp"
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
  return 0;  // none of these
}
std::string_view to_string(element e);  // "f32" ...
element parse_element(std::string_view text);

class stored_rows;  // of Garner's own rooms

// A table in host memory: `rows` rows of `width` elements, one after the other. `owner` keeps it alive; empty: the caller does.
struct row_array {
  void const* data = nullptr;
  std::uint64_t rows = 0, width = 0;
  element kind = element::f32;
  std::shared_ptr<void const> owner = {};
  // Of the array that the table was made of, where `kind` is u8 for want of an element like its own: what it calls its elements ("<f8"),
  // and their bytes. Messages say it; gathers look at neither.
  std::string type = {};
  std::uint64_t type_bytes = 0;
  std::vector<std::uint64_t> shape = {};         // its dimensions, the first of rows; empty: rows and width
  std::shared_ptr<stored_rows const> file = {};  // where the rows are, if they stay there (open_rows); `data` is nothing then

  std::uint64_t row_bytes() const { return width * bytes_of(kind); }
};

// An .npy file (C order, little endian; a row is all but the first dimension) or a row file (.gnt), read into host memory. What is none of
// our elements (f64, i32, u16, void, text ...) is held as raw bytes. `as`: the elements are these, whatever the file calls them: bf16,
// which this format has no name for (ml_dtypes writes <V2), or words that hold it. errc::input where the file is shorter than its header
// says, big-endian, of objects or of records; errc::usage where `as` takes other bytes than the file's elements.
row_array read_rows(std::filesystem::path const& file, std::optional<element> as = {});
// The same where an .npy file lies: mapped, read as its pages are asked for, and held open until the last owner lets go. Keep it unchanged.
row_array map_rows(std::filesystem::path const& file, std::optional<element> as = {});
struct file_options {
  unsigned depth = 0;            // reads under way, a drive and a reader; 0: 128, or as a loader measures that the drive wants (64 to 1024)
  bool direct = true;            // past the page cache, where the file system has it
  double deadline_seconds = 30;  // a read that takes longer is an error; 0: none is
};
// The same where the rows stay in the file, of any size: for a tiered_tensor, which reads them as they are asked for. It is held open until
// the last owner lets go; one that is replaced or written to meanwhile is errc::input.
row_array open_rows(std::filesystem::path const& file, std::optional<element> as = {}, file_options const& how = {});
// The same for a table that is there: its bytes seen as other elements of as many bytes, or as u8, or u8 as any. Nothing is converted.
row_array seen_as(row_array rows, element as);

// A host array, pinned and mapped in place, that any kernel of any library can read at device_data(). Copies share it; with the last one
// it is unpinned. An array that is pinned already stays so. Without a device (-1) nothing is pinned.
class unified_tensor {
 public:
  // errc::memory where the system refuses to pin (the message names the limit), errc::usage for an empty array.
  unified_tensor(row_array rows, int device);
  row_array const& rows() const;
  void const* device_data() const;  // as the device sees it
  int device() const;               // -1: the host alone reads it

 private:
  struct mapping;
  std::shared_ptr<mapping const> mapping_;
};

struct tiered_options {
  place where;  // where gathers run: host, simulated, or a device
  // Bytes of rows kept on every device that gathers (the hottest rows; replicated), and bytes a device of rows that lie in one of `peers`
  // only (the next hottest; interleaved: row k of them is row k / peers of device k % peers). The rest lies in host memory. Unset: chosen
  // from what is free, and told by about(). At the host nothing is kept, since all rows are near; simulated, host memory stands for all of
  // it (unset: nothing is kept), and any numbers may be peers.
  std::optional<std::uint64_t> device_budget, peer_budget;
  // Of a table that stays in a file (open_rows): bytes of host memory for its rows. The hottest of those that are in no device's memory lie
  // there for good, but for file_cache bytes (unset: a quarter), where rows of the file come and stay a while. Unset: half of what is free.
  // What has room in neither stays in the file.
  std::optional<std::uint64_t> host_budget, file_cache;
  std::vector<int> peers;         // devices with fast links to each other, where.index among them; empty: none. Without such links: none
  std::span<float const> scores;  // one a row: which are the hottest (of equal ones the first); empty: the first. Read by the constructor
  std::span<float const> scales;  // i8: the factor of each row for conversion; empty: 1. Kept near the place that gathers
  // Peers that are processes (of one user and machine, a device each): all give this name, the same table, scores and `peers` (all devices,
  // visible to each), and `where` is its own of them. Each places its share, and what all have room for is what lies on peers. The
  // constructor waits until all have come, at most wait_seconds (errc::io names who has not), and then as long as they live. From then on a
  // gather is errc::device once one of the processes has ended. A process that lets go of its tensor keeps its share until the others have
  // let go too; so all should have done with it before the first exits.
  std::string group = {};
  double wait_seconds = 60;
};

enum class gather_way : std::uint8_t {
  automatic,
  staged,   // the host gathers into pinned memory, then copies: what frameworks do; the baseline
  naive,    // a warp a row, from where the row begins
  shifted,  // the circular shift of Listing 3.2
  aligned,  // a warp a row, started on a line, with the widest loads that fit
  bulk,     // the copy engine of a few multiprocessors
};
enum class gather_order : std::uint8_t { automatic, none, sorted, bucketed };  // bucketed: by translation page only
// Ids that stand several times in a gather: their far rows cross the link once, or each position reads its own. automatic: once where rows
// are far, in every order that is named; with order automatic not where even looking for them would show. Not, but for sorted ids, where a
// place for rows is pinned host memory: what repeats is copied from there, over the link again.
enum class gather_duplicates : std::uint8_t { automatic, once, repeat };
std::string_view to_string(gather_way);
std::string_view to_string(gather_order);
std::string_view to_string(gather_duplicates);
gather_way parse_gather_way(std::string_view);
gather_order parse_gather_order(std::string_view);
gather_duplicates parse_gather_duplicates(std::string_view);

// What a cache of rows of a file keeps. All but clock and window know a mini-batch whole before any row of it gives way.
enum class cache_policy : std::uint8_t {
  next_use,  // who is used again last gives way, as far as mini-batches are known ahead: each row is read once for all of these
  window,    // who is used again stays, the others give way in turn: GIDS' window buffering
  clock,     // who is not in use gives way in turn: BaM's cache
  pinned,    // the hottest by score stay
};
inline constexpr cache_policy all_cache_policies[] = {cache_policy::next_use, cache_policy::window, cache_policy::clock,
                                                      cache_policy::pinned};
std::string_view to_string(cache_policy);  // "next-use", "window", "clock", "pinned"
cache_policy parse_cache_policy(std::string_view);

// Who reads rows of a file. ahead: a thread of the host, which knows the mini-batches to come; kernels: those that gather ask for the pages
// that they miss, and wait (GPU-initiated, as BaM): the cache is one of pages then, its policy a clock.
enum class reads_by : std::uint8_t { ahead, kernels };
std::string_view to_string(reads_by);
reads_by parse_reads_by(std::string_view);

// Row ids of the user's, 4 or 8 bytes each, readable at the place that gathers. None may be negative.
class id_span {
 public:
  id_span() = default;
  id_span(std::span<std::int32_t const> ids) : id_span(ids.data(), ids.size(), 4) {}
  id_span(std::span<std::int64_t const> ids) : id_span(ids.data(), ids.size(), 8) {}
  id_span(std::span<std::uint64_t const> ids) : id_span(ids.data(), ids.size(), 8, true) {}
  // Of an address and a type that are known at run time. Of unsigned ids (of 8 bytes only) one that is too large is told as it was given,
  // not as a negative one.
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

// A place for rows: memory that the place that gathers writes, with room for all rows that are asked for.
class row_output {
 public:
  row_output() = default;
  // Of a vector, an array, a span: whatever has elements one after the other.
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
  gather_way way = gather_way::automatic;
  gather_order order = gather_order::automatic;
  gather_duplicates duplicates = gather_duplicates::automatic;
  std::optional<element> to;      // f32 or bf16 out of f16, bf16 or i8 rows; unset: as they are
  std::span<float const> scales;  // i8: other factors than the tensor's, in host memory; a device gets a copy of all of them at each call
  unsigned multiprocessors = 0;   // at most so many of the device; 0: all
  unsigned load_bytes = 0;        // at most so many bytes a lane and load: 1, 2, 4, 8, 16; 0: as the way has it (naive and shifted 4)
  // To work on: the call returns when the ids have been checked, and the rows are there when the stream has come so far.
  // Empty: the tensor's own, and the call returns when the rows are there.
  stream_ref stream = {};
};

// What a gather did, or would do.
struct gather_run {
  gather_way way = gather_way::automatic;
  gather_order order = gather_order::automatic;
  gather_duplicates duplicates = gather_duplicates::automatic;
  std::uint64_t rows = 0, row_bytes = 0;        // delivered
  std::string why;                              // how the way and the order were chosen
  traffic link;                                 // simulated: what reading the host's rows asks of the link
  std::uint64_t file_rows = 0, file_reads = 0;  // a table in a file: rows that stay there, and how many of them were read for this
};

// Rows by where they lie.
class rows_by_tier {
 public:
  std::uint64_t& operator[](tier t) { return rows_[static_cast<std::size_t>(t)]; }
  std::uint64_t operator[](tier t) const { return rows_[static_cast<std::size_t>(t)]; }
  std::uint64_t all() const;
  bool operator==(rows_by_tier const&) const = default;

 private:
  std::array<std::uint64_t, tier_count> rows_{};
};

// Calls from several threads take turns. Gathers on different streams wait for each other, since they share what they sort in.
class tiered_tensor {
 public:
  // Host memory: takes what it needs from `rows` in place (pinned and mapped for the device); a file: reads what it keeps. errc::memory
  // where a budget or the system refuses; errc::usage where options contradict each other.
  tiered_tensor(row_array rows, tiered_options const& options = {});
  ~tiered_tensor();
  // The same table for another device of this process (or this one): the same rows on it as here, copied, and the rows on peers and in host
  // memory shared, each released with the last that reads it; of rows that stay in a file each has a cache of its own. Any device with fast
  // links to the peers; without them it reads their rows from host memory, and about() says so (of a file: errc::usage, they are not
  // there). errc::usage between places of different kinds, and where peers are processes.
  tiered_tensor beside(place where) const;
  tiered_tensor(tiered_tensor&&) noexcept;
  tiered_tensor& operator=(tiered_tensor&&) noexcept;

  std::uint64_t rows() const, width() const, row_bytes() const;
  element kind() const;
  place where() const;
  rows_by_tier tiers() const;  // where its rows lie
  std::string about() const;   // one line: where the rows lie, and why

  // out: as many rows as ids (errc::usage where it has less room), as they are in the table or converted, at the place that gathers, as are
  // the ids (on a device pinned host memory will do; errc::usage for memory that it does not read). errc::input names an id that is
  // negative or too large, and its position; nothing outside the table is read, and out then holds nothing of use. Rows of a file are read
  // first, and waited for; errc::io and errc::input name file and row where the drive has an error or gives other bytes than were written.
  gather_run gather(id_span ids, row_output out, gather_options const& options = {});
  // The ids of several mini-batches at once: each far row is read once for all of them. outs[k] gets the rows of batches[k].
  gather_run gather_many(std::span<id_span const> batches, std::span<row_output const> outs, gather_options const& options = {});
  // What would be chosen, and why; `ids` of so many mini-batches in all.
  gather_run explain(std::uint64_t ids, gather_options const& options = {}, std::uint64_t batches = 1) const;
  rows_by_tier hits(id_span ids) const;  // where the rows of these ids lie: a pass over the ids

 private:
  friend struct tensor_access;  // Garner's own rooms
  struct parts;
  explicit tiered_tensor(std::unique_ptr<parts> made);
  detail::held<parts> parts_;
};

}  // namespace garner
