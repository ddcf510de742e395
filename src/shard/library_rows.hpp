// Rows over libraries that are opened at run time. Over NCCL or NVSHMEM in windows, which kernels read as any peer's memory; over NCCL
// also sent and received, where there are none or devices do not reach each other. Then what comes is near: of an aggregation in bulk the
// rows that are asked for, else all rows of all shards. Nothing is added up by NCCL, whose order is not ours.
// Cost of what is sent and received: rows are packed once and lie near once more, and the host waits until all that comes to this shard
// has come (rows that were asked for: in close()), as one that is gone would leave the device waiting for ever.
#pragma once
#include <memory>
#include <vector>

#include "comm/nccl.hpp"
#include "comm/nvshmem.hpp"
#include "memory/buffer.hpp"
#include "shard/windows.hpp"

namespace garner {

// Of all shards at one time: `refusal` (group.hpp) where one has none, or cannot.
std::shared_ptr<nccl> begin_nccl(rank_group& ranks, std::uint32_t shard, executor const& x);
std::shared_ptr<nvshmem> begin_nvshmem(rank_group& ranks, std::uint32_t shard, executor const& x);
std::unique_ptr<window_memory> windows_of(std::shared_ptr<nccl> by, int device);
std::unique_ptr<window_memory> windows_of(std::shared_ptr<nvshmem> by, int device);

class nccl_rows final : public row_access {
 public:
  nccl_rows(std::shared_ptr<nccl> by, rank_group& ranks, std::uint32_t shard, executor& x, std::string why_no_windows);

  std::shared_ptr<row_demand const> ask(executor& x, std::vector<std::vector<std::uint32_t>> const& needs) override;
  peer_table share(executor& x, shared_part const& mine, row_demand const* only) override;
  void before(std::uint32_t shard, executor& reader) override;
  void close(executor& x) override;
  void drop(executor& x) override;
  bool waits() const override { return true; }
  std::string about() const override;
  std::uint64_t bytes() const override { return came_.bytes() + packed_.bytes(); }

 private:
  std::shared_ptr<nccl> by_;
  rank_group& ranks_;
  std::uint32_t shard_;
  std::string why_no_windows_;
  executor far_;
  buffer<char> came_, packed_;
  event ready_, arrived_, read_;
};

}  // namespace garner
