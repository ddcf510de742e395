// Graphs: CSR with 64-bit offsets and 4- or 8-byte vertex ids, the container file, converters and generators.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "garner/place.hpp"

namespace garner {

enum class weight_kind : std::uint32_t { none = 0, u32 = 1, f32 = 2 };

// How the vertices of a graph follow each other inside. Results are always told by the user's ids.
enum class vertex_order : std::uint32_t {
  natural = 0,  // ascending user ids
  degree = 1,   // most out-edges first, of equals the smaller id
  bfs = 2,      // breadth first along the out-lists from the vertex of highest degree, then from the highest that is left, and so on
  random = 3,   // by a hash of the seed and the place among the ids
  score = 4,    // highest score first (garner/sample.hpp), of equals the smaller id
};
struct reorder_options {
  vertex_order by = vertex_order::degree;
  std::uint64_t seed = 1;              // random
  std::span<float const> scores = {};  // score: one a vertex, by ascending user id
};

// What one knows of a graph without its arrays.
struct graph_info {
  std::uint64_t vertices = 0;
  std::uint64_t edges = 0;     // arcs stored: an undirected edge counts twice
  std::uint32_t id_bytes = 4;  // 4 or 8: bytes of one entry of the edge list
  weight_kind weights = weight_kind::none;
  bool directed = false;
  bool in_lists = false;                       // a directed graph that also holds its in-neighbours
  bool id_map = false;                         // internal ids differ from the user's by a table
  std::uint64_t id_base = 0;                   // user id = internal id + id_base, where there is no table
  vertex_order order = vertex_order::natural;  // anything else: the table is there, and in this order
  bool packed = false;                         // targets and weights are compressed, in blocks that a team decodes as it reads
};

// How an edge list becomes a graph. The defaults are printed by `garner convert`.
struct build_options {
  std::optional<bool> undirected;  // unset: as the format says, else directed
  bool keep_duplicates = false;    // else of equal edges the one with the smallest weight stays
  bool keep_loops = false;
  bool in_lists = false;  // also store in-neighbours of a directed graph
  enum class ids {
    automatic,
    keep,
    compact
  } numbering = ids::automatic;  // automatic: as the file declares its vertices, else keep unless too sparse
  std::uint32_t id_bytes = 0;    // 0: 4 whenever they fit
  struct random_weights {
    weight_kind kind = weight_kind::u32;
    double low = 1, high = 255;
    std::uint64_t seed = 1;
  };
  std::optional<random_weights> draw_weights;
  bool allow_empty = false;       // a file without any vertex makes a graph of none; else it is refused, since a failed download looks so
  std::uint64_t host_budget = 0;  // bytes; 0: what the machine allows
};

// What happened on the way from edge list to graph.
struct build_report {
  std::uint64_t arcs_read = 0, loops_dropped = 0, loops_kept = 0, duplicates_dropped = 0;
  std::uint64_t isolated = 0;  // vertices without any edge
  bool compacted = false;
  std::uint64_t bytes_needed = 0;  // host memory at the peak, predicted before it started
};

// Generated graphs: undirected (symmetrised), 2^scale vertices, edge_factor * 2^scale edges drawn before loops and duplicates are dropped.
// The same options give the same bits at every place.
enum class generator {
  kron,     // Kronecker / R-MAT with A .57 B .19 C .19 D .05 (Graph500), labels permuted by a keyed bijection
  uniform,  // both ends uniform (Erdos-Renyi)
  web,      // in the manner of a web crawl: ids in crawl order, most links near, the rest to pages of power-law popularity
};
struct generate_options {
  generator kind = generator::kron;
  int scale = 20;  // 1 .. 31
  std::uint64_t edge_factor = 16;
  std::uint64_t seed = 1;
  build_options build;  // weights, id width; numbering and direction do not apply
};

}  // namespace garner
