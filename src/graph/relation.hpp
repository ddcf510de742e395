// One edge type: from edges in any order to the lists that the `to` side pulls, each arc with the number of its edge where that is wanted.
// Keys (whose list above which neighbor) are moved into buckets of about as many keys each, and buckets are sorted one by one; buckets
// are filled some at a time, so that keys take 4 bytes an arc. Edges stay where they are. Invariant: lists are sorted by neighbor and, of
// equal ones, by edge; the bits do not depend on the number of threads; edges that stand so are written as they come. Cost: 4 reads of the
// edges or 5, one random write and four in a cache an arc, whatever the degrees; 4 bytes an arc and 8 a vertex beside the result. A device
// sorts as many edges at a time as its memory holds: 1 read of the edges, or 2 and one more for each part.
#pragma once
#include <cstdint>
#include <string>

#include "graph/edge_list.hpp"
#include "graph/graph.hpp"

namespace garner {

// Where edges come from; any thread reads.
class edge_source {
 public:
  virtual ~edge_source() = default;
  virtual std::string const& name() const = 0;
  virtual std::uint64_t count() const = 0;
  virtual void read(std::uint64_t first, std::uint64_t n, arc* to) const = 0;
  virtual void check(arc const& edge, std::uint64_t number) const = 0;  // errc::input where an id is none
};

struct relation {
  graph lists;
  bool in_order = false;  // arc k is edge k; then there are no edge_ids
  // Of each arc, as wide as they were asked for.
  buffer<std::uint32_t> edge_ids;
  buffer<std::uint64_t> wide_edge_ids;
};

enum class direction : std::uint8_t { pulled, reversed, both };  // whose list an edge stands in: its target's, its source's, or both
struct relation_sizes {
  std::string source_name, target_name;  // of the types, for messages
  std::uint64_t sources = 0, targets = 0;
};
struct relation_options {
  std::uint32_t id_bytes = 0;       // of a neighbor: 4, 8, or 0 for what fits
  std::uint32_t edge_id_bytes = 4;  // 8 where edges are 2^32 or more; 0: none are wanted
  float const* weights = nullptr;   // one an edge, which go into the lists
  place where = {};                 // that sorts
};
// errc::input names an edge with an id that its type has not.
relation make_relation(edge_source const& edges, relation_sizes const& of, direction way, relation_options const& options = {});

// One more than the largest source and target.
std::pair<std::uint64_t, std::uint64_t> largest_ends(edge_source const& edges);

// The first arc whose target is not below `bound`, at any place and in any tier; `arcs` where there is none.
std::uint64_t first_beyond(graph const& g, std::uint64_t bound, bool of_in_lists = false);

}  // namespace garner
