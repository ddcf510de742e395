// NVMe driver on the registers of a drive: it resets the controller, creates an admin queue, identifies the drive, and creates queues for
// reads, whose rings kernels fill (queue_view). The registers may be a drive's own (pci.hpp), an emulator's, or a test's.
//   nvme_controller drive({bar, bytes}, memory, "0000:00:04.0", {});
//   nvme_queues provider({&drive});
//   request_queues queues(x, provider, {});
// One admin command is in flight at a time. A command that times out is ended in steps, each if the one before did not help: Abort of each
// command, deletion of the queue, reset of the controller with all queues made anew. A controller that does not come out of a reset is left
// disabled, with an error.
// Invariant: rings, and memory that commands name, belong to the controller while it is enabled. The destructor disables it first; if that
// fails, the rings are not released.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lab/bam/queue.hpp"
#include "lab/bam/queue_provider.hpp"

namespace garner::lab {

// Registers of a controller, as they are mapped.
struct nvme_registers {
  std::uint32_t* base = nullptr;
  std::size_t bytes = 0;
  std::uint32_t read(std::uint32_t at) const;
  std::uint64_t read_wide(std::uint32_t at) const;  // two words of 32 bits: not every controller knows wider ones
  void write(std::uint32_t at, std::uint32_t value) const;
  void write_wide(std::uint32_t at, std::uint64_t value) const;
};

struct nvme_options {
  unsigned queues = 4;        // wanted; the controller may give fewer
  std::uint32_t depth = 256;  // the same; a power of two
  std::uint32_t name_space = 1;
  double time_out_seconds = 5;  // of an admin command; the controller itself reports the time limit of a reset
};

// Properties that the controller reports.
struct nvme_facts {
  std::string serial, model, firmware;
  std::uint32_t version = 0;  // 1.4.0 is 10400h
  std::uint32_t block_bytes = 0;
  std::uint64_t blocks = 0;
  std::uint64_t most_bytes = 0;  // of a command; 0: any
  std::uint32_t most_entries = 0, queues = 0, depth = 0;
  std::uint32_t name_spaces = 0;
};

class nvme_controller {
 public:
  // errc::io: the controller does not obey, with the command and the time waited; errc::input: Garner cannot read this kind.
  nvme_controller(nvme_registers registers, std::shared_ptr<bus_memory> memory, std::string name, nvme_options const& options);
  ~nvme_controller() { release(); }
  nvme_controller(nvme_controller const&) = delete;
  nvme_controller& operator=(nvme_controller const&) = delete;

  nvme_facts const& facts() const { return facts_; }
  std::string const& name() const { return name_; }
  std::shared_ptr<bus_memory> const& memory() const { return memory_; }
  queue_rings rings(unsigned queue) const { return queues_[queue].rings; }
  queue_drive drive() const { return {name_, options_.name_space, facts_.block_bytes, facts_.blocks, facts_.most_bytes}; }
  // Ends the commands of a queue, and makes it anew. True: all queues were, since the controller had to be reset.
  bool restart(unsigned queue, std::span<std::uint16_t const> ids);
  void reset();  // and all queues anew
  // Whether the controller aborted it; false: it had ended, or could not be stopped.
  bool abort(unsigned queue, std::uint16_t id);
  struct events {
    std::uint64_t aborts = 0, queues_deleted = 0, resets = 0;
  };
  events const& what_happened() const { return events_; }
  // Any admin command, except for its id; its status, and the first word of its completion. errc::io if it times out.
  std::uint32_t try_admin(nvme_command const& command, std::uint32_t& answer);
  // The same, and errc::io where the status is not success; `what` is what it was to do.
  std::uint32_t admin(nvme_command const& command, char const* what);

 private:
  struct pair {
    queue_rings rings;
    std::byte* block = nullptr;
    std::size_t bytes = 0;
  };
  pair make_rings(std::uint32_t queue, std::uint32_t depth, char const* what);
  static void clear(pair const&);
  void open();
  void release() noexcept;
  void disable();
  void enable();
  void identify();
  void number_queues();
  void create(unsigned queue);
  std::uint32_t state();  // CSTS; errc::io where the controller is lost
  void wait_ready(bool wanted);

  nvme_registers registers_;
  std::shared_ptr<bus_memory> memory_;
  std::string name_;
  nvme_options options_;
  std::uint64_t cap_ = 0;
  nvme_facts facts_;
  pair admin_;
  buffer<std::byte> admin_block_;
  queue_view<> admin_view_;
  std::byte* page_ = nullptr;  // for data of the Identify command
  std::vector<pair> queues_;
  events events_;
  bool enabled_ = false, obeys_ = true;
};

// Queues of several drives, all of one kind, for kernels. Each drive has as many as the drive with the fewest.
class nvme_queues final : public queue_provider {
 public:
  explicit nvme_queues(std::vector<nvme_controller*> drives);
  std::vector<queue> const& queues() const override { return queues_; }
  std::vector<queue_drive> const& drives() const override { return drives_; }
  std::shared_ptr<bus_memory> const& memory() const override { return controllers_[0]->memory(); }
  std::vector<unsigned> restart(unsigned queue, std::span<std::uint16_t const> ids) override;

 private:
  std::vector<nvme_controller*> controllers_;
  std::vector<queue> queues_;
  std::vector<queue_drive> drives_;
};

}  // namespace garner::lab
