// NCCL, opened at run time through the entry points declared here, so that no build needs its headers: a communicator of a rank_group's
// ranks, which sends and receives bytes, and memory of each rank that all others read (NCCL windows, 2.29 and newer).
// Invariants: calls do not block in NCCL (the communicator is non-blocking, and is polled). While this rank waits it polls the others, so
// that a dead one is named, and the communicator aborted. Multicast is never used (the environment must switch it off, since a communicator
// lacks a field for it). Two ranks on one GPU are refused, as NCCL does not support them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/rank_group.hpp"
#include "core/event.hpp"

namespace garner {

class nccl {
 public:
  static constexpr char const* variable = "GARNER_NCCL";
  static constexpr int oldest = 21400, oldest_windows = 22900;  // 2.14: without blocking; 2.29: windows that the host knows the places of

  // errc::device where it is missing, or too old.
  nccl();
  ~nccl();
  nccl(nccl const&) = delete;
  nccl& operator=(nccl const&) = delete;
  std::string about() const;  // "NCCL 2.29.3 (FILE)"

  using unique_id = std::string;  // bytes, made by one rank
  unique_id make_id() const;
  // By all ranks, at one time. Until taken(), a rank abandons its wait for others, and returns without a communicator or window, once one
  // has posted a message for the next barrier (rank_group::ahead): that rank failed, and agree() of shard/group.hpp returns why.
  void taken() { taken_ = true; }
  void begin(rank_group& ranks, std::uint32_t rank, unique_id const& id, int device);

  struct message {
    std::uint32_t rank;  // of the other
    void* at;            // device memory of this rank's
    std::uint64_t bytes;
  };
  // On the stream: all that is sent and received, as one.
  void exchange(void* stream, std::span<message const> sent, std::span<message const> received);
  void wait(event const& e);  // the host, for what stands behind an exchange

  // One window: the same bytes on all ranks, instead of that before. Where each rank's lies for this one; errc::device where it cannot
  // reach one.
  peer_memory make_window(std::uint64_t bytes);

 private:
  struct entries;
  void check(int status, char const* call);
  bool settle(char const* call);  // false: abandoned
  void abort() noexcept;
  std::unique_ptr<entries> calls_;
  rank_group* ranks_ = nullptr;
  std::uint32_t rank_ = 0;
  int device_ = -1;
  bool taken_ = false;
  void* communicator_ = nullptr;
  void *window_ = nullptr, *memory_ = nullptr;
};

}  // namespace garner
