// Ranks that train together: threads of this process, or processes. They synchronize at barriers, exchange short texts and average arrays
// of numbers. Each rank has a mailbox that only it writes: the number of barriers reached, its message, and why it left. Mailboxes of
// threads are on the heap. Those of processes are in the shared memory of a peer_group, whose locks reveal killed processes.
// Invariants: all ranks make the same calls in the same order. One rank sums each number of a mean, in rank order, so
// that all get the same bits. No rank waits for a dead one: the next call of every other rank names it, and a rank
// that leaves because of it passes the name on. A rank that times out counts as dead, and is notified when it arrives.
// Cost: a barrier polls mailboxes a few times; a mean takes 3 barriers and 2 reads per number, by peer access or in pinned host memory.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/peer_group.hpp"
#include "core/executor.hpp"

namespace garner {

class rank_group : public std::enable_shared_from_this<rank_group> {
 public:
  static constexpr std::uint32_t most_ranks = 16;
  // `timeout_seconds`: how long join() waits for all ranks to join. `late_seconds`: how long other barriers wait for a rank,
  // where all have similar work; 0: for as long as the rank lives. Time in which this process was stopped does not count.
  // `same` must be equal in all processes; a difference is reported. `look` is called during the wait for all to join.
  static std::shared_ptr<rank_group> of_threads(std::uint32_t ranks, double timeout_seconds = 60, double late_seconds = 0);
  static std::shared_ptr<rank_group> of_processes(std::string const& name, std::uint32_t rank, std::uint32_t ranks,
                                                  double timeout_seconds = 60, double late_seconds = 0, std::string const& same = "ranks",
                                                  std::function<void()> look = {});
  ~rank_group();

  // For a process that waits for others elsewhere: throws if a process has left, ended or joined with other parameters.
  void look() const;
  std::uint32_t ranks() const;
  std::chrono::steady_clock::duration patience() const;  // timeout_seconds
  std::optional<std::uint32_t> only() const;             // for processes: the rank of this process
  // For several processes: terms of memory that they share, for this process's device (-1: none). The k-th
  // calls of all processes describe the same memory. Memory made with the terms keeps the group alive.
  std::optional<peer_group::terms> common(int device);

  // Assigns the rank to this thread, and waits until all ranks have joined. `numbers`: the maximum for mean().
  // errc::usage: the rank is taken or invalid, or `numbers` differs between ranks. errc::io names the missing
  // ranks. All calls below throw errc::io, which names a rank that is dead, with the reason, or that timed out.
  void join(std::uint32_t rank, executor const& x, std::uint64_t numbers);
  // Notifies the others once they wait for this rank. Repeated calls are harmless. If this rank saw a dead rank, the others see its name.
  void leave(std::uint32_t rank, std::string_view why) noexcept;

  void barrier(std::uint32_t rank);  // waits until all ranks have arrived
  std::vector<std::string> all_gather(std::uint32_t rank, std::string_view mine);
  // Compares the parameters of training, one per line. errc::usage names the first that differs on another rank.
  void require_same(std::uint32_t rank, std::string_view lines);
  // A barrier at which each rank passes two numbers. Returns those of all ranks.
  using pair = std::array<std::uint64_t, 2>;
  std::vector<pair> all_gather_numbers(std::uint32_t rank, pair mine);
  // For waits outside of barriers: look() throws an error that names a dead rank. ahead()
  // returns whether another rank has already reached the next barrier, with a message for all.
  void look(std::uint32_t rank);
  bool ahead(std::uint32_t rank) const;
  std::uint64_t reached(std::uint32_t rank) const;  // barriers reached, by a rank of this process or by one that has joined
  bool any(std::uint32_t rank, bool mine);
  // Replaces each of `values` (on x's device) with its mean over the ranks, on x's stream. The host does not wait for a device.
  void mean(std::uint32_t rank, executor& x, float* values, std::uint64_t count);

 private:
  struct parts;
  explicit rank_group(std::unique_ptr<parts> made);
  std::unique_ptr<parts> parts_;
};

}  // namespace garner
