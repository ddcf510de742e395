// One edge type: from edges in any order to the lists that the `to` side pulls, each arc with the number of its edge. A counting sort in
// two passes over the edges, which stay where they are. Invariant: lists are sorted by neighbour and, of equal ones, by edge; the bits do
// not depend on the number of threads. Cost: two reads of the edges, one random write an arc, a sort of each list; 8 bytes an arc, 16 a
// vertex.
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
  buffer<std::uint32_t> edge_ids;  // of each arc; empty where arc k is edge k
};

enum class direction : std::uint8_t { pulled, reversed, both };  // whose list an edge stands in: its target's, its source's, or both
struct relation_sizes {
  std::string source_name, target_name;  // of the types, for messages
  std::uint64_t sources = 0, targets = 0;
};
// errc::input names an edge with an id that its type has not.
relation make_relation(edge_source const& edges, relation_sizes const& of, direction way, std::uint32_t id_bytes);

// One more than the largest source and target.
std::pair<std::uint64_t, std::uint64_t> largest_ends(edge_source const& edges);

// The first arc whose target is not below `bound`, at any place and in any tier; `arcs` where there is none.
std::uint64_t first_beyond(graph const& g, std::uint64_t bound, bool of_in_lists = false);

}  // namespace garner
