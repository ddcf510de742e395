// An executor defines where a loop runs: the device, the stream, the share of the device. All launches take one.
// Invariant: work submitted to one executor runs in order; only wait() (and functions documented to return a value to the host)
// synchronize. On the host every call has finished when it returns, and so in simulation without GARNER_STREAMS.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "core/thread_pool.hpp"
#include "garner/device.hpp"

namespace garner {

// Bytes [first, last) of remote memory that the lanes of one team requested in one step.
struct far_read {
  std::uint64_t first, last;
};

// Receives the requests of the warps of a simulated run. One call per warp, always with all of its teams: for each of its teams the remote
// reads in order, one per step. The teams of a warp walk in lock step, so the k-th reads of all of them are one instruction.
class request_sink {
 public:
  virtual ~request_sink() = default;
  virtual void warp(std::span<std::vector<far_read> const> teams) = 0;
};

// Number of items of a loop: a constant, or a number in device memory, valid once the work submitted before has run, and its bound. A loop
// can thus be submitted before the host knows its length.
struct item_count {
  std::uint64_t most = 0;
  std::uint64_t const* at = nullptr;  // in device memory; null: `most` itself

  item_count(std::uint64_t n) : most(n) {}
  item_count(std::uint64_t const* known_at, std::uint64_t bound) : most(bound), at(known_at) {}
  // Where nothing is given ahead (host and simulated): as many as there are.
  std::uint64_t now() const { return at && *at < most ? *at : most; }
};

class executor {
 public:
  // `sink` receives the requests of a simulated run (simulated device only; null: they are dropped; so they are with streams, since
  // counting would have to wait). errc::device where the device does not exist.
  explicit executor(execution_device where, request_sink* sink = nullptr);
  // On the same device, a stream of its own: what is given here starts as soon as there is room, before what others wait to start.
  struct urgent {};
  executor(executor const& other, urgent);
  ~executor();
  executor(executor const&) = delete;
  executor& operator=(executor const&) = delete;

  execution_device where() const { return where_; }
  // What is given here happens later, in memory of its own: on a GPU, and on the simulated device where it has streams.
  bool asynchronous() const { return stream_ != nullptr; }
  bool on_device() const { return where_.kind == device_kind::cuda; }    // a GPU: its memory, its kernels, its driver
  int device() const { return device_; }                                 // as core/device.hpp counts; -1: none
  tier near() const { return on_device() ? tier::device : tier::host; }  // where this place keeps its own state
  void* stream() const { return stream_; }
  int multiprocessors() const { return multiprocessors_; }  // 0 if the device has none
  request_sink* sink() const { return sink_; }
  // A share of the device: at most this many blocks of this many threads, for any loop (1,024 threads per block: one block per
  // multiprocessor). 0 blocks: all of it; 0 threads: as many as suit the loop.
  void limit_share(unsigned blocks, unsigned threads_a_block = 0) { blocks_ = blocks, threads_ = threads_a_block; }
  unsigned share_blocks() const { return blocks_; }
  unsigned block_limit() const {
    return blocks_ ? blocks_ : static_cast<unsigned>(multiprocessors_) * 8;
  }  // at most; registers may allow fewer
  unsigned threads_a_block(unsigned otherwise = 256) const { return threads_ ? threads_ : otherwise; }
  thread_pool& threads() const { return shared_pool(); }

  // Works on a stream of the caller's from here on; null: on its own again. The caller sees to it that what was given before has happened.
  void work_on(void* stream) { stream_ = stream ? stream : own_stream_; }
  void wait();  // until all that was given has happened; throws what went wrong
  // Work of host threads, on devices where these compute: runs behind all work submitted before. If memory lacks for that, all of it has
  // run when the error is thrown, since the caller may free what it reads and writes.
  template <class Work>
  void give(Work const& work) {
    if (device_ != simulated) return work();
    try {
      give_later(work);
    } catch (std::bad_alloc const&) {
      drain();
      throw;
    }
  }
  void copy(void* to, void const* from, std::size_t bytes);
  void fill(void* at, int byte, std::size_t bytes);
  // A value that need not stay.
  template <class T>
  void write(T* to, T const& value) {
    auto const kept = std::make_shared<T const>(value);
    copy(to, kept.get(), sizeof(T));
    keep(kept);
  }
  // To the host, and waits.
  template <class T>
  T read(T const* at) {
    T value;
    copy(&value, at, sizeof(T));
    wait();
    return value;
  }
  // Keeps memory that submitted work reads or writes, although its owner has released it, until that work has run.
  void keep(std::shared_ptr<void const> memory);
  void let_go();                     // of what need not be kept any longer; wait() does too
  void* scratch(std::size_t bytes);  // device memory for one primitive; valid until the next call
  // Counts reallocations of memory that submitted work uses (scratch, grown buffers): captured work holds the old addresses.
  std::uint64_t moves() const { return moves_; }
  void tell_move() { ++moves_; }
  // Counts captures and replays of this work: older events do not cover them.
  std::uint64_t recordings() const { return recordings_; }
  void tell_recording() { ++recordings_; }

 private:
  struct kept {
    void* until;  // an event
    std::shared_ptr<void const> memory;
  };
  void give_later(std::function<void()> work);
  static void drain() noexcept;
  static constexpr int simulated = -2;  // device::simulated

  execution_device where_;
  int device_ = -1;
  request_sink* sink_ = nullptr;
  void *stream_ = nullptr, *own_stream_ = nullptr;
  void* scratch_ = nullptr;
  std::size_t scratch_bytes_ = 0;
  std::deque<kept> kept_;
  std::uint64_t moves_ = 0, recordings_ = 0;
  int multiprocessors_ = 0;
  unsigned blocks_ = 0, threads_ = 0;
};

// A share of the device (executor::limit_share) for a while: then it is what it was, also where something is thrown.
class limited_share {
 public:
  limited_share(executor& x, unsigned blocks, unsigned threads_a_block) : x_(x), blocks_(x.share_blocks()), threads_(x.threads_a_block(0)) {
    x.limit_share(blocks, threads_a_block);
  }
  ~limited_share() { x_.limit_share(blocks_, threads_); }
  limited_share(limited_share const&) = delete;
  limited_share& operator=(limited_share const&) = delete;

 private:
  executor& x_;
  unsigned blocks_, threads_;
};

// Declared behind buffers that x works in, as a local or the last member: what x was given has happened before they go, however that is.
class wait_at_end {
 public:
  explicit wait_at_end(executor& x) : x_(x) {}
  ~wait_at_end() {
    try {
      x_.wait();
    } catch (...) {  // the error is reported with a result, or has been
    }
  }
  wait_at_end(wait_at_end const&) = delete;
  wait_at_end& operator=(wait_at_end const&) = delete;

 private:
  executor& x_;
};

}  // namespace garner
