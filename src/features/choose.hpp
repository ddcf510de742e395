// Which way and order a gather takes: from the bytes of a row, of the table in host memory, the number of ids and what the link does.
// The model (docs/dev/traffic-model.md has the formulas): beyond some reach a device translates only so many scattered
// addresses a second, at a granule of 64 KiB; rows in the order of their ids share translations, so that n ids on a table of G granules
// cost G (1 - exp(-n / G)) of them. Against HARDWARE's figures for 512 B rows of 32 GiB it is within 10 %: 100,000 ids 17 GB/s (measured
// 17-19), 300,000 20 (21-22), 1,000,000 35 (36-42), 2,000,000 51 (51.7). The copy engine of 4 multiprocessors (way bulk) has few rows on
// their way at once; in order, these share translations as if the granule were twice as long: 300,000 ids of 32 GiB, rows of 128 to 512 B,
// take 6.2 - 6.5 ms against 7.6. It was not seen to bring more than 73 million rows a second (512 B, from 1,000,000 ids on), so no more is
// expected of it, and dense gathers stay with all multiprocessors. Ids that repeat: where there are more than far rows some must, and so
// many different rows as random ids ask for cross. Of fewer the model expects none to, but a twentieth of the time is given for that their
// rows cross once; in sampled mini-batches more than one id in twenty is there again.
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
    double translations;  // 1e9 a second; 0: as many as are asked for
  };
  std::vector<reach> tables;  // ascending
  bool measured = false;      // here; else the shipped figures (an H200 over PCIe 5)
  // The copy engine, always as shipped: no calibration asks it.
  static constexpr unsigned engine_multiprocessors = 4;
  static constexpr double engine_rows = 0.073, engine_gbs = 68;  // 1e9 rows and bytes a second, of so many multiprocessors

  static constexpr std::uint64_t every = ~std::uint64_t{0};
  static gather_figures shipped();
  // What a calibration says; of tables larger than it measured, what is shipped.
  static gather_figures of(link_calibration const& link);
  double translations(std::uint64_t table_bytes) const;  // of the largest table measured that is no larger

  // Milliseconds for n rows of a table (of which in order only those that are `different` cross), and for bringing n ids into order.
  double unsorted_ms(std::uint64_t n, std::uint64_t row_bytes, std::uint64_t table_bytes) const;
  double sorted_ms(std::uint64_t n, std::uint64_t row_bytes, std::uint64_t table_bytes, std::uint64_t different = every) const;
  double engine_sorted_ms(std::uint64_t n, std::uint64_t row_bytes, std::uint64_t table_bytes, std::uint64_t different = every) const;
  static double sort_ms(std::uint64_t n);
  static double find_ms(std::uint64_t n);  // and for finding those that repeat, unsorted
};

struct gather_question {
  place where;
  std::uint64_t ids = 0, row_bytes = 0;
  std::uint64_t rows = 0, far_rows = 0;  // of the table, of these in host memory
  bool bulk_ready = false;               // there is a copy engine, and table and places for rows begin on 16 bytes
  bool batched = false;                  // ids of several mini-batches, which share rows
  bool converted = false;                // rows are written as another element
  bool far_places = false;               // a place for rows is host memory: copying from it what repeats crosses the link as well
  std::optional<double> far_share = {};  // of the ids: so many ask for a row in host memory; unset: as of any rows
};
// How many multiprocessors the copy engine gets: those that were asked for; 4 of none and where it was chosen beside 8 or more.
unsigned engine_share(gather_options const& options);
// Fills in what options leave open, and why.
gather_run choose(gather_question const& q, gather_options const& options, gather_figures const& figures);

}  // namespace garner
