// Traversal: what one asks of a job and what one gets.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "garner/place.hpp"
#include "garner/traffic.hpp"

namespace garner {

inline constexpr std::uint32_t unreached = 0xffffffffu;  // the depth of a vertex that the source does not reach

// How BFS goes through a level. `levels` looks at every arc that leaves the frontier: the paper's way. `direction` turns round where the
// frontier is large: each vertex that is not reached yet looks for one neighbour in the frontier and stops at the first (Beamer, Asanovic,
// Patterson, SC 2012); of directed graphs it needs the in-lists. `emogi`: the paper's program: levels, a list a team, none split, none
// joined, nothing kept near.
enum class bfs_variant : std::uint8_t { levels, direction, emogi };

struct bfs_options {
  place where;
  std::optional<bfs_variant> variant;  // unset: direction where the graph allows it and access is aligned or merged, else levels
  // Bytes of copies of far data kept on the device: directories of packed lists, hints, the first arcs, in this order. Unset: a tenth of
  // the plain edge list. Place host keeps none.
  std::optional<std::uint64_t> device_budget;
  std::optional<std::uint32_t> hints;  // direction: in-neighbours kept near and asked first, at most 4; unset: as many as the budget
                                       // allows, beside hubs 3 where 4 fit (4: the best of each class u % 4)
  access_mode access = access_mode::aligned;
  std::optional<tier> edges;            // where the edge list lies; unset: host, managed for paged
  std::uint32_t vertices_per_team = 1;  // lists that one team walks one after the other; EMOGI's fastest program takes 8
  bool split_hubs = true;               // a long list is walked by several teams, `slice` elements each
  std::uint32_t slice = 1024;           // a multiple of 32, 64 or more
  std::optional<bool> join_lists;       // neighbouring lists of the frontier are read as one run; unset: with aligned and one vertex a team
  bool queue_small = true;              // levels of few vertices go through a queue, a launch each (aligned or merged, one vertex a team)
  std::uint64_t l2_bytes = 0;           // traced runs: an L2 of this size before the link; 0: none
  bool check_certificate = false;       // verify each run
  std::uint64_t block_bytes = 64u << 20;  // access copied: bytes of lists (and weights) sent at once
};

struct bfs_level {
  std::uint64_t frontier = 0;  // vertices at this depth
  std::uint64_t edges = 0;     // arcs that leave them, all looked at
  std::uint64_t bytes_link = 0;
  double ms = 0;           // of looking at them and gathering the next frontier
  bool bottom_up = false;  // the unreached vertices looked for the frontier; then `edges` were not all looked at
};

struct bfs_run {
  std::uint64_t source = 0;              // the user's id
  std::uint64_t reached = 0, edges = 0;  // vertices reached, the source among them; arcs that leave them
  std::uint32_t depth_max = 0;
  std::uint64_t depth_sum = 0;
  double ms = 0;     // all levels; state is made and cleared before the clock starts
  double gteps = 0;  // 1e9 edges a second; of an undirected graph each edge counts once
  traffic link;      // traced: counted; device: the same model in closed form; host: nothing crosses a link
  bool verified = false;
  std::vector<bfs_level> levels;
};

}  // namespace garner
