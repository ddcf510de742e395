// A gather: ids in, rows out, over a table in several tiers. Declares its kernels and what they read. placement.cpp owns the tiers,
// row_view.hpp locates each row, choose.cpp picks strategy and order, sources.cpp fetches rows.
// Invariant: an id outside the table is never looked up; it is skipped, and check_ids, order_ids or gather_rows with `bad` has reported it.
#pragma once
#include <cstdint>

#include "core/exec.hpp"
#include "features/row_view.hpp"
#include "garner/features.hpp"
#include "memory/buffer.hpp"

namespace garner {

// The ids of up to 64 mini-batches as if they stood one after the other, and where the rows of each go.
struct batch_list {
  static constexpr std::uint32_t most = 64;
  std::uint32_t count = 0;
  std::uint64_t start[most + 1] = {};  // position of each batch's first id; the last is the number of all ids
  void const* ids[most] = {};
  char* outs[most] = {};
  std::uint8_t id_bytes[most] = {};
  std::uint64_t of_unsigned = 0;  // one bit per batch

  void add(id_span batch, void* out) {
    ids[count] = batch.data(), outs[count] = static_cast<char*>(out), id_bytes[count] = static_cast<std::uint8_t>(batch.id_bytes());
    if (batch.is_unsigned()) of_unsigned |= std::uint64_t{1} << count;
    start[count + 1] = start[count] + batch.size();
    ++count;
  }
  std::uint64_t total() const { return start[count]; }
  GARNER_HD std::uint32_t batch_of(std::uint64_t position) const {
    std::uint32_t first = 0, last = count;  // start[first] <= position < start[last]
    while (last - first > 1) {
      std::uint32_t const middle = (first + last) / 2;
      if (start[middle] <= position) first = middle;
      else last = middle;
    }
    return first;
  }
  // Negative ids come out as numbers that no table reaches.
  GARNER_HD std::uint64_t id(std::uint32_t b, std::uint64_t position) const {
    std::uint64_t const k = position - start[b];
    if (id_bytes[b] == 4) return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t const*>(ids[b])[k]));
    return static_cast<std::uint64_t const*>(ids[b])[k];
  }
};

// Work list of the teams of a gather: team i serves entry i. Made by check_ids (one batch: its ids unsorted) or order_ids.
struct id_order {
  void const* ids = nullptr;  // of the user's; null: keys
  std::uint32_t id_bytes = 8;
  std::uint64_t const* keys = nullptr;       // id << shift, and something below it
  std::uint32_t const* positions = nullptr;  // where each key stood; null: where it stands
  char* const* places = nullptr;             // by position, where its row goes; null: one after the other
  std::uint32_t shift = 0;
  std::uint64_t far_from = 0;  // not 0: keys from here on are ids of rows in host memory, so much larger; gather_rows leaves them out
  bool groups = false;         // equal ids stand together: each group is read once
  std::uint64_t const* repeats = nullptr;  // position of the first << 32 | position, of keys that are left out; null: none are

  GARNER_HD_INLINE std::uint64_t id(std::uint64_t i) const {
    if (keys) return keys[i] >> shift;
    return id_bytes == 4 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t const*>(ids)[i]))
                         : static_cast<std::uint64_t const*>(ids)[i];
  }
};

// Workspace of order_ids, on the gathering device; grows with the largest gather.
struct id_sorter {
  buffer<std::uint64_t> keys, spare_keys;
  buffer<std::uint32_t> positions, spare_positions, firsts;
  buffer<std::uint64_t> repeats;
  buffer<char*> places;
};

struct gather_how {
  gather_strategy strategy = gather_strategy::aligned;  // naive, shifted or aligned
  element kind = element::f32, to = element::f32;
  float const* scales = nullptr;  // by id, on the device; null: 1
  unsigned load_bytes = 0;        // 0: as the way has it
};

// Sets *bad (on the device, initially ~0) to the first position whose id the table lacks. Asynchronous, as all of these.
id_order check_ids(executor& x, batch_list const& batches, std::uint64_t rows, std::uint64_t* bad);
id_order as_given(batch_list const& batch);  // the order that check_ids gives
// The same for any number of batches, and the order: none, sorted by id, or by translation page (2 MiB of the table) only. Fewer than 2^32
// ids. `split`: rows in host memory are left to another source (far_from). `once`: sorted ids are in groups; of others, repeated requests
// for a row in host memory are left out, and bad[1] (initially 0) counts them for copy_repeats.
id_order order_ids(executor& x, batch_list const& batches, row_view const& from, std::uint64_t out_row_bytes, gather_order order,
                   bool split, bool once, id_sorter& room, std::uint64_t* bad);
// Writes each row to its position, except rows in a file. `bad`: for one batch of unchecked ids (as_given): set as by check_ids, in the
// same pass.
void gather_rows(executor& x, row_view const& from, batch_list const& to, id_order const& order, gather_how const& how,
                 std::uint64_t* bad = nullptr);
// The rows that were left out, n of them, from where the first of each has come; after all others, bytes as they are.
void copy_repeats(executor& x, batch_list const& to, id_order const& order, std::uint64_t n, std::uint64_t out_row_bytes);
// Writes rows to where the view has them, except rows in a file. `order`: sorted ids with their positions among the rows; of equal ids the
// last counts.
void write_rows(executor& x, row_view const& to, id_order const& order, std::uint64_t n, void const* rows);
// For one batch: ids of rows in the file, their positions and their number. Asynchronous.
void find_file_rows(executor& x, row_view const& from, batch_list const& batch, std::uint64_t* ids, std::uint32_t* numbers,
                    std::uint8_t* flags);
// counts[tier]: how many of these rows lie there. Adds to what is there.
void count_hits(executor& x, row_view const& from, batch_list const& batches, std::uint64_t* counts);

bool converts(element from, element to);  // whether rows of one can be written as the other
// The widest load, at most `most` bytes, that rows and places allow: a power of two that divides all of them.
unsigned widest_load(row_view const& from, batch_list const& to, element kind, element written, unsigned most);

}  // namespace garner
