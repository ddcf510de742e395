// Weak connected components: what one asks of the job and what one gets.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "garner/paper.hpp"
#include "garner/place.hpp"
#include "garner/spread.hpp"
#include "garner/traffic.hpp"

namespace garner {

enum class components_variant {
  afforest,  // link the first neighbours of every vertex, then only what the largest component does not hold yet
  emogi,     // the smallest label spreads round by round, as in the paper: no list is split or joined
};

struct components_options {
  place where;
  components_variant variant = components_variant::afforest;
  access_mode access = access_mode::aligned;
  std::optional<tier> edges;  // where the edge list lies; unset: where the graph has them
  // Bytes of far data cached on the device: directories of packed lists, the best neighbours of every vertex (afforest), the first
  // arcs, in this order. Unset: a tenth of the plain edge list. Place host and emogi keep none.
  std::optional<std::uint64_t> device_budget;
  std::uint32_t first_neighbours = 2;     // afforest: of each list, linked before the largest component is looked for; at most 64
  std::uint64_t seed = 1;                 // afforest: of the sample that finds the largest component; the result does not depend on it
  std::uint32_t slice = 1024;             // afforest: elements of a long list that one team takes; a multiple of 32, 64 or more
  std::uint64_t l2_bytes = 0;             // simulated runs: an L2 of this size before the link; 0: none
  bool check_certificate = false;         // verify each run
  std::uint64_t block_bytes = 64u << 20;  // access copied: bytes of lists (and weights) sent at once
  walk_options paper;                     // what repeats the paper: vertices_per_team
  std::vector<place> shards;              // as of bfs_options; afforest only
};

// A round of emogi, or a step of afforest.
struct components_phase {
  enum class kind { round, first_neighbours, remaining, all } what = kind::round;
  std::uint64_t vertices = 0;  // whose lists were looked at
  std::uint64_t edges = 0;     // arcs looked at
  traffic link;
  double ms = 0;
  file_reads file;                    // where the lists lie in a file
  std::uint64_t bytes_exchanged = 0;  // that shards read of each other
};

struct components_run {
  std::uint64_t components = 0;  // weak ones: the direction of an edge does not matter; an isolated vertex is one of its own
  std::uint64_t largest = 0;     // vertices in the largest
  std::uint64_t edges = 0;       // arcs looked at
  double ms = 0;                 // until every vertex has its label; state is made before the clock starts, counting comes after it stops
  double prepare_ms = 0;         // of the first run of a job: what came before its clock: state, and the device cache; of later ones 0
  traffic link;                  // simulated: counted; device: the same model in closed form; host: nothing crosses a link
  file_reads file;               // where the lists lie in a file
  bool verified = false;
  std::vector<components_phase> phases;
  std::vector<job_shard> shards;  // none: one place
};

}  // namespace garner
