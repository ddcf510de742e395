// Processes of which each holds a part of something in memory of its own device and reads the parts of all (CUDA IPC). Simulated, without a
// device, the parts are pages of shared memory, so that everything but the two calls of CUDA runs anywhere.
// They meet in a file of /dev/shm: a page with a slot a member, then the parts of members without a device. Member k locks byte 1 + k as
// long as its part lives, and the system takes the lock back from who was killed: a slot that was taken and is not locked tells of a member
// that has ended. Invariants: a member publishes its part once and fills it before; the file has its name until all have come, and member 0
// takes it away, so the name is free for the next meeting and nothing stays behind, however they end; a part is released when no living
// member has it open (CUDA has no meaning for anything else): who lets go earlier leaves it to the process, which looks again whenever a
// group is made or let go of.
// Cost: a look at the others is a system call each.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace garner {

class peer_group {
 public:
  static constexpr std::uint32_t most_members = 16;
  struct terms {
    std::uint32_t members = 0, mine = 0;
    int device = -1;                  // of this process; -1: parts in host memory
    std::string same = {};            // what all must say alike, told where they do not
    double wait_seconds = 60;         // for all to come
    std::function<void()> look = {};  // called while it waits; throws where that has no meaning any more
    bool writable = false;            // parts of others in host memory are mapped so, as pinning them asks
  };
  // Comes to the meeting of that name; the first one makes it. errc::usage where somebody else is that member or `same` differs: then those
  // who still wait for members hear of it too.
  peer_group(std::string const& name, terms const& t);
  ~peer_group();
  peer_group(peer_group&&) noexcept;
  peer_group& operator=(peer_group&&) noexcept;

  // The least of each number over all members; waits until all have come. errc::io names who has not, or has ended.
  static constexpr std::size_t numbers = 3;
  using offer = std::array<std::uint64_t, numbers>;
  offer least_of(offer const& mine);
  // This process's part, to be filled; `most`: bytes of the largest of all parts, as all of them say it.
  void* make(std::size_t bytes, std::size_t most, char const* what);
  // My part is filled: where all parts are, my own among them, once all are (null: no bytes). Waits as long as the others live.
  std::vector<void const*> open();
  // errc::device names a member whose process has ended. What is read of its part has no meaning, then and since it ended.
  void require_alive() const;
  bool lives(std::uint32_t member) const;  // of one that has come
  bool ended(std::uint32_t member) const;  // it has come, and lives no more
  void heed_refusal() const;               // while not all have come: errc::usage tells of one that came and said something else

  static std::filesystem::path file(std::string const& name);
  static std::size_t left_behind();  // parts of groups let go of here that others still read; those that nobody reads go now

 private:
  struct meeting;
  static std::size_t keep(std::unique_ptr<meeting> left);
  std::unique_ptr<meeting> meeting_;
};

}  // namespace garner
