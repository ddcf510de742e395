// NVSHMEM, opened at run time through the entry points of its host library that are declared here: memory of each rank that all others
// read. Ranks are processes, and each can initialize it once. Its calls block until all ranks have joined: they run on a thread of their
// own, which is abandoned when a rank is dead. Multicast is never used. It is not finalized, which would need all ranks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/rank_group.hpp"

namespace garner {

class nvshmem {
 public:
  static constexpr char const* variable = "GARNER_NVSHMEM";
  static constexpr int oldest = 3;  // major: its structs are versioned from there on

  // errc::device where it is missing, too old, or already initialized by this process.
  nvshmem();
  ~nvshmem();
  std::string about() const;  // "NVSHMEM 3.4.5 (FILE)"

  std::string make_id() const;  // bytes, made by one rank
  // All ranks, at one time, as nccl.
  void begin(rank_group& ranks, std::uint32_t rank, std::string const& id, int device);
  void taken() { taken_ = true; }

  peer_memory make_window(std::uint64_t bytes);  // as nccl's

 private:
  struct entries;
  template <class F>
  auto watched(char const* call, F const& f) -> std::optional<decltype(f())>;  // nullopt: abandoned
  std::unique_ptr<entries> calls_;
  rank_group* ranks_ = nullptr;
  std::uint32_t rank_ = 0;
  int device_ = -1;
  bool taken_ = false;
  void* memory_ = nullptr;
};

}  // namespace garner
