// A graph in memory: opened, read, built or generated; told about, brought to a device, reordered, saved.
// Errors are garner::error. Vertices are named by the user's ids everywhere; results stand in the order of ascending ids.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "garner/graph.hpp"
#include "garner/place.hpp"

namespace garner {

struct graph_access;  // Garner's own rooms reach the graph through it

// Owns a graph: CSR with its offsets in host memory and its edges in a tier. Move-only; jobs refer to the graph, so it must outlive them.
// Many threads may look at one.
class graph_handle {
 public:
  ~graph_handle();
  graph_handle(graph_handle&&) noexcept;
  graph_handle& operator=(graph_handle&&) noexcept;

  explicit operator bool() const noexcept { return holder_ != nullptr; }  // false once moved elsewhere
  graph_info const& info() const;
  std::string const& name() const;  // of its file, as messages call it
  // Entry k of every result belongs to the vertex ids()[k]: all of them, ascending. Unless info().id_map that is k + info().id_base.
  std::vector<std::uint64_t> ids() const;
  std::uint64_t position(std::uint64_t id) const;  // the k with ids()[k] == id; errc::input where there is none

 private:
  friend graph_access;
  struct holder;
  explicit graph_handle(std::unique_ptr<holder>);
  std::unique_ptr<holder> holder_;
};

struct open_options {
  place where;  // that will run the jobs: a device's edges are mapped for it, or lie on it
  // host, device (place device), managed (place device; what access paged reads); unset: at a place device in its memory where lists and
  // any job's state fit there, else host.
  std::optional<tier> edges;
  std::optional<bool> weights;   // unset: where the file has them; true: errc::input where it has none
  std::optional<bool> in_lists;  // in-neighbours of a directed graph, unset in the same way; true: made where the file has none
  bool check = true;             // the checksums; offsets and targets are checked in any case
};
// A container, or a graph made in memory: KIND:SCALE or KIND:SCALE:EDGE_FACTOR, as kron:20, is what generate_graph() makes of these numbers
// and else its defaults (a file of such a name: ./kron:20). Takes its size in host memory (or device memory, of the edges). errc::io where
// it cannot be read, errc::input where it is damaged, errc::memory where a budget or the system refuses.
graph_handle open_graph(std::filesystem::path const& file, open_options const& options = {});

// A file of any other format that garner convert reads, by its ending. `report`, unless null, tells what was dropped.
graph_handle read_graph(std::filesystem::path const& file, build_options const& options = {}, build_report* report = nullptr);

// Edges in memory, as many as one likes in any order; an undirected one stands once. Ids as in build_options::numbering: gaps become
// isolated vertices, unless they are many.
struct edge {
  std::uint64_t source, target;
};
struct edge_array {
  std::span<edge const> edges;
  std::span<std::uint32_t const> weights = {};  // one an edge, or none ...
  std::span<float const> real_weights = {};     // ... or of this kind: 0 or more, and finite
  std::uint64_t vertices = 0;                   // ids 0 to vertices - 1 exist, with or without edges
};
// errc::input names an edge whose weight is negative or no number; errc::usage where there are not as many weights as edges.
graph_handle build_graph(edge_array const& edges, build_options const& options = {}, build_report* report = nullptr);

// Edges that stay where they lie: whole numbers with a sign.
struct edge_ends {
  void const* data = nullptr;
  std::uint64_t count = 0;
  std::int64_t stride = 1;  // from one to the next, in numbers
  std::uint32_t bytes = 8;  // of a number: 4 or 8
};
struct adjacency_options {
  std::uint64_t sources = 0, targets = 0;  // nodes there are
  bool backward = false;                   // lists of sources, which hold targets; else lists of targets, which hold sources
  bool edge_ids = false;                   // also which edge each entry is
  std::span<float const> weights = {};     // one an edge, or none: 0 or more, and finite
  std::string name = "edge_index";         // of the edges, as messages call them
  // One an edge, or one a node of the type that lists hold; empty: none. Lists are in their order then, equal ones as without, and edge_ids
  // are there unless that is the order of the edges.
  std::span<std::int64_t const> times = {};
  bool times_of_edges = false;
  place where = {};  // that sorts: a device where that has the memory for it, else the host
};
struct adjacency {
  graph_handle graph;               // directed; these lists are its out-lists
  bool in_order = false;            // entry k is edge k; then there are no edge_ids
  void const* edge_ids = nullptr;   // of each entry, without a sign, where they were asked for
  std::uint32_t edge_id_bytes = 0;  // 4 where edges are fewer than 2^32, else 8
  std::shared_ptr<void const> owner = {};
};
// The neighbors of each node, of edges in any order: nothing dropped, nothing renumbered. Without times lists are sorted by neighbor and,
// of equal ones, by edge. Cost: a few passes over the edges, the same whatever the degrees; 4 bytes an edge and 8 a node stay, as many an
// edge with weights and with edge_ids, and 4 an edge are taken meanwhile; a device that sorts takes 24 bytes an edge of its
// own memory instead, or sorts a part at a time. id_error names the first edge with a node that does not exist.
adjacency make_adjacency(edge_ends const& sources, edge_ends const& targets, adjacency_options const& options);

// A directed graph with its in-lists too, made of its out-lists where it has none; they lie where its edges lie. No change to one that has
// them, or is undirected. errc::input where its lists stay in a file. Where it throws, `g` holds the same graph, perhaps in host memory.
graph_handle make_in_lists(graph_handle&& g);
// The same beside a graph that others use and that stays as it is: what is there already is shared, by one more owner of `g`.
// errc::usage where that lies on a device.
graph_handle make_in_lists(std::shared_ptr<graph_handle const> const& g);

// See generate_options; made at the host or on a device (whose memory the sort takes).
graph_handle generate_graph(generate_options const& options, place where = {}, build_report* report = nullptr);

// Makes the graph readable for a device in a tier (of the table in docs/concepts/memory-tiers.md; unset: as open_options), or for the host
// again. What lies there already stays. Takes what it moves a second time meanwhile; where it throws, `g` is as it was.
graph_handle bring_to(graph_handle&& g, place where, std::optional<tier> edges = {});
// Whether its lists can be read there as they lie; `edges`: and lie in that tier.
bool readable_at(graph_handle const& g, place where, std::optional<tier> edges = {});

// See vertex_order. Needs the lists of one direction a second time in host memory; the edges lie in host memory afterwards, mapped for no
// device. Fewer than 2^32 vertices. `where` a device (any order but bfs): its edges are read from where they lie and lie in its memory
// afterwards; bring_to() takes them home.
graph_handle reorder_graph(graph_handle g, reorder_options const& options = {}, place where = {});

// Written whole or not at all. A container keeps everything; other formats as `garner convert`. Returns what the format could not keep.
std::vector<std::string> save_graph(graph_handle const& g, std::filesystem::path const& file);

// From file to file, as `garner convert`. errc::memory before anything is read where it will not fit.
graph_info convert_graph(std::filesystem::path const& in, std::filesystem::path const& out, build_options const& options = {},
                         build_report* report = nullptr);

// The same in one piece of memory, which other processes may read (garner/shared.hpp): so many bytes, from a page on.
std::uint64_t shared_bytes(graph_handle const& g);  // errc::usage where lists lie in a file or on a device
void write_shared(graph_handle const& g, void* to);
// The graph that lies there; nothing is copied, and it keeps the owner. errc::input where there is none.
graph_handle open_shared(std::shared_ptr<void> owner, void const* at, std::uint64_t bytes);

// The neighbour lists as arrays. Row k is the vertex ids()[k]; a target is a position among ids() too. Where they lie plain in host memory,
// in the order of ids(), they are the graph's own, which must outlive them and stay where it is; else copies, which `owner` keeps. `in`: of
// those that lead to each vertex; errc::input where a directed graph has no in-lists.
struct graph_lists {
  std::uint64_t const* offsets = nullptr;  // vertices + 1
  void const* targets = nullptr;           // info().edges of info().id_bytes each, ascending in each list
  void const* weights = nullptr;           // 4 bytes each, as info().weights says; null where there are none
  bool offsets_copied = false, targets_copied = false, weights_copied = false;
  std::shared_ptr<void const> owner = {};
};
graph_lists lists_of(graph_handle const& g, bool in = false);

// A number that two graphs have in common where ids, lists, weights and their order are the same, wherever they lie, packed or plain: as
// processes compare what they opened. Cost: a pass over the lists, and as much host memory as they take plain where they lie elsewhere.
std::uint64_t digest_of(graph_handle const& g);

// What Garner may take, in bytes; whatever would pass it throws errc::memory. At start: what the machine allows.
void limit_host_memory(std::uint64_t bytes);
void limit_device_memory(int device, std::uint64_t bytes);
int device_count();  // usable GPUs; 0 in a build without CUDA

// Long work stops soon with errc::interrupted; may be called from a signal handler. The next call is interrupted too, until cleared.
void request_interrupt() noexcept;
void clear_interrupt() noexcept;

}  // namespace garner
