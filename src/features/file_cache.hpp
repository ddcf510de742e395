// Rows of a file for mini-batches that are known ahead: read before they are needed, kept as long as it pays, gathered from where they lie.
// A mini-batch enters with its ids; those of its rows that stand in the file go to the host, where a plan (cache_plan.hpp) says which are
// there and which slots the others get. A thread of the cache's own has them read into their slots, mini-batch by mini-batch and as far
// ahead as slots allow; gather() waits until those of the next mini-batch have come and launches a plain gather from the slots. So no
// kernel waits for a drive, and there is no table of what is where for a kernel to look at: each mini-batch brings the slots of its rows
// along. Invariants: mini-batches are planned, read and gathered in the order in which they entered; a slot is written when the lease that
// the gather of the mini-batch that the plan names had of the slots has gone and its use has happened, and not before. A mini-batch whose
// rows did not all come is never gathered: gather() throws what went wrong, and all that entered is to be forgotten by reset(). Cost: the
// slots, 16 bytes each besides, and of mini-batches that have entered some 40 bytes a row.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/executor.hpp"
#include "core/lease.hpp"
#include "features/cache_plan.hpp"
#include "features/file_rows.hpp"
#include "features/row_view.hpp"
#include "features/stored_rows.hpp"
#include "memory/buffer.hpp"

namespace garner {

class file_cache final : public file_rows {
 public:
  struct terms {
    std::uint64_t host_bytes = 0;    // of slots in host memory
    std::uint64_t device_bytes = 0;  // of slots near the place that gathers: where rows come first; none at the host
    cache_policy policy = cache_policy::next_use;
    // 0: reads go on without a pause. Else GIDS' storage access accumulator: mini-batches are read together until they ask for so many
    // reads, and the next when all of these have come.
    std::uint64_t merge_reads = 0;
    std::uint32_t window = 0;        // mini-batches that must have entered behind one before it is planned, unless it is gathered sooner
    std::span<float const> scores;   // by row; as cache_plan. Must outlive this
    std::span<float const> factors;  // by row, where i8 rows are converted; in host memory. Must outlive this
  };
  // `table`: which rows stand in the file; what it points at must outlive this.
  file_cache(place where, std::shared_ptr<stored_rows const> file, row_view const& table, terms const& t);
  ~file_cache() override;
  file_cache(file_cache const&) = delete;
  file_cache& operator=(file_cache const&) = delete;

  std::uint64_t slots() const { return slots_; }
  std::uint64_t bytes() const override;
  std::uint64_t near_bytes() const override { return near_rows_.bytes(); }

  void enter(executor& x, id_span ids) override;
  void end() override;  // all that has entered is planned
  // errc::usage where it has more rows of the file than there are slots.
  bool gather(executor& x, void* out, gather_how how, stop_check const& stopped, figures& told) override;
  void reset() override;

 private:
  struct batch {
    std::uint64_t rows = 0;
    buffer<std::uint32_t> positions;        // near: of its rows that stand in the file
    buffer<std::uint64_t> keys, keys_here;  // their slots; near, and where the host writes them
    leases<row_view> slots;                 // of its gather
    cache_plan::step step;
    std::vector<row_reads::want> wants;  // in the order in which they are sent; tag: the slot
    std::vector<std::uint64_t> after;    // of each, as cache_plan::load
    bool sorted = false, loaded = false, planned = false;
    std::uint64_t sent = 0, left = 0;
    std::exception_ptr error;
  };
  using batch_ref = std::shared_ptr<batch>;

  void make_memory(int device);
  void plan_one();
  void launch();
  void halt();
  void work();
  void read_all_of_it();
  void send_near(executor& x, std::vector<std::uint64_t>& stages, std::vector<std::uint32_t>& slots, buffer<std::uint64_t> const& keys,
                 buffer<std::uint32_t> const& positions);
  void put_in_order(batch& b, std::uint64_t gathered) const;

  place where_;
  std::shared_ptr<stored_rows const> file_;
  row_view const& table_;
  terms terms_;
  std::uint64_t slots_ = 0;
  std::uint64_t near_slots_ = 0;  // slots [0, near_slots_) lie near
  // What drives write to, who may outlive this: slots in host memory, and places of rows that go on from there to near slots.
  struct written {
    memory_block slots, stage;
  };
  std::shared_ptr<written> memory_;
  std::uint64_t stages_ = 0;
  memory_block near_rows_;
  buffer<float> slot_factors_;
  row_view view_;  // of the slots
  std::optional<cache_plan> plan_;
  file_ids ids_;
  buffer<std::uint64_t> found_;

  // Of the thread and who calls.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<batch_ref> entered_;  // not gathered yet
  std::deque<batch_ref> given_;    // gathered; the last of them is number gathered_ - 1
  std::deque<batch_ref> queue_;    // planned, not sent whole
  std::vector<batch_ref> idle_;
  std::uint64_t gathered_ = 0;
  std::exception_ptr broken_;  // the thread has ended by this
  bool stop_ = false;
  // Of who calls, until a reset: what enters fails by this; a reset has failed, and what had entered is nobody's.
  std::exception_ptr failed_;
  bool unclean_ = false;
  bool lost_ = false;  // of the thread, and of who calls when it has ended
  std::jthread thread_;
};

}  // namespace garner
