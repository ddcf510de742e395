// Ranks that learn together: threads of this process, or processes, that meet again and again, tell each other short texts and take the
// mean of an array of numbers. Each rank has a board that it alone writes: how often it has come to a meeting, what it says, why it went.
// Boards of threads lie on the heap, those of processes in the shared memory of a peer_group, whose locks tell of who was killed.
// Invariants: all ranks make the same calls in the same order; each number of a mean is added up by one rank, in the order of ranks, so
// that all get the same bits; nobody waits for a rank that is gone: the next call of each other names it, and who leaves for its sake
// passes its name on. Who is late counts as gone, and hears that when it comes. Cost: a meeting is a few looks at the boards; a mean three
// meetings, and 2 numbers read a number (reduce-scatter, all-gather) over peer access, or through pinned host memory where there is none.
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

// Thrown where one need not wait for what another could not do (rank_group::ahead).
struct given_up : std::exception {
  char const* what() const noexcept override { return "another rank could not do its part"; }
};

class rank_group : public std::enable_shared_from_this<rank_group> {
 public:
  static constexpr std::uint32_t most_ranks = 16;
  // `wait_seconds`: for all to come, in take(). `late_seconds`: for one to come to any other meeting, where all have about as much to do;
  // 0: as long as it lives. Time in which this process itself was stopped does not count. `same`: what processes must say alike, told where
  // they do not. `look` is called while it waits for all to come.
  static std::shared_ptr<rank_group> of_threads(std::uint32_t ranks, double wait_seconds = 60, double late_seconds = 0);
  static std::shared_ptr<rank_group> of_processes(std::string const& name, std::uint32_t rank, std::uint32_t ranks,
                                                  double wait_seconds = 60, double late_seconds = 0, std::string const& same = "ranks",
                                                  std::function<void()> look = {});
  ~rank_group();

  // Of processes, while this one waits for others elsewhere: throws where one has left or ended, or came and said something else.
  void look() const;
  std::uint32_t ranks() const;
  std::chrono::steady_clock::duration patience() const;  // wait_seconds
  std::optional<std::uint32_t> only() const;             // of processes: the one that this process is
  // Of several processes: how they come to have something in common, for this one's device (-1: none). In each the k-th call is of the
  // same. What is made of them keeps the group.
  std::optional<common_memory::terms> common(int device);

  // The rank is this thread's from here on; waits until all have come. `numbers`: the most that mean() will get. errc::usage where it is
  // taken, is none, or others say other numbers; errc::io names who has not come. All calls below: errc::io names a rank that is gone, and
  // why, or that is late.
  void take(std::uint32_t rank, executor const& x, std::uint64_t numbers);
  // The others hear it, once they wait for this rank. Again is harmless; after a call that named a gone rank that one is named.
  void leave(std::uint32_t rank, std::string_view why) noexcept;

  void meet(std::uint32_t rank);  // until all have come here
  std::vector<std::string> tell_all(std::uint32_t rank, std::string_view mine);
  // What ranks train with, a line each: errc::usage names the first that another rank has otherwise.
  void require_same(std::uint32_t rank, std::string_view lines);
  // A meeting at which each tells two numbers; those of all.
  using pair = std::array<std::uint64_t, 2>;
  std::vector<pair> meet_with(std::uint32_t rank, pair mine);
  // For who waits for something else than a meeting: names a rank that is gone; and whether one has come to the next meeting already, with
  // words for all.
  void look(std::uint32_t rank);
  bool ahead(std::uint32_t rank) const;
  bool any(std::uint32_t rank, bool mine);
  // values (near x): of each number the mean over the ranks, on x's stream; the host does not wait for a device.
  void mean(std::uint32_t rank, executor& x, float* values, std::uint64_t count);

 private:
  struct parts;
  explicit rank_group(std::unique_ptr<parts> made);
  std::unique_ptr<parts> parts_;
};

}  // namespace garner
