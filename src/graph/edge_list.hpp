// The output of every reader of graph files, and the input of build_graph(): edges in file order, numbered from 0 (the user's id is id +
// id_base), before duplicates are dropped or ids compacted. Invariant: weights is empty or has one entry per edge; f32 weights keep their
// bit pattern; ids are strictly ascending.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "garner/graph.hpp"

namespace garner {

struct arc {
  std::uint64_t source;
  std::uint64_t target;
  bool operator==(arc const&) const = default;
};

// Two lists hold the same edges, in any order, if the sums of their fingerprints are equal.
inline std::uint64_t fingerprint(std::uint64_t source, std::uint64_t target, std::uint32_t weight) {
  return mix(mix(source + 0x9e3779b97f4a7c15ull) + (target << 32 ^ weight));
}

struct edge_list {
  std::vector<arc> arcs;
  std::vector<std::uint32_t> weights;           // u32 values, or the bits of f32 values
  weight_kind weights_are = weight_kind::none;  // the type of `weights`
  bool undirected = false;                      // by format or header: each edge is listed once and will be mirrored
  bool mirrored = false;                        // the format is undirected and already lists both directions
  std::uint64_t vertices = 0;                   // as the header declares (ids 0 .. vertices-1 before `id_base` is added); 0: undeclared
  std::uint64_t id_base = 0;                    // user id = internal id + id_base (1 for Matrix Market and DIMACS)
  std::vector<std::uint64_t> ids;               // if the format lists its vertices: their user ids; then edges index this list
  std::string source;                           // the file's name, for messages
  std::uint64_t names_digest = 0;               // of graph_info
};

// Receives the edges of a list in parts, when the whole list should not be in memory.
class arc_sink {
 public:
  virtual ~arc_sink() = default;
  // Consumes the edges and weights of `part`, in file order, and leaves it empty. All other fields are as in the whole list. One exception:
  // weights of earlier parts may have been integers where these are floats.
  virtual void take(edge_list& part) = 0;
};

}  // namespace garner
