// Graphs of several vertex types and edge types. A manifest, one small JSON file, binds what belongs to each: an edge type's container, and
// arrays in .npy files that stay where they lie (docs/reference/file-formats.md has its keys).
// The direction of edges, once: the out-list of vertex v of an edge type (from, relation, to) holds the neighbours of type `from` that v,
// of type `to`, pulls: a row of PyG's CSC. So lists belong to the first count(to) vertices and hold ids below count(from); its container
// has max(count(from), count(to)) vertices.
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
  // .npy files, where there are any. A row a vertex: features, labels, times (int64, one number). Vertices, one whole number each: splits.
  std::optional<std::filesystem::path> features = {}, labels = {}, times = {}, train = {}, valid = {}, test = {};
};

struct edge_type {
  std::string from, relation, to;
  std::uint64_t arcs = 0;            // entries of its lists
  std::uint64_t edges = 0;           // of the data set that it was made of; more or fewer than arcs where edges go both ways
  std::filesystem::path lists = {};  // the container; empty for a graph in memory
  // .npy files. An arc each, in the order of the lists: edge_ids (int64: which of the edges the arc is; not there: arc k is edge k) and
  // times (int64). A row an edge: features.
  std::optional<std::filesystem::path> edge_ids = {}, times = {}, features = {};
};

struct hetero_manifest {
  std::vector<vertex_type> types;
  std::vector<edge_type> edges;
};
// Reads a manifest and holds it against the heads of its files; no graph is loaded. errc::input names the manifest, the key and what is
// wrong: an unknown key, a name twice, a type that is not there, a file that is missing or not as long as the counts say.
hetero_manifest read_manifest(std::filesystem::path const& file);

// Owns the lists of every edge type, each a graph of its own. Move-only.
class hetero_graph {
 public:
  // Opens each container as open_graph() does, one after the other: where no tier is said, each that still has room lies near.
  static hetero_graph open(std::filesystem::path const& manifest, open_options const& options = {});
  // The same, each container as `each` opens it. What `each` throws goes through.
  static hetero_graph open(std::filesystem::path const& manifest, std::function<graph_handle(std::filesystem::path const&)> const& each);
  // One type of vertices and one of edges; its out-lists are the lists as they stand.
  explicit hetero_graph(graph_handle g, std::string vertices = "node", std::string relation = "to");
  ~hetero_graph();
  hetero_graph(hetero_graph&&) noexcept;
  hetero_graph& operator=(hetero_graph&&) noexcept;

  std::string const& name() const;  // of its manifest, as messages call it
  std::vector<vertex_type> const& types() const;
  std::vector<edge_type> const& edges() const;
  graph_handle const& lists(std::size_t k) const;  // of edges()[k]
  graph_handle& lists(std::size_t k);
  // Where a name stands in types(), and a triple in edges(). errc::input names those that there are.
  std::size_t type(std::string_view name) const;
  std::size_t edge(std::string_view from, std::string_view relation, std::string_view to) const;

 private:
  struct holder;
  explicit hetero_graph(std::unique_ptr<holder>);
  holder& held() const;  // errc::usage once moved from
  std::unique_ptr<holder> holder_;
};

// --- from the folders of data sets ---
struct hetero_options {
  // Edges go both ways: an edge type of one vertex type gets each edge in both directions (a loop once), one of two gets a twin, rev_NAME
  // from `to` to `from`, as PyG's ToUndirected makes it.
  bool undirected = false;
  bool packed = false;         // pack the lists
  std::uint32_t id_bytes = 0;  // 0: 4
  std::string split = {};      // which folder of split/ is meant, where there are several
};
struct hetero_report {
  hetero_manifest made;
  std::vector<std::string> notes;  // what the user should hear though nothing failed, one sentence each
};
// OGB's folders (raw/ as text or data.npz, of one type or of several), MAG240M's and IGB's (processed/), or edge_index.npy with its arrays.
// Writes the manifest and, beside it, the folder NAME.garner, which must not be there yet: a container an edge type, and arrays that are no
// .npy there. The manifest comes last; where it throws, nothing stays. Multi-edges and loops stay. Takes 8 bytes an arc and 16 a vertex of
// host memory at the peak, of text 16 an edge more.
hetero_report convert_hetero(std::filesystem::path const& folder, std::filesystem::path const& manifest,
                             hetero_options const& options = {});

}  // namespace garner
