// Who brings the rows of a file to mini-batches: file_cache, which knows them ahead and reads before they are needed, or page_cache, whose
// kernels ask for what they miss.
// Invariant: mini-batches are gathered in the order in which they entered, and one whose rows did not all come never is.
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
    std::uint64_t rows = 0, hits = 0;    // of the file: asked for, and that were there
    std::uint64_t reads = 0, bytes = 0;  // rows, or pages, that were read for it
    double waited_ms = 0;                // for the drive
  };
  virtual ~file_rows() = default;

  // The ids of the mini-batch behind the last, near and checked. Waits for what was given to x; not for a drive.
  virtual void enter(executor& x, id_span ids) = 0;
  virtual void end() {}  // nothing else enters for now
  // Rows of the next mini-batch that stand in the file, to their places of `out`; the others are gathered by who called. False: `stopped`
  // said so while it waited. Throws what the drive said.
  using stop_check = std::function<bool()>;
  virtual bool gather(executor& x, void* out, gather_how how, stop_check const& stopped, figures& told) = 0;
  virtual void reset() = 0;                 // no mini-batch has entered and no row is here; waits for what is under way
  virtual std::uint64_t bytes() const = 0;  // of host memory
  virtual std::uint64_t near_bytes() const = 0;
};

// Of a mini-batch the rows that stand in the file. Grows with the largest.
class file_ids {
 public:
  // Their ids, and where these stand among all (both near, made larger where they have no room); returns how many. Waits.
  std::uint64_t find(executor& x, row_view const& table, id_span ids, buffer<std::uint64_t>& found, buffer<std::uint32_t>& positions);

 private:
  buffer<std::uint64_t> ids_;
  buffer<std::uint32_t> numbers_;
  buffer<std::uint8_t> flags_;
};

}  // namespace garner
