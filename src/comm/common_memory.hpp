// Host memory that processes of a user share: the first of them makes and fills it, the others map it. They form a peer_group, whose first
// part has its location: a file that never has a name (memfd), which the others open through the first one's /proc. Invariants: the others
// see it once it is complete; it is in no file system, and its pages are freed with the last process that maps them, however each ended.
// Cost: one copy of its contents; the first keeps a descriptor open.
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
    std::string same = {};  // must be equal for all
    double timeout_seconds = 60;
    std::function<void()> look = {};  // as peer_group's
  };
  // Joins the group and waits for all. errc::io names missing processes; from here on, in all calls, those that have ended.
  explicit common_memory(terms const& t);
  bool makes() const { return said_.mine == 0; }  // this process is the first

  // By the first: zeroed pages. The host budget of this process pays for them, under the name `what`.
  void pay(std::uint64_t bytes, char const* what);
  void* make(std::uint64_t bytes);
  // By all, once: the first has filled it. `pinned`: mapped for the device until its release.
  struct found {
    std::string head;              // by the first process
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
