// Options of a traversal with settings that garner-lab and tests alone change: they reproduce the papers' programs or isolate one of
// Garner's optimizations. The defaults are the fastest. Passed as the options of the contract an asked_of would lose its settings without
// an error, so the library's own code takes asked_of throughout.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>

#include "core/access.hpp"
#include "garner/bfs.hpp"
#include "garner/components.hpp"
#include "garner/pagerank.hpp"
#include "garner/sssp.hpp"

namespace garner {

// How a traversal assigns adjacency to teams, and what a simulated run assumes.
struct traversal_tuning {
  std::uint32_t slice = 1024;           // bfs, sssp, components: elements of a long list per team; a multiple of 32, 64 or more
  std::uint32_t vertices_per_team = 1;  // lists per team, in sequence; EMOGI's fastest program uses 8
  bool split_hubs = true;               // bfs, sssp: several teams read a long list, `slice` elements each
  // bfs, sssp: read adjacent lists of the frontier as one span; unset: if access is aligned with one vertex per team, and for sssp not on
  // the CPU
  std::optional<bool> join_lists;
  bool queue_small = true;                // bfs: small levels use a queue, one launch each (aligned or merged, one vertex per team)
  std::uint64_t block_bytes = 64u << 20;  // access copied: bytes of adjacency (and weights) per copy
  std::uint64_t l2_bytes = 0;             // simulated runs: an L2 of this size before the link; 0: none
};

template <class Options>
struct asked_of : Options {
  access_mode access = access_mode::aligned;
  traversal_tuning tuning = {};
  bool first_alone = false;  // of several devices, the first was predicted to be faster: the run's `shards` name it
  asked_of() = default;
  explicit asked_of(Options o) : Options(std::move(o)) {}
};
using bfs_asked = asked_of<bfs_options>;
using sssp_asked = asked_of<sssp_options>;
using components_asked = asked_of<components_options>;
using pagerank_asked = asked_of<pagerank_options>;

}  // namespace garner
