// Predicts the memory and reads of a loader, before anything of the graph but its offsets is read. Degrees determine the number of vertices
// and edges per mini-batch: each sampled edge leads to a vertex with a chance proportional to its degree, independently of other edges. So
// these are estimates. They are good where neighbors of neighbors are random (Kronecker, social graphs), and too large where they are
// clustered (web, roads). With several types each relation has such a model: how often a vertex occurs in its lists, where the offsets of
// the other side have that. Cost: a pass over the offsets.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "garner/device.hpp"
#include "garner/graph.hpp"
#include "garner/load.hpp"
#include "garner/traffic.hpp"

namespace garner {

// How many vertices have about this many neighbors, descending.
struct degree_class {
  double degree = 0, vertices = 0;
};
std::vector<degree_class> degree_classes(std::uint64_t const* offsets, std::uint64_t vertices);

// With several types: vertices that have about this many neighbors in each relation that they sample from, and occur about this often in
// the lists of each that samples them; 0: they are of another type.
struct vertex_class {
  double vertices = 0;
  std::vector<double> degrees, drawn;  // a relation
};
// Degree source of a relation: offsets of the lists of its targets, and how many of them its sources are in. Null: uniform.
struct relation_degrees {
  std::uint32_t from = 0, to = 0;
  std::uint64_t const *lists = nullptr, *drawn = nullptr;
  double lists_mean = 0, drawn_mean = 0;
};
std::vector<vertex_class> vertex_classes(std::uint32_t type, std::uint64_t vertices, std::span<relation_degrees const> of);

// A type of vertices: its table.
struct load_type {
  std::string name;
  std::uint64_t vertices = 0, row_bytes = 0, rows_kept = 0;  // kept: on the device, the first ones
  std::optional<std::uint64_t> rows_at_home = {};            // of a table that stays in its file
  std::vector<vertex_class> classes = {};
  std::uint64_t given_bytes = 0;  // of a row as it is handed over; 0: as it lies
};
struct load_relation {
  graph_info info;
  std::uint32_t from = 0, to = 0;  // `to` samples neighbors of type `from`
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
  std::vector<degree_class> degrees;  // of the vertices that sample; empty: uniform
  execution_device where;
  bool lists_far = false;
  std::uint64_t list_bytes = 0, lists_kept = 0;  // over all relations; kept: on the device where the rest is remote, those read most
  std::vector<std::int64_t> fanouts;
  hop_rule rule = hop_rule::last;
  bool disjoint = false, edge_ids = false, weighted = false;
  std::uint64_t row_bytes = 0, rows_kept = 0;  // kept: on the device, those with the most neighbors
  std::uint64_t given_bytes = 0;               // of a row as it is handed over; 0: as it lies
  std::uint64_t near_limit = 0;                // bytes that the device has; for a window without a configured size
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
// Device memory that a window takes for each of its mini-batches, without rows; rows, and the maximum bytes of them.
struct window_need {
  double each = 0, rows_each = 0, rows_most = 0;
};
inline constexpr std::uint32_t first_window = 8;
// Without remote reads, sampling together saves a device launches, and saves the host nothing.
constexpr std::uint32_t near_window(bool on_device) { return on_device ? first_window : 2; }
// The most of 32, 16 and 8 that take a quarter of `free` bytes.
std::uint32_t choose_window(window_need const& need, double free);
// brought: bytes of remote rows fetched per mini-batch when first_window of them share a window.
inline window_need need_of_window(double sampler, double vertices, double edges, double rows, double brought, double rows_most) {
  // Mini-batches of three windows are there at a time; a window has room for the rows of two.
  return {sampler + 3 * (8 * vertices + 24 * edges) + 58 * rows, 2 * brought, rows_most};
}
// For a type of vertices, per mini-batch.
struct type_plan {
  std::vector<double> by_hop;                                                                            // reached by then
  double near_rows = 0, far_rows = 0, window_rows = 0, fetched_rows = 0, file_rows = 0, file_reads = 0;  // as in load_plan
};
struct load_plan {
  std::uint32_t window = 0;
  double training = 0;                                                    // vertices with neighbors
  double vertices = 0, edges = 0;                                         // a mini-batch
  double near_rows = 0, far_rows = 0, window_rows = 0, fetched_rows = 0;  // remote: had by the window, fetched for it
  double file_rows = 0, file_reads = 0;           // remote ones that stay in the file; that are read for it, once per window
  double near_bytes = 0, file_bytes = 0;          // of rows: on the device or in the window; read from files
  std::vector<type_plan> types;                   // one at least
  std::vector<std::vector<double>> edges_by_hop;  // per relation: edges sampled at this hop
  std::vector<load_array> near;                   // what sampler and loader take there, rows kept aside
  std::uint64_t list_bytes =
      0;                 // that sampling reads for a mini-batch, in any tier: a sector per edge; by weights, whole lists of these too
  traffic sample, rows;  // over the link a mini-batch; nothing at the host
};
load_plan plan_load(load_question const& q);
// For lists that are cached by score.
inline std::uint64_t kept_list_places(graph_info const& info, bool weighted) {
  return info.vertices * (weighted && info.compressed ? 16 : 8);
}

}  // namespace garner
