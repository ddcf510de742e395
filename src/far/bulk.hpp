// Access `bulk`: rows of a remote table are fetched by the copy engine of a few multiprocessors, instead of by loads of all of them. One
// thread requests a whole piece of a row and is free again; so 4 of an H200's 132 multiprocessors fill the link with rows of 1 KiB and
// more. How: one block per multiprocessor, up to 16 warps, each with a ring of up to 32 stages in shared memory. A piece enters a stage
// (cp.async.bulk, counted by an mbarrier) and leaves it by another such copy, or, where rows are not aligned to 16 bytes, by the lanes,
// which shift it. Consecutive equal ids (sorted) fetch their row once and store it to each position.
// Invariants: the engine copies from and to multiples of 16 bytes, so it fetches the whole units of 16 bytes around a piece that are inside
// the table; the rest of the first and the last unit is loaded plainly: no byte before or after the table is read. Pieces are cut where
// lines of 128 bytes begin, so every request but a row's first and last is a whole line. Contract: ids are checked before; each id >=
// first_far is in the table, smaller ones are skipped (they are local).
// Source: bulk copies are Garner's own; the dissertation (3.4) bounds the multiprocessors that a gather takes by MPS.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/executor.hpp"
#include "core/mark.hpp"

namespace garner {

struct bulk_rows {
  void const* table = nullptr;  // as the place reads it
  std::uint64_t first_row = 0;  // the id of the row that begins there
  std::uint64_t rows = 0, row_bytes = 0;
  void const* ids = nullptr;  // at the place, like positions and out
  std::uint32_t id_bytes = 8;
  std::uint64_t count = 0;
  std::uint32_t const* positions = nullptr;  // row k goes to out + positions[k] * row_bytes; null: k
  std::uint64_t first_far = 0;               // smaller ids are left out
  void* out = nullptr;
  char* const* places = nullptr;  // at the place; row k goes to places[positions[k]] instead
  std::uint64_t place_bits = 0;   // bitwise or over all of these
  std::uint32_t id_shift = 0;     // an id stands above so many bits that are not of it
};

struct bulk_options {
  unsigned multiprocessors = 4;
  unsigned warps = 0;             // a block; 0: by the size of a stage
  std::uint32_t stage_bytes = 0;  // at most so many; 0: 4 KiB
};

// Whether this device has bulk copies (compute capability 9.0).
bool has_bulk_copies(int device);

// Every device. On a GPU asynchronous, in the order of the executor; errc::device where bulk copies are unsupported.
void gather_bulk(executor& x, bulk_rows const& what, bulk_options const& options = {});

// --- what the places share -------------------------------------------------------------------------------------------------------------
inline constexpr std::uint64_t bulk_unit = 16, bulk_line = 128;
// A row that stands more often than this in a row is fetched again: one warp does not store all copies of a hub.
inline constexpr std::uint64_t bulk_repeats = 1024;

struct bulk_shape {
  unsigned blocks = 0, warps = 0, stages = 0;  // stages a warp
  std::uint32_t stage_bytes = 0;
  bool whole = false;  // every row begins and ends on 16 bytes, here and there
  std::size_t shared_bytes() const { return std::size_t{warps} * (32 * 8 + std::size_t{stages} * stage_bytes); }
};
bulk_shape shape_of(bulk_rows const& what, bulk_options const& options, unsigned multiprocessors, std::size_t shared_bytes);

// Piece p of a row at [row, row_end): bytes [from, to) of memory, for which the engine fetches [fetch, fetch_end) to stage + fetch - base.
struct bulk_piece {
  std::uint64_t from, to, base, fetch, fetch_end;
};
GARNER_HD inline std::uint64_t bulk_pieces(std::uint64_t row, std::uint64_t row_end, std::uint64_t stage) {
  return (row_end - row / bulk_line * bulk_line + stage - 1) / stage;
}
GARNER_HD inline bulk_piece bulk_piece_of(std::uint64_t row, std::uint64_t row_end, std::uint64_t p, std::uint64_t stage,
                                          std::uint64_t table, std::uint64_t table_end) {
  bulk_piece b{};
  b.base = row / bulk_line * bulk_line + p * stage;
  b.from = b.base < row ? row : b.base;
  b.to = b.base + stage < row_end ? b.base + stage : row_end;
  std::uint64_t const first = (table + bulk_unit - 1) / bulk_unit * bulk_unit, last = table_end / bulk_unit * bulk_unit;
  b.fetch = b.from / bulk_unit * bulk_unit;
  if (b.fetch < first) b.fetch = first;
  b.fetch_end = (b.to + bulk_unit - 1) / bulk_unit * bulk_unit;
  if (b.fetch_end > last) b.fetch_end = last;
  if (b.fetch_end < b.fetch) b.fetch_end = b.fetch;
  return b;
}

namespace on_gpu {
bool has_bulk_copies(int device);
void gather_bulk(executor& x, bulk_rows const& what, bulk_options const& options);
}  // namespace on_gpu

}  // namespace garner
