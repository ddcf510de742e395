// Serves the rings of request queues: host threads (queue_service), or drives themselves (nvme_queues). Requests and completions look the
// same, so that kernels need not distinguish.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "lab/bam/queue_view.hpp"
#include "memory/buffer.hpp"

namespace garner::lab {

// Memory that kernels, the host and the provider can reach: rings, and the frames that pages are read into.
class bus_memory {
 public:
  virtual ~bus_memory() = default;
  // Zeroed, aligned to a page of 4 KiB. For the provider, at most `contiguous` bytes (a power of two, 0: all) from a multiple of it on are
  // one piece.
  virtual std::byte* allocate(std::size_t bytes, char const* what) = 0;
  virtual void release(std::byte* at) noexcept = 0;
  virtual std::uint64_t address(void const* at) const = 0;  // address for the provider
  virtual std::size_t contiguous() const { return 0; }
};

// Host memory that a device reads too (-1: none does), at the addresses of the host.
class mapped_memory final : public bus_memory {
 public:
  explicit mapped_memory(int device) : device_(device) {}
  std::byte* allocate(std::size_t bytes, char const* what) override;
  void release(std::byte* at) noexcept override;
  std::uint64_t address(void const* at) const override { return reinterpret_cast<std::uintptr_t>(at); }

 private:
  int device_;
  std::mutex mutex_;
  std::map<std::byte*, memory_block> blocks_;
};

struct queue_drive {
  std::string name;
  std::uint32_t name_space = 1, block_bytes = 512;
  std::uint64_t blocks = 0;
  std::uint64_t most_bytes = 0;  // of one command; 0: any
};

class queue_provider {
 public:
  struct queue {
    queue_rings rings;
    unsigned drive = 0;
  };
  virtual ~queue_provider() = default;
  std::atomic<bool> in_use{false};  // device words of lanes are released with its rings
  virtual std::vector<queue> const& queues() const = 0;
  virtual std::vector<queue_drive> const& drives() const = 0;
  virtual std::shared_ptr<bus_memory> const& memory() const = 0;
  virtual void begin() {}  // requests may come from here on
  virtual void end() noexcept {}
  // Ends what is under way in a queue, `ids`, and makes its rings anew: when it returns, nobody writes to their frames any more. Queues
  // that were made anew, this one among them. Throws where that cannot be had; then the frames must stay.
  virtual std::vector<unsigned> restart(unsigned queue, std::span<std::uint16_t const> ids) = 0;
  // Text of a status, unless it was the drive's own; empty: use nvme::status_name.
  virtual std::string explain(unsigned queue, std::uint32_t status) const { return (void)queue, (void)status, std::string(); }
};

}  // namespace garner::lab
