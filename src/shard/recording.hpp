// Captures work that all shards of one process repeat: on GPUs as one CUDA graph over all of them, which one call starts;
// elsewhere as each shard's function, kept. Invariant: as of core/recording.hpp: a replay equals the capture, which is
// repeated if memory of any shard has moved. All shards decide the same. If capture fails on one, all drop it and learn
// the reason. During capture one shard submits at a time, since a graph is not thread-safe, and shards do not wait for one
// that failed. Cost: two barriers per run. Source: CUDA graphs by stream capture, whose streams of other devices join by
// events.
#pragma once
#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>

#include "core/event.hpp"
#include "shard/group.hpp"

namespace garner {

// Thrown instead of waiting for the token, once another shard has failed: it unwinds the work that was being captured.
struct abandoned : std::exception {
  char const* what() const noexcept override { return "another shard could not do its part"; }
};

// A token and a barrier for threads: waiting at the barrier passes the token to another thread.
class pass_token {
 public:
  pass_token(std::uint32_t threads, std::chrono::steady_clock::duration patience) : threads_(threads), patience_(patience) {}
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  // All have come. Throws `abandoned` where one has broken it off, or does not come.
  void barrier();
  void break_off();

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint32_t threads_, here_ = 0;
  std::chrono::steady_clock::duration patience_;
  std::uint64_t met_ = 0;
  bool broken_ = false;
};

class shard_recording {
 public:
  explicit shard_recording(shard_group& g) : group_(g) {}
  shard_recording(shard_recording const&) = delete;
  shard_recording& operator=(shard_recording const&) = delete;

  // By all shards, each with its own work, which gives x always the same and reads rows of others by shared_rows alone.
  void run(std::uint32_t shard, executor& x, std::function<void()> const& work);
  // No shard runs it again. Before the shard's executor goes. Shard 0 may be first, by an error, while others still look: it frees the
  // graph, which it alone starts, and writes nothing.
  void leave(std::uint32_t shard) noexcept;
  std::uint64_t parts() const { return parts_; }           // of all shards; 0 before a capture
  std::string const& refused() const { return refused_; }  // why not

  // Whether rows of others come so that the host need not wait for a device.
  static bool can(shard_group const& g, std::uint32_t shard) { return !g.of_processes() && !g.access(shard).waits(); }

 private:
  void forget() noexcept;
  void record(std::uint32_t shard, executor& x, std::function<void()> const& work);
  void give(std::uint32_t shard, executor& x);
  shard_group& group_;
  struct member {
    bool given = false;  // once, with all its memory made
    std::uint64_t moves = 0;
    std::function<void()> work;
    event ready, done;
  };
  std::array<member, shard_parts::most> members_;
  std::unique_ptr<pass_token> token_;
  event begun_, started_;
  void *graph_ = nullptr, *stream_ = nullptr;
  int device_ = -1;
  std::uint64_t parts_ = 0;
  std::string refused_;
};

}  // namespace garner
