// Processes that share memory. Each owns a part of an object in memory of its own device and reads the parts of all (CUDA IPC), or all read
// host memory that the first of them makes and fills: a file that never has a name (memfd), which the others open through the first one's
// /proc, so that its pages are freed with the last process that maps them, however each ended. In simulation, without a
// device, the parts are pages of shared memory, so that everything but the two calls of CUDA runs anywhere. They rendezvous in a file of
// /dev/shm: pages with a slot per member, then the parts of members without a device. Member k locks byte 1 + k as long as its part lives,
// and the system releases the locks of killed processes: a used slot without a lock means that its member has ended.
// Invariants: a member fills its part, then publishes it once. The file has its name until all have joined, then member 0 unlinks it, so
// the name is free for the next group and no file stays behind, however they end. A part is released when no living member has it open
// (CUDA leaves anything else undefined): parts released earlier are left to the process, which checks again whenever a group is made or
// destroyed.
// Cost: checking the others is one system call each. Memory in common takes one copy of its contents; the first keeps a descriptor open.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace garner {

// Parts of an object, one for each rank: this rank's, for its copies, and where all lie for its kernels.
struct peer_memory {
  void* mine = nullptr;
  std::vector<void const*> at;
};

class peer_group {
 public:
  static constexpr std::uint32_t most_members = 16;
  struct terms {
    std::uint32_t members = 0, mine = 0;
    int device = -1;                  // of this process; -1: parts in host memory, and memory in common is not read by a device
    std::string same = {};            // must be equal for all, and is reported if it differs
    double timeout_seconds = 60;      // for all to come
    std::function<void()> look = {};  // called while it waits; throws where that has no meaning any more
    bool writable = false;            // parts of others in host memory are mapped so, as pinning needs
    std::string name = {};            // of the group
  };
  // Joins the group of that name; the first one makes it. errc::usage where another process has that member number or `same` differs: then
  // members that still wait are notified too.
  peer_group(std::string const& name, terms const& t);
  explicit peer_group(terms const& t) : peer_group(t.name, t) { least_of({}); }  // waits for all
  ~peer_group();
  peer_group(peer_group&&) noexcept;
  peer_group& operator=(peer_group&&) noexcept;

  // The minimum of each number over all members; waits for all. errc::io names the members that are missing, or have ended.
  static constexpr std::size_t numbers = 3;
  using offer = std::array<std::uint64_t, numbers>;
  offer least_of(offer const& mine);
  // This process's part, to be filled; `most`: bytes of the largest of all parts, the same for all.
  void* make(std::size_t bytes, std::size_t most, char const* what);
  // My part is filled: where all parts are, my own among them, once all are (null: no bytes). Waits as long as the others live.
  std::vector<void const*> open();
  // Memory in common. By the first: zeroed pages, and the host budget of this process pays for them, under the name `what`.
  bool makes() const;  // this process is the first
  void pay(std::uint64_t bytes, char const* what);
  void* make_common(std::uint64_t bytes);
  // By all, once, instead of open(): the first has filled it. `pinned`: mapped for the device until its release.
  struct found {
    std::string head;              // by the first process
    std::shared_ptr<void> memory;  // null: none was made
    std::uint64_t bytes = 0;
  };
  static constexpr std::size_t most_head = 2048;
  found open_common(bool pinned, std::string_view head = {});
  // errc::device names a member whose process has ended. Data read from its part is undefined, then and since it ended.
  void require_alive() const;
  bool lives(std::uint32_t member) const;  // of one that has come
  bool ended(std::uint32_t member) const;  // it has joined, and has ended
  void heed_refusal() const;               // until all have joined: errc::usage names one that came with different parameters

  static std::filesystem::path file(std::string const& name);
  static std::size_t left_behind();  // parts of destroyed groups here that others still read; frees those without readers

 private:
  struct rendezvous;
  static std::size_t keep(std::unique_ptr<rendezvous> left);
  std::unique_ptr<rendezvous> rendezvous_;
};

}  // namespace garner
