// How lists are given to teams: what repeats the paper's program, or shows what one of Garner's own ways brings. Nobody needs it to be
// fast.
#pragma once
#include <cstdint>
#include <optional>

namespace garner {

struct walk_options {
  std::uint32_t vertices_per_team = 1;  // lists that one team walks one after the other; EMOGI's fastest program takes 8
  bool split_hubs = true;               // bfs, sssp: a long list is walked by several teams, `slice` elements each
  std::optional<bool> join_lists;  // bfs, sssp: neighbouring lists of the frontier are read as one span; unset: with aligned access and
                                   // one vertex a team, and of sssp not at the host
  bool queue_small = true;         // bfs: levels of few vertices go through a queue, a launch each (aligned or merged, one vertex a team)
};

}  // namespace garner
