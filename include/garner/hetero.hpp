// Graphs of several node types and edge types. A dataset file, a small JSON file, lists the data of each: an edge type's graph file, and
// arrays in .npy files, read in place (docs/reference/file-formats.md has its keys).
// Edge direction: the out-edges of node v in an edge type (from, relation, to) are the neighbors of type `from` that v, of type `to`,
// aggregates: a row of PyG's CSC. So the first count(to) nodes have lists, whose ids are below count(from); the graph file has
// max(count(from), count(to)) vertices.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "garner/handle.hpp"

namespace garner {

struct vertex_type {
  std::string name;
  std::uint64_t count = 0;
  // .npy files, if any. One row per node: features, labels, times (int64, one number). A list of nodes, as integers: splits.
  std::optional<std::filesystem::path> features = {}, labels = {}, times = {}, train = {}, valid = {}, test = {};
  std::optional<std::filesystem::path> names = {};  // Parquet: column 'name', row k that of node k
};

struct edge_type {
  std::string from, relation, to;
  std::uint64_t stored_edges = 0;        // entries of its adjacency
  std::uint64_t edges = 0;               // of the source dataset; differs from `stored_edges` if edges are stored in both directions
  std::filesystem::path adjacency = {};  // the graph file; empty for a graph in memory
  // .npy files. One entry per adjacency entry, in order: edge_ids (int64: the index of its edge; missing: entry k is edge k) and times
  // (int64). One row per edge: features.
  std::optional<std::filesystem::path> edge_ids = {}, times = {}, features = {};
};

struct dataset_info {
  std::vector<vertex_type> types;
  std::vector<edge_type> edges;
};
// Reads a dataset file and checks it against the headers of its files; no graph is loaded. errc::input names the file, the key and the
// problem: an unknown key, a duplicate name, an unknown type, a file that is missing or whose length contradicts the counts.
dataset_info read_dataset(std::filesystem::path const& file);

// Owns the adjacency of every edge type, each as its own graph. Move-only.
class hetero_graph {
 public:
  // Opens each graph file as open_graph() does, one after the other. Without a tier in `options`, each that still fits is in device memory.
  static hetero_graph open(std::filesystem::path const& manifest, open_options const& options = {});
  // The same, with `each` to open a graph file, best as_stored (open_options). Exceptions of `each` propagate.
  static hetero_graph open(std::filesystem::path const& manifest, std::function<graph_handle(std::filesystem::path const&)> const& each);
  // One node type and one edge type; its adjacency is the graph's out-edges.
  explicit hetero_graph(graph_handle g, std::string vertices = "node", std::string relation = "to");
  ~hetero_graph();
  hetero_graph(hetero_graph&&) noexcept;
  hetero_graph& operator=(hetero_graph&&) noexcept;

  std::string const& name() const;  // of its dataset file, as in messages
  std::vector<vertex_type> const& types() const;
  std::vector<edge_type> const& edges() const;
  graph_handle const& adjacency(std::size_t k) const;  // of edges()[k]
  graph_handle& adjacency(std::size_t k);
  // Index of a name in types(), and of a triple in edges(). errc::input lists the existing ones.
  std::size_t type(std::string_view name) const;
  std::size_t edge(std::string_view from, std::string_view relation, std::string_view to) const;

 private:
  struct holder;
  explicit hetero_graph(std::unique_ptr<holder>);
  holder& held() const;  // errc::usage once moved from
  std::unique_ptr<holder> holder_;
};

// --- from dataset folders ---
struct hetero_options {
  // Stores edges in both directions: an edge type within one node type gets the reverse of each edge (a loop once), one between two types
  // gets a reverse type, rev_NAME from `to` to `from`, as PyG's ToUndirected does.
  bool undirected = false;
  bool compressed = false;     // compress the adjacency
  std::uint32_t id_bytes = 0;  // 0: 4
  std::string split = {};      // the folder of split/ to use, if there are several
};
struct hetero_report {
  dataset_info made;
  std::vector<std::string> notes;  // warnings for the user, one sentence each
};
// OGB's folders (raw/ as text or data.npz, of one type or several), MAG240M's and IGB's (processed/), or edge_index.npy with its arrays.
// Writes the dataset file and the folder NAME.garner next to it, which must not exist: one graph file per edge type, and arrays that are
// not yet .npy files. The dataset file comes last; on an error nothing stays. Multi-edges and loops stay. Peak host memory: 8 bytes per
// adjacency entry and 16 per node, for text another 16 per edge.
hetero_report convert_hetero(std::filesystem::path const& folder, std::filesystem::path const& manifest,
                             hetero_options const& options = {});

}  // namespace garner
