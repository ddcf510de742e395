// Traversal: what one asks of a job and what one gets.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "garner/paper.hpp"
#include "garner/place.hpp"
#include "garner/spread.hpp"
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
  // Bytes of far data cached on the device: directories of packed lists, cached neighbours, the first arcs, in this order. Unset: a
  // tenth of the plain edge list. Place host keeps none.
  std::optional<std::uint64_t> device_budget;
  std::optional<std::uint32_t> cached_neighbours;  // direction: in-neighbours kept near and asked first, at most 4; unset: as many as the
                                                   // budget allows, beside hubs 3 where 4 fit (4: the best of each class u % 4)
  access_mode access = access_mode::aligned;
  std::optional<tier> edges;              // where the edge list lies; unset: where the graph has them
  std::uint32_t slice = 1024;             // a multiple of 32, 64 or more
  std::uint64_t l2_bytes = 0;             // simulated runs: an L2 of this size before the link; 0: none
  bool check_certificate = false;         // verify each run
  std::uint64_t block_bytes = 64u << 20;  // access copied: bytes of lists (and weights) sent at once
  walk_options paper;                     // what repeats the paper
  // A shard of the vertices at each of these places, instead of `where`: all of one kind, devices with peer access to each other. The graph
  // lies in host memory (that devices read); `edges`: host, or device: each copies its part's lists. Budgets are each shard's.
  std::vector<place> shards;
};

struct bfs_level {
  std::uint64_t frontier = 0;  // vertices at this depth
  std::uint64_t edges = 0;     // arcs that leave them, all looked at
  std::uint64_t bytes_link = 0;
  double ms = 0;                      // of looking at them and gathering the next frontier
  file_reads file;                    // where the lists lie in a file
  bool bottom_up = false;             // the unreached vertices looked for the frontier; then `edges` were not all looked at
  std::uint64_t bytes_exchanged = 0;  // that shards read of each other
};

struct bfs_run {
  std::uint64_t source = 0;              // the user's id
  std::uint64_t reached = 0, edges = 0;  // vertices reached, the source among them; arcs that leave them
  std::uint32_t depth_max = 0;
  std::uint64_t depth_sum = 0;
  double ms = 0;          // all levels; state is made and cleared before the clock starts
  double prepare_ms = 0;  // of the first run of a job: what came before its clock: state, and the device cache; of later ones 0
  double gteps = 0;       // 1e9 edges a second; of an undirected graph each edge counts once
  traffic link;           // simulated: counted; device: the same model in closed form; host: nothing crosses a link
  file_reads file;        // where the lists lie in a file
  bool verified = false;
  std::vector<bfs_level> levels;
  std::vector<job_shard> shards;  // none: one place
};

}  // namespace garner
