// Host threads that serve request queues from files: they read commands in place of a drive, call a reader (io_uring, or
// its substitute), and write completions. They need neither root nor a drive of their own. Each thread serves queues of
// its own by a read_queue of its own. It polls with pauses that grow while idle, and sleeps while no loop reads (begin,
// end). Errors of the system are returned as statuses of the vendor's type with the errno, and explain() has the reader's
// words.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "lab/bam/queue_provider.hpp"
#include "storage/reader.hpp"

namespace garner::lab {

struct service_options {
  unsigned threads = 4, queues = 4;  // queues in all, shared among the threads
  std::uint32_t depth = 256;         // a power of two
  int device = -1;                   // that asks; -1: the host
  // What is wrong with bytes that have come from this place on; empty: nothing. Called by all threads; unset: whatever comes is right.
  std::function<std::string(std::uint64_t offset, std::span<std::byte const>)> wrong = {};
};

class queue_service final : public queue_provider {
 public:
  // `files` must outlive it. Pages are of what the reader puts together; it is filled up with zeroes to a multiple of 512 bytes.
  queue_service(reader& files, service_options const& options);
  ~queue_service() override;

  std::vector<queue> const& queues() const override { return queues_; }
  std::vector<queue_drive> const& drives() const override { return drives_; }
  std::shared_ptr<bus_memory> const& memory() const override { return memory_; }
  void begin() override;
  void end() noexcept override;
  std::vector<unsigned> restart(unsigned queue, std::span<std::uint16_t const> ids) override;
  std::string explain(unsigned queue, std::uint32_t status) const override;

 private:
  class worker;
  void note(std::string words);
  void leave() noexcept;
  reader& files_;
  decltype(service_options::wrong) wrong_;
  std::shared_ptr<bus_memory> memory_;
  std::vector<queue> queues_;
  std::vector<queue_drive> drives_;
  std::atomic<std::uint32_t> readers_{0};  // loops that may send requests; with `leaving` in the highest bit
  mutable std::mutex mutex_;               // of the words of errors
  std::string error_;
  std::vector<std::byte*> blocks_;
  std::vector<std::unique_ptr<worker>> workers_;
};

}  // namespace garner::lab
