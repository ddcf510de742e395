// What every reader of a graph file gives, and what build_graph() turns into CSR: arcs as they stand in the file, counted from 0 (the
// user's id is id + id_base), before duplicates are dropped or ids compacted. Invariant: weights is empty or as long as arcs; f32 weights
// are kept as their bit pattern; ids ascend, each once.
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

// Lists hold the same arcs where the sums of these are the same, in whatever order.
inline std::uint64_t fingerprint(std::uint64_t source, std::uint64_t target, std::uint32_t weight) {
  return mix(mix(source + 0x9e3779b97f4a7c15ull) + (target << 32 ^ weight));
}

struct edge_list {
  std::vector<arc> arcs;
  std::vector<std::uint32_t> weights;           // u32 values, or the bits of f32 values
  weight_kind weights_are = weight_kind::none;  // what `weights` holds
  bool undirected = false;                      // the format or its header says so: each edge stands once and is to be mirrored
  bool mirrored = false;                        // the format says undirected and already lists both directions
  std::uint64_t vertices = 0;                   // as the header declares them (ids 0 .. vertices-1 in `id_base` counting); 0: not declared
  std::uint64_t id_base = 0;                    // user id = internal id + id_base (1 for Matrix Market and DIMACS)
  std::vector<std::uint64_t> ids;               // where the format lists its vertices: their user ids, and arcs hold places in this list
  std::string source;                           // the file's name, for messages
};

// Who takes the arcs of a list by parts, where it is not to stand in memory as a whole.
class arc_sink {
 public:
  virtual ~arc_sink() = default;
  // Takes the arcs and weights of `part`, which come in the order of the file, and leaves none. All else that the list says is as in the
  // whole, but that weights of earlier parts may have been whole numbers where these are floats.
  virtual void take(edge_list& part) = 0;
};

}  // namespace garner
