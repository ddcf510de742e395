// Windows: memory of each shard that all others read. What is shared is copied into one, so that a shard may do with its own memory what it
// likes, and so that nobody reads what a failed shard has released.
//   process_windows  shards that are processes: shared memory at the host, CUDA IPC on devices (as shared feature tables), or shared memory
//                    that is pinned for devices which do not reach each other
//   thread_windows   shards of one process: host memory, pinned for devices which do not reach each other
// Invariant: windows are made by all shards together, of the size that each wants; they are made anew only where one is too small, when all
// have read. Cost: of sharing rows, a copy of them, two waits of the host for its device and two meetings; no shard waits at close().
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
  // Of all shards together: one each of so many bytes, instead of those before. Where this shard's kernels read them, and (`mine`) where
  // its copies write.
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
  // Of all shards together, once: whether it can be had is known then.
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
