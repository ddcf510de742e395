// Rows over libraries that are opened at run time. NCCL and NVSHMEM have shared memory, which kernels read as any peer's. NCCL also sends
// and receives, where that is missing or devices lack peer access. Received rows are on the device: for an aggregation in bulk the
// requested rows, else all rows of all shards. NCCL does not reduce, since its order differs from ours.
// Cost of send and receive: rows are copied to a contiguous buffer and stored twice, and the host waits until this shard has received
// everything (requested rows: in close()), as a dead shard would block the device forever.
#pragma once
#include <memory>
#include <vector>

#include "comm/nccl.hpp"
#include "comm/nvshmem.hpp"
#include "memory/buffer.hpp"
#include "shard/windows.hpp"

namespace garner {

// By all shards at one time. Why not, as agree() says it (group.hpp): one lacks it, or cannot.
std::string begin_nccl(std::shared_ptr<nccl>& by, rank_group& ranks, std::uint32_t shard, executor const& x);
std::string begin_nvshmem(std::shared_ptr<nvshmem>& by, rank_group& ranks, std::uint32_t shard, executor const& x);
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
