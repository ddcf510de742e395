// Host memory that processes of a user have in common: the first of them makes and fills it, the others read it where it lies.
// They meet as a peer_group, whose first part tells where the memory is: a file that never has a name (memfd), which the others open by
// way of the first one's /proc. Invariants: the others see it once it is whole; nothing of it stands in any file system, and its pages go
// with the last process that maps them, however each ended. Cost: one copy of what it holds; the first keeps a descriptor open.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "comm/peer_group.hpp"

namespace garner {

class common_memory {
 public:
  struct terms {
    std::string name;
    std::uint32_t members = 1, mine = 0;
    int device = -1;        // that will read it from this process; -1: none
    std::string same = {};  // what all must say alike
    double wait_seconds = 60;
    std::function<void()> look = {};  // as peer_group's
  };
  // Comes to the meeting of that name and waits for all. errc::io names who has not come; from here on, in all calls, who has ended.
  explicit common_memory(terms const& t);
  bool makes() const { return said_.mine == 0; }  // this process is the first

  // Of the first: pages that are zero. The host budget of this process pays for what is said so, `what` names it there.
  void pay(std::uint64_t bytes, char const* what);
  void* make(std::uint64_t bytes);
  // Of all, once: the first has filled it. `pinned`: mapped for the device until it goes.
  struct found {
    std::string head;              // what the first said
    std::shared_ptr<void> memory;  // null: none was made
    std::uint64_t bytes = 0;
  };
  static constexpr std::size_t most_head = 2048;
  found open(bool pinned, std::string_view head = {});

 private:
  struct mapping;
  terms said_;
  peer_group group_;
  void* page_ = nullptr;
  std::shared_ptr<mapping> mine_;
};

}  // namespace garner
