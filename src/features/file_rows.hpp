// Reads rows of a file for mini-batches: file_cache knows them ahead and reads before use; in the lab's page_cache kernels request
// what they miss.
// Invariant: mini-batches are gathered in the order in which they entered, and only with all of their rows.
#pragma once
#include <cstdint>
#include <functional>

#include "core/executor.hpp"
#include "features/gather.hpp"
#include "features/row_view.hpp"
#include "memory/buffer.hpp"

namespace garner {

class file_rows {
 public:
  struct figures {
    std::uint64_t rows = 0, hits = 0;    // rows of the file: requested, and cached
    std::uint64_t reads = 0, bytes = 0;  // rows, or pages, that were read for it
    double waited_ms = 0;                // for the drive
  };
  virtual ~file_rows() = default;

  // The ids of the next mini-batch, on the device and checked. Waits for work submitted to x; not for a drive.
  virtual void enter(executor& x, id_span ids) = 0;
  virtual void end() {}  // nothing else enters for now
  // Writes rows of the next mini-batch that stay in the file to their positions in `out`; the caller gathers the others. False: `stopped`
  // ended the wait. Throws errors of the drive.
  using stop_check = std::function<bool()>;
  virtual bool gather(executor& x, void* out, gather_how how, stop_check const& stopped, figures& told) = 0;
  virtual void reset() = 0;                 // no mini-batch has entered and no row is here; waits for what is under way
  virtual std::uint64_t bytes() const = 0;  // of host memory
  virtual std::uint64_t near_bytes() const = 0;
};

// Rows of a mini-batch that stay in the file. Grows with the largest.
class file_ids {
 public:
  // Their ids, and the positions of these (both on the device, grown as needed); returns how many. Waits.
  std::uint64_t find(executor& x, row_view const& table, id_span ids, buffer<std::uint64_t>& found, buffer<std::uint32_t>& positions);

 private:
  buffer<std::uint64_t> ids_;
  buffer<std::uint32_t> numbers_;
  buffer<std::uint8_t> flags_;
};

}  // namespace garner
