// Staging buffers of each shard that all others read. Shared data is copied into one, so that a shard may change its own memory freely, and
// so that memory of a failed shard is never read after its release.
//   process_windows  shards that are processes: shared memory on the host, CUDA IPC on GPUs (as shared feature tables), or shared memory
//                    that is pinned for GPUs without peer access
//   thread_windows   shards of one process: host memory, pinned for GPUs without peer access
// Invariant: buffers are made by all shards together, in the size that each needs; they are replaced only if one is too small, after all
// reads. Cost of sharing rows: a copy of them, two waits of the host for its device and two barriers; close() does not wait for shards.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "comm/peer_group.hpp"
#include "comm/rank_group.hpp"
#include "core/event.hpp"
#include "memory/buffer.hpp"
#include "memory/pin.hpp"
#include "shard/row_access.hpp"

namespace garner {

class window_memory {
 public:
  virtual ~window_memory() = default;
  // By all shards together: one buffer each of so many bytes, instead of those before. Addresses for this shard's kernels, and (`mine`) for
  // its copies.
  struct places {
    std::vector<void const*> at;
    void* mine = nullptr;
  };
  virtual places make(std::vector<std::uint64_t> const& bytes) = 0;
  virtual std::string about() const = 0;
  virtual bool near() const = 0;  // windows are where their shards keep their own state
};

// `device`: that reads them, -1: none. `here`: they lie on the devices, and else in host memory.
std::unique_ptr<window_memory> process_windows(rank_group& processes, int device, bool here);
std::unique_ptr<window_memory> thread_windows(rank_group& threads, std::uint32_t shard, int device);

class window_rows final : public row_access {
 public:
  window_rows(rank_group& ranks, std::uint32_t shard, std::unique_ptr<window_memory> memory);
  ~window_rows() override;
  // By all shards together, once: it is known then whether it is available.
  void begin();

  peer_table share(executor& x, shared_part const& mine, row_demand const*) override;
  void close(executor& x) override { read_.record(x); }
  void drop(executor& x) override { x.wait(); }
  bool waits() const override { return true; }
  std::string about() const override { return memory_->about(); }
  std::uint64_t bytes() const override { return memory_->near() ? bytes_[shard_] : 0; }

 private:
  void make(std::vector<std::uint64_t> const& wanted);
  rank_group& ranks_;
  std::uint32_t shard_;
  std::unique_ptr<window_memory> memory_;
  std::vector<std::uint64_t> bytes_;
  window_memory::places places_;
  event read_;
};

}  // namespace garner
