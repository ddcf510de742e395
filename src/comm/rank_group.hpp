// Ranks that train together: threads of this process, or processes, that synchronize at barriers, exchange short texts and compute the mean
// of an array of numbers. Each rank has a mailbox that it alone writes: the number of barriers reached, its message, the reason why it
// left. Mailboxes of threads are on the heap, those of processes in the shared memory of a peer_group, whose locks reveal killed processes.
// Invariants: all ranks make the same calls in the same order. Each number of a mean is summed by one rank, in the order of ranks, so that
// all get the same bits. No rank waits for a dead one: the next call of each other names it, and a rank that leaves for its sake passes its
// name on. A rank that times out counts as dead, and is notified when it arrives. Cost: a barrier polls the mailboxes a few times; a mean
// has three barriers, and 2 reads per number (reduce-scatter, all-gather) over peer access, or else through pinned host memory.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/common_memory.hpp"
#include "core/executor.hpp"

namespace garner {

// Thrown instead of waiting, once another rank has reported that it cannot take part (rank_group::ahead).
struct given_up : std::exception {
  char const* what() const noexcept override { return "another rank could not do its part"; }
};

class rank_group : public std::enable_shared_from_this<rank_group> {
 public:
  static constexpr std::uint32_t most_ranks = 16;
  // `timeout_seconds`: for all to join, in take(). `late_seconds`: for a rank to reach any other barrier, where all have about as much to
  // do; 0: as long as it lives. Time in which this process itself was stopped does not count. `same`: must be equal for all processes, and
  // is reported if it differs. `look` is called while it waits for all to join.
  static std::shared_ptr<rank_group> of_threads(std::uint32_t ranks, double timeout_seconds = 60, double late_seconds = 0);
  static std::shared_ptr<rank_group> of_processes(std::string const& name, std::uint32_t rank, std::uint32_t ranks,
                                                  double timeout_seconds = 60, double late_seconds = 0, std::string const& same = "ranks",
                                                  std::function<void()> look = {});
  ~rank_group();

  // For processes, while this one waits elsewhere for others: throws where one has left or ended, or came with different parameters.
  void look() const;
  std::uint32_t ranks() const;
  std::chrono::steady_clock::duration patience() const;  // timeout_seconds
  std::optional<std::uint32_t> only() const;             // of processes: the one that this process is
  // Of several processes: how they come to have something in common, for this one's device (-1: none). In each the k-th call is of the
  // same. What is made of them keeps the group.
  std::optional<common_memory::terms> common(int device);

  // The rank belongs to this thread from here on; waits until all have joined. `numbers`: maximum for mean(). errc::usage where it is taken
  // or invalid, or others have another `numbers`; errc::io names the missing ranks. All calls below: errc::io names a dead rank, and the
  // reason, or a late one.
  void take(std::uint32_t rank, executor const& x, std::uint64_t numbers);
  // The others are notified once they wait for this rank. Repeating it is harmless; after a call that named a dead rank that one is named.
  void leave(std::uint32_t rank, std::string_view why) noexcept;

  void meet(std::uint32_t rank);  // until all have come here
  std::vector<std::string> tell_all(std::uint32_t rank, std::string_view mine);
  // What ranks train with, a line each: errc::usage names the first that another rank has otherwise.
  void require_same(std::uint32_t rank, std::string_view lines);
  // A barrier at which each passes two numbers; returns those of all.
  using pair = std::array<std::uint64_t, 2>;
  std::vector<pair> meet_with(std::uint32_t rank, pair mine);
  // For a wait outside of barriers: names a dead rank; and returns whether one has reached the next barrier already, with a message for
  // all.
  void look(std::uint32_t rank);
  bool ahead(std::uint32_t rank) const;
  std::uint64_t reached(std::uint32_t rank) const;  // barriers, by a rank of this process or by one that has joined
  bool any(std::uint32_t rank, bool mine);
  // values (on x's device): of each number the mean over the ranks, on x's stream; the host does not wait for a device.
  void mean(std::uint32_t rank, executor& x, float* values, std::uint64_t count);

 private:
  struct parts;
  explicit rank_group(std::unique_ptr<parts> made);
  std::unique_ptr<parts> parts_;
};

}  // namespace garner
