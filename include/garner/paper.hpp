// How lists are assigned to teams: settings that reproduce the paper's program, or isolate one of Garner's optimizations. The defaults are
// the fastest.
#pragma once
#include <cstdint>
#include <optional>

namespace garner {

struct walk_options {
  std::uint32_t vertices_per_team = 1;  // lists per team, in sequence; EMOGI's fastest program uses 8
  bool split_hubs = true;               // bfs, sssp: several teams read a long list, `slice` elements each
  std::optional<bool> join_lists;  // bfs, sssp: read adjacent lists of the frontier as one single span; unset: if access is aligned with
                                   // one vertex per team, and for sssp not on the CPU
  bool queue_small = true;         // bfs: small levels use a queue, one launch each (aligned or merged, one vertex per team)
};

}  // namespace garner
