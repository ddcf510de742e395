// What a loader will take and ask for, before anything of the graph but its offsets is read.
// How many vertices and edges a mini-batch has is told by the degrees: each edge that is drawn leads to a vertex with a chance that goes
// with its degree, whatever was drawn before. So these are estimates, good where neighbours of neighbours are anybody (Kronecker, social
// graphs), and too large where they know each other (web, roads). Of several types the same is told of each relation: who is drawn through
// it, by how often each stands in its lists, where the other side's offsets say that. Cost: a pass over the offsets.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "garner/graph.hpp"
#include "garner/load.hpp"
#include "garner/place.hpp"
#include "garner/traffic.hpp"

namespace garner {

// How many vertices have about so many neighbours, falling.
struct degree_class {
  double degree = 0, vertices = 0;
};
std::vector<degree_class> degree_classes(std::uint64_t const* offsets, std::uint64_t vertices);

// Of several types: vertices that have about so many neighbours in each relation that they draw from, and stand about so often in the lists
// of each that they are drawn through; 0: they are of another type.
struct vertex_class {
  double vertices = 0;
  std::vector<double> degrees, drawn;  // a relation
};
// What says so of a relation: offsets of the lists of its targets, and how many of them its sources are in. Null: all alike, so often.
struct relation_degrees {
  std::uint32_t from = 0, to = 0;
  std::uint64_t const *lists = nullptr, *drawn = nullptr;
  double lists_mean = 0, drawn_mean = 0;
};
std::vector<vertex_class> vertex_classes(std::uint32_t type, std::uint64_t vertices, std::span<relation_degrees const> of);

// Of a type of vertices: its table.
struct load_type {
  std::string name;
  std::uint64_t vertices = 0, row_bytes = 0, rows_kept = 0;  // kept: near, the first ones
  std::optional<std::uint64_t> rows_at_home = {};            // of a table that stays in its file
  std::vector<vertex_class> classes = {};
  std::uint64_t given_bytes = 0;  // of a row as it is handed over; 0: as it lies
};
struct load_relation {
  graph_info info;
  std::uint32_t from = 0, to = 0;  // `to` draws those of `from`
  bool far = false;
};

struct load_question {
  // Several types, a mini-batch's seeds of one of them, so many in all; `info`, `degrees`, `lists_far`, `list_bytes`, `lists_kept`,
  // `row_bytes`, `rows_kept` and `rows_at_home` are then nothing. None: one type, by these.
  std::vector<load_type> types;
  std::vector<load_relation> relations;
  std::uint32_t seed_type = 0;
  double seeds = 0;
  graph_info info;
  std::vector<degree_class> degrees;  // of who is drawn for; empty: all alike
  place where;
  bool lists_far = false;
  std::uint64_t list_bytes = 0, lists_kept = 0;  // of all that are drawn from; kept: near where they are far, those read most
  std::vector<std::int64_t> fanouts;
  hop_rule rule = hop_rule::last;
  bool disjoint = false, edge_ids = false, weighted = false;
  std::uint64_t row_bytes = 0, rows_kept = 0;  // kept: near, those of most neighbours
  std::uint64_t given_bytes = 0;               // of a row as it is handed over; 0: as it lies
  std::uint64_t near_limit = 0;                // bytes that the place has; of a window, where nobody said
  std::uint64_t batches = 0;                   // an epoch, where that is known: no window has more
  // Of a table that stays in its file: rows in host memory for good, the next in that order; all others are read.
  std::optional<std::uint64_t> rows_at_home = {};
  loader_options loader;
};
struct load_array {
  std::string what;
  std::uint64_t bytes = 0;
  bool at_most = false;  // it may come to little
};
// What a window takes near for each mini-batch of it, rows aside; rows, and the most bytes of them.
struct window_need {
  double each = 0, rows_each = 0, rows_most = 0;
};
inline constexpr std::uint32_t first_window = 8;
// Where nothing that is read lies far, drawing together spares a device launches, and nothing at the host.
constexpr std::uint32_t near_window(bool on_device) { return on_device ? first_window : 2; }
// The most of 32, 16 and 8 that take a quarter of `free` bytes.
std::uint32_t choose_window(window_need const& need, double free);
// brought: bytes of far rows that come for a mini-batch where first_window of them ask together.
inline window_need need_of_window(double sampler, double vertices, double edges, double rows, double brought, double rows_most) {
  // Mini-batches of three windows are there at a time; a window has room for the rows of two.
  return {sampler + 3 * (8 * vertices + 24 * edges) + 58 * rows, 2 * brought, rows_most};
}
// Of a type of vertices, a mini-batch.
struct type_plan {
  std::vector<double> by_hop;                                                                            // reached by then
  double near_rows = 0, far_rows = 0, window_rows = 0, fetched_rows = 0, file_rows = 0, file_reads = 0;  // as in load_plan
};
struct load_plan {
  std::uint32_t window = 0;
  double training = 0;                                                    // vertices with neighbours
  double vertices = 0, edges = 0;                                         // a mini-batch
  double near_rows = 0, far_rows = 0, window_rows = 0, fetched_rows = 0;  // far: had by the window, come for it
  double file_rows = 0, file_reads = 0;           // of far ones: that stay in the file; that are read for it, each once for all of a window
  double near_bytes = 0, file_bytes = 0;          // of rows: near or in the window; read of files
  std::vector<type_plan> types;                   // one at least
  std::vector<std::vector<double>> edges_by_hop;  // a relation: drawn at this hop
  std::vector<load_array> near;                   // what sampler and loader take there, rows kept aside
  std::uint64_t list_bytes =
      0;                 // that sampling reads for a mini-batch, wherever lists lie: a sector an edge; by weights, whole lists of these too
  traffic sample, rows;  // over the link a mini-batch; nothing at the host
};
load_plan plan_load(load_question const& q);
// Of where lists are that are kept by score.
inline std::uint64_t kept_list_places(graph_info const& info, bool weighted) { return info.vertices * (weighted && info.packed ? 16 : 8); }

}  // namespace garner
