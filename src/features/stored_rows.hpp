// A feature table that stays in a file, and reads of many of its rows at a time. An .npy file is read unchanged: its rows begin
// anywhere, so every row is a request of its own bytes. The reader joins adjacent ones, and cuts where the drive needs alignment.
// Garner's feature file is read by pages, whose checksums are verified before rows are copied; rows that are requested together share
// their pages.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/progress.hpp"
#include "features/cache_plan.hpp"
#include "features/row_file.hpp"
#include "garner/features.hpp"
#include "storage/reader.hpp"

namespace garner {

// Reads of one thread.
class row_reads {
 public:
  struct want {
    std::uint64_t row = 0;
    char* to = nullptr;
    std::uint64_t group = 0;  // comes back, as does
    std::uint32_t tag = 0;
  };
  struct done {
    std::uint64_t group = 0, row = 0;
    std::uint32_t tag = 0;
    std::optional<error> problem = {};  // names file, place and row
  };
  virtual ~row_reads() = default;  // after this nothing writes to any target, except reads that their drive fails to cancel
  // The kernel maps places of rows once instead of at each read, where it lets us; best before anything is submitted.
  virtual void register_memory(void* begin, std::size_t bytes) { (void)begin, (void)bytes; }
  virtual std::size_t room() const = 0;  // so many more may be submitted now
  virtual std::size_t under_way() const = 0;
  virtual std::size_t lost() const = 0;  // reads that were given up and may still write to the place of their row
  // Whether so many at once are worth it now: many, so that rows that stand together are read together, but before the drives run dry.
  bool takes(std::size_t n) const { return room() >= n || 2 * room() >= under_way(); }
  virtual void submit(std::span<want const> wants) = 0;  // best in the order of their rows
  // Rows that have come, or will not; waits until there are some (better `wanted`). errc::interrupted after a Ctrl-C.
  virtual std::span<done const> wait(std::size_t wanted) = 0;
};

class stored_rows {
 public:
  virtual ~stored_rows() = default;
  virtual std::string const& name() const = 0;
  virtual std::uint64_t rows() const = 0;
  virtual std::uint64_t row_bytes() const = 0;
  virtual std::uint64_t stored_bytes() const = 0;  // of all its rows, at their file offsets
  // `memory`: what rows are written to; kept as long as a drive may write there.
  virtual std::unique_ptr<row_reads> reads(std::shared_ptr<void const> memory) const = 0;
  virtual reader& files() const = 0;
  // For callers that read pages of files() themselves: begin of a row, and pages worth reading. Error of a page; empty: valid.
  struct page_places {
    row_places rows;
    std::uint64_t begin = 0;  // of the first row
    std::uint32_t page_bytes = 4096;
  };
  virtual page_places places() const = 0;
  virtual std::string wrong(std::uint64_t page, void const* data) const { return (void)page, (void)data, std::string(); }
  std::string about() const { return files().about(); }
  // Requests of a row, or of a page if that is shorter: the latency of one, and the rate at the configured queue depth, or at the greatest
  // useful one. Measured on first use, in some 0.1 s. Later reads use the queue depth that fills that drive (requests_under_way), unless it
  // was configured.
  drive_rate measured() const;

 private:
  mutable std::mutex measuring_;
  mutable std::optional<drive_rate> measured_;
};

inline constexpr std::uint64_t worth_measuring = 64u << 20;  // bytes of a file: of a smaller one no drive is measured

// For contiguous rows from byte `begin` on.
std::shared_ptr<stored_rows const> plain_stored_rows(std::string name, std::shared_ptr<drive_set> drives, reader_options const& how,
                                                     std::uint64_t begin, std::uint64_t rows, std::uint64_t row_bytes);

std::shared_ptr<stored_rows const> paged_stored_rows(std::string name, std::shared_ptr<row_file> file);

// Rows ids_of(k) for k in [0, n) one after the other to host memory at `to`; errors are thrown, and nothing is under way any more.
void read_rows_of(stored_rows const& file, std::uint64_t n, std::function<void(std::uint64_t, std::uint64_t, std::uint64_t*)> const& ids_of,
                  char* to, progress* told);

}  // namespace garner
