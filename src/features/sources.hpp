// Fetches the rows of a gather. A source sees the location of rows (row_view), their target positions (batch_list) and the order in which
// teams take them (id_order); the ids have been checked.
//   direct  kernels read host memory in place
//   bulk    the copy engine of a few multiprocessors reads it; all other rows are read as by direct
//   staged  the threads of the host gather into pinned memory, which is sent: what frameworks do, and how rows come to the tiers at first
// A source may block for its rows; a kernel may not, so storage that can miss (a file) is a source, not a tier.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "core/executor.hpp"
#include "core/progress.hpp"
#include "features/gather.hpp"
#include "memory/buffer.hpp"

namespace garner {

struct row_request {
  row_view const& from;
  batch_list const& to;
  id_order const& order;
  gather_how how;
};

class row_source {
 public:
  virtual ~row_source() = default;
  // In the order of the executor; asynchronous on a device, but for staged rows.
  virtual void bring(executor& x, row_request const& what) = 0;
};

std::unique_ptr<row_source> direct_source();
std::unique_ptr<row_source> bulk_source(unsigned multiprocessors);

// Sends rows of an array in host memory, or of a file (as they are), to any device: gathered by the host into two pinned buffers in turn,
// so that one is filled while the other is sent. Returns when all have come.
class row_sender {
 public:
  row_sender(executor& x, row_array const& source);
  ~row_sender();
  row_sender(row_sender const&) = delete;
  row_sender& operator=(row_sender const&) = delete;

  // Writes n ids from number `first` on. None: the rows in their order.
  using id_source = std::function<void(std::uint64_t first, std::uint64_t n, std::uint64_t* ids)>;
  void send(std::uint64_t n, id_source const& ids_of, char* to, gather_how const& how, progress* told);
  void close();  // gives the buffers back

 private:
  struct stage;
  executor& x_;
  row_array const& source_;
  std::unique_ptr<stage> stage_;
};
// The same for a gather. `scales`: by id, in host memory, where the request has some. Ids are brought to the host first.
std::unique_ptr<row_source> staged_source(row_sender& sender, float const* scales);

}  // namespace garner
