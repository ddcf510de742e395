// One edge type: from edges in any order to the in-adjacency of the `to` side, each entry with its edge number if requested. Keys (owner
// above neighbor) are distributed to buckets of similar size, which are sorted one by one. Only some buckets are filled at a time, so that
// keys take 4 bytes per edge. Edges stay in place. Invariant: lists are sorted by neighbor, then by edge number; the result is independent
// of the number of threads; edges already in that order are written directly. Cost: 4 or 5 reads of the edges; one random write and four
// cached ones per edge, whatever the degrees; 4 bytes per edge and 8 per vertex in addition to the result. A device sorts as many edges at
// a time as fit its memory: 1 read of the edges, or 2 plus one per part.
#pragma once
#include <cstdint>
#include <string>

#include "graph/edge_list.hpp"
#include "graph/graph.hpp"

namespace garner {

// The source of edges; thread-safe.
class edge_source {
 public:
  virtual ~edge_source() = default;
  virtual std::string const& name() const = 0;
  virtual std::uint64_t count() const = 0;
  virtual void read(std::uint64_t first, std::uint64_t n, arc* to) const = 0;
  virtual void check(arc const& edge, std::uint64_t number) const = 0;  // errc::input if an id is invalid
};

struct relation {
  graph lists;
  bool in_order = false;  // entry k is edge k; then edge_ids is empty
  // Edge number of each entry, in the requested width.
  buffer<std::uint32_t> edge_ids;
  buffer<std::uint64_t> wide_edge_ids;
};

enum class direction : std::uint8_t { pulled, reversed, both };  // the owner of an edge's entry: its target, its source, or both
struct relation_sizes {
  std::string source_name, target_name;  // names of the types, for messages
  std::uint64_t sources = 0, targets = 0;
};
struct relation_options {
  std::uint32_t id_bytes = 0;       // of a neighbor: 4, 8, or 0 for what fits
  std::uint32_t edge_id_bytes = 4;  // 8 for 2^32 edges or more; 0: not requested
  float const* weights = nullptr;   // one per edge, stored in the adjacency
  execution_device where = {};      // device that sorts
};
// errc::input names an edge whose id exceeds its type's count.
relation make_relation(edge_source const& edges, relation_sizes const& of, direction strategy, relation_options const& options = {});

// One more than the largest source and target.
std::pair<std::uint64_t, std::uint64_t> largest_ends(edge_source const& edges);

// The first edge whose target is at least `bound`, on any device and in any tier; `arcs` if all are below.
std::uint64_t first_beyond(graph const& g, std::uint64_t bound, bool of_in_lists = false);

}  // namespace garner
