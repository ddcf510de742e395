// Shortest paths from one source over weighted edges: what one asks and what one gets.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "garner/paper.hpp"
#include "garner/place.hpp"
#include "garner/traffic.hpp"

namespace garner {

enum class sssp_variant {
  near_far,  // what is near the least open distance first: few arcs are looked at twice
  emogi,     // Bellman-Ford with active flags, as the paper's program: all that changed, a list a team, none split, none joined
};

struct sssp_options {
  place where;
  sssp_variant variant = sssp_variant::near_far;
  access_mode access = access_mode::aligned;
  std::optional<tier> edges;  // where edge list and weights lie; unset: where the graph has them
  // Bytes of far data cached on the device: directories of packed lists and weights, the shortest lists (of packed ones the
  // first arcs) with their weights. Unset: a tenth of the plain edge list. Place host and emogi keep none.
  std::optional<std::uint64_t> device_budget;
  std::optional<double> delta;     // near_far: how far beyond the least open distance is near; unset: from weights, then as the work goes
  std::uint32_t slice = 1024;      // a multiple of 32, 64 or more
  std::uint64_t l2_bytes = 0;      // simulated runs: an L2 of this size before the link; 0: none
  bool check_certificate = false;  // verify each run
  std::uint64_t block_bytes = 64u << 20;  // access copied: bytes of lists (and weights) sent at once
  walk_options paper;                     // what repeats the paper
};

struct sssp_round {
  std::uint64_t frontier = 0;  // vertices whose lists were read
  std::uint64_t edges = 0;     // arcs that leave them
  std::uint64_t bytes_link = 0;
  double ms = 0;
  file_reads file;  // where the lists lie in a file
};

struct sssp_run {
  std::uint64_t source = 0;                          // the user's id
  std::uint64_t reached = 0, edges = 0;              // vertices reached, the source among them; arcs relaxed, some more than once
  std::uint64_t distance_max = 0, distance_sum = 0;  // u32 weights, exact; the sum stops at 2^64 - 1
  double real_max = 0, real_sum = 0;                 // f32 weights
  std::uint64_t thresholds = 0;                      // how often the threshold moved on
  double ms = 0;                                     // all rounds; state is made and cleared before the clock starts
  double prepare_ms = 0;  // of the first run of a job: what came before its clock: state, and the device cache; of later ones 0
  traffic link;           // simulated: counted; device: the same model in closed form; host: nothing crosses a link
  file_reads file;        // where the lists lie in a file
  bool verified = false;
  std::vector<sssp_round> rounds;
};

}  // namespace garner
