// Chooses the strategy and order of a gather from the bytes of a row, of the table in host memory, the number of ids and the rate of the
// link. The model (docs/dev/traffic-model.md has the formulas): beyond some reach a device translates scattered addresses at a limited
// rate, at a granule of 64 KiB. Rows in the order of their ids share translations: n ids on a table of G granules cost G (1 - exp(-n / G))
// of them. Against HARDWARE's figures for 512 B rows of 32 GiB it is within 10 %: 100,000 ids 17 GB/s (measured 17-19), 300,000 20
// (21-22), 1,000,000 35 (36-42), 2,000,000 51 (51.7). The copy engine of 4 multiprocessors (strategy bulk) has few rows in flight. In
// order, these share translations as if the granule were twice as long: 300,000 ids of 32 GiB, rows of 128 to 512 B, take 6.2 - 6.5 ms
// against 7.6. Its measured maximum is 73 million rows/s (512 B, from 1,000,000 ids on), which the model assumes; dense gathers use all
// multiprocessors. Duplicate ids: with more ids than remote rows some must repeat, and as many distinct rows as random ids would hit
// cross. With fewer the model expects none, but accepts 5 % more time for fetching rows once: in sampled mini-batches more than one id in
// twenty repeats.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "garner/features.hpp"
#include "memory/link.hpp"

namespace garner {

struct gather_figures {
  double zero_copy_gbs = 0;
  struct reach {
    std::uint64_t table_bytes;
    double translations;  // 1e9 per second; 0: unlimited
  };
  std::vector<reach> tables;  // ascending
  bool measured = false;      // here; else the shipped figures (an H200 over PCIe 5)
  // The copy engine, always as shipped: no calibration asks it.
  static constexpr unsigned engine_multiprocessors = 4;
  static constexpr double engine_rows = 0.073, engine_gbs = 68;  // 1e9 rows and bytes per second, for this many multiprocessors

  static constexpr std::uint64_t every = ~std::uint64_t{0};
  static gather_figures shipped();
  // Rates of a calibration; for tables larger than it measured, the shipped defaults.
  static gather_figures of(link_calibration const& link);
  double translations(std::uint64_t table_bytes) const;  // of the largest measured table within this size

  // Milliseconds for n rows of a table (in order, only those that are `different` cross), and for sorting n ids.
  double unsorted_ms(std::uint64_t n, std::uint64_t row_bytes, std::uint64_t table_bytes) const;
  double sorted_ms(std::uint64_t n, std::uint64_t row_bytes, std::uint64_t table_bytes, std::uint64_t different = every) const;
  double engine_sorted_ms(std::uint64_t n, std::uint64_t row_bytes, std::uint64_t table_bytes, std::uint64_t different = every) const;
  static double sort_ms(std::uint64_t n);
  static double find_ms(std::uint64_t n);  // and for finding those that repeat, unsorted
};

struct gather_question {
  execution_device where;
  std::uint64_t ids = 0, row_bytes = 0;
  std::uint64_t rows = 0, far_rows = 0;  // of the table, of these in host memory
  bool bulk_ready = false;               // there is a copy engine, and table and places for rows begin on 16 bytes
  bool batched = false;                  // ids of several mini-batches, which share rows
  bool converted = false;                // rows are written as another element
  bool far_places = false;               // a place for rows is host memory: copying from it what repeats crosses the link as well
  std::optional<double> far_share = {};  // ids of rows in host memory; unset: uniform over all rows
};
// Multiprocessors of the copy engine: as configured; by default 4, and 4 too where it was chosen over 8 or more.
unsigned engine_share(gather_options const& options);
// Fills in what options leave open, and why.
gather_run choose(gather_question const& q, gather_options const& options, gather_figures const& figures);

}  // namespace garner
