// Graphs: CSR with 64-bit offsets and 4- or 8-byte vertex ids, the graph file, converters and generators.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "garner/device.hpp"

namespace garner {

enum class weight_kind : std::uint32_t { none = 0, u32 = 1, f32 = 2 };

// The internal order of the vertices. Results always use the user's ids.
enum class vertex_order : std::uint32_t {
  natural = 0,  // ascending user ids
  degree = 1,   // most out-edges first, ties by the smaller id
  bfs = 2,      // breadth first along out-edges from the vertex of highest degree, then from the highest unvisited one, and so on
  random = 3,   // by a hash of the seed and the position among the ids
  score = 4,    // highest score first (garner/sample.hpp), ties by the smaller id
};
struct reorder_options {
  vertex_order by = vertex_order::degree;
  std::uint64_t seed = 1;              // random
  std::span<float const> scores = {};  // score: one per vertex, by ascending user id
};

// A graph's properties without its arrays.
struct graph_info {
  std::uint64_t vertices = 0;
  std::uint64_t edges = 0;     // edges stored: an undirected edge counts twice
  std::uint32_t id_bytes = 4;  // 4 or 8: bytes per entry of the edge list
  weight_kind weights = weight_kind::none;
  bool directed = false;
  bool in_edges = false;                       // a directed graph with its in-edges too
  bool id_map = false;                         // a table maps internal ids to user ids
  std::uint64_t id_base = 0;                   // without a table: user id = internal id + id_base
  vertex_order order = vertex_order::natural;  // any other order implies a table
  bool compressed = false;                     // targets and weights are compressed, in blocks that a team decodes while reading
  std::uint64_t names_digest = 0;              // of the names in NAME.names.parquet; 0: its vertices have none
  bool reversed = false;                       // the adjacency holds in-edges (a list per target, of sources), as edge types of a dataset
};

// Options for building a graph from an edge list. `garner convert` prints the defaults.
struct build_options {
  std::optional<bool> undirected;  // unset: as the format declares, else directed
  bool keep_duplicates = false;    // false: of duplicate edges, only the one with the smallest weight stays
  bool keep_loops = false;
  bool in_edges = false;  // also store in-edges of a directed graph
  enum class ids {
    automatic,
    keep,
    compact
  } numbering = ids::automatic;  // automatic: as the file declares its vertices, else keep unless too sparse
  std::uint32_t id_bytes = 0;    // 0: 4 if they fit
  struct weight_options {
    weight_kind kind = weight_kind::u32;
    double low = 1, high = 255;
    std::uint64_t seed = 1;
  };
  std::optional<weight_options> random_weights;
  bool allow_empty = false;        // false: a file without vertices is an error, since it is likely a failed download
  std::uint64_t memory_limit = 0;  // bytes; 0: the machine's limit
};

// The report of a build.
struct build_report {
  std::uint64_t edges_read = 0, loops_dropped = 0, loops_kept = 0, duplicates_dropped = 0;
  std::uint64_t isolated = 0;  // vertices without edges
  bool compacted = false;
  std::uint64_t bytes_needed = 0;  // peak host memory, predicted before the start
};

// Generated graphs: undirected (symmetrized), 2^scale vertices, edge_factor * 2^scale edges before loops and duplicates are dropped.
// The same options give the same bits on every device.
enum class generator {
  kron,     // Kronecker / R-MAT with A .57 B .19 C .19 D .05 (Graph500), labels permuted by a keyed bijection
  uniform,  // both ends uniform (Erdos-Renyi)
  web,      // like a web crawl: ids in crawl order, most links local, the rest to pages of power-law popularity
};
struct generate_options {
  generator kind = generator::kron;
  int scale = 20;  // 1 .. 31
  std::uint64_t edge_factor = 16;
  std::uint64_t seed = 1;
  build_options build;  // weights, id width; numbering and direction do not apply
};

}  // namespace garner
