// Rows of a file for mini-batches that are known ahead: read before use, cached as long as it pays, gathered from their slots. A mini-batch
// enters with its ids. Those of its rows that stay in the file go to the host, where a plan (cache_plan.hpp) finds the cached ones and
// assigns slots to the others. A thread of the cache reads rows into their slots, mini-batch by mini-batch and as far ahead as slots allow;
// gather() waits for the rows of the next mini-batch and launches a plain gather from the slots. Kernels never wait for a drive, and need
// no lookup table: each mini-batch has the slots of its rows.
// Invariants: mini-batches are planned, read and gathered in the order in which they entered. A slot is overwritten only after the gather
// that the plan names has released its lease of the slots and its reads have completed. A mini-batch with missing rows is not gathered:
// gather() throws the error, and reset() must discard all entered mini-batches.
// Cost: the slots, 16 bytes more for each, and some 40 bytes per row of mini-batches that have entered.
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
    std::uint64_t device_bytes = 0;  // of slots on the gathering device: these are filled first; 0 on the host
    eviction policy = eviction::next_use;
    std::uint32_t window = 0;        // mini-batches that must have entered behind one before it is planned, unless it is gathered sooner
    std::span<float const> scores;   // by row; as cache_plan. Must outlive this
    std::span<float const> factors;  // by row, where i8 rows are converted; in host memory. Must outlive this
  };
  // `table`: which rows stand in the file; what it points at must outlive this.
  file_cache(execution_device where, std::shared_ptr<stored_rows const> file, row_view const& table, terms const& t);
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
    buffer<std::uint32_t> positions;        // on the device: ids of its rows that stay in the file
    buffer<std::uint64_t> keys, keys_here;  // their slots; on the device, and where the host writes them
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

  execution_device where_;
  std::shared_ptr<stored_rows const> file_;
  row_view const& table_;
  terms terms_;
  std::uint64_t slots_ = 0;
  std::uint64_t near_slots_ = 0;  // slots [0, near_slots_) are on the device
  // Targets of drive reads, which may outlive this: slots in host memory, and staging rows on their way to slots on the device.
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

  // Shared by the thread and the caller.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<batch_ref> entered_;  // not gathered yet
  std::deque<batch_ref> given_;    // gathered; the last of them is number gathered_ - 1
  std::deque<batch_ref> queue_;    // planned, partly sent
  std::vector<batch_ref> idle_;
  std::uint64_t gathered_ = 0;
  std::exception_ptr broken_;  // the thread has ended by this
  bool stop_ = false;
  // Owned by the caller, until a reset: the error that later mini-batches get; whether a reset failed, which orphans the entered ones.
  std::exception_ptr failed_;
  bool unclean_ = false;
  bool lost_ = false;  // of the thread, and of the caller after it has ended
  std::jthread thread_;
};

}  // namespace garner
