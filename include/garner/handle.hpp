// A graph in memory: opened, read, built or generated; inspected, moved to a device, reordered, saved.
// Errors are garner::error. Vertices are always named by user ids; results are in the order of ascending ids.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "garner/device.hpp"
#include "garner/graph.hpp"

namespace garner {

struct graph_access;  // for Garner's own modules

// Owns a graph: CSR with its offsets in host memory and its edges in a memory tier. Move-only. Algorithms refer to the graph, so it must
// outlive them. Many threads may read one.
class graph_handle {
 public:
  ~graph_handle();
  graph_handle(graph_handle&&) noexcept;
  graph_handle& operator=(graph_handle&&) noexcept;

  explicit operator bool() const noexcept { return holder_ != nullptr; }  // false once moved elsewhere
  graph_info const& info() const;
  std::string const& name() const;  // of its file, as in messages
  // Entry k of every result belongs to the vertex ids()[k]; ids ascend. Without info().id_map it is k + info().id_base.
  std::vector<std::uint64_t> ids() const;
  std::uint64_t position(std::uint64_t id) const;  // the k with ids()[k] == id; errc::input if it does not exist

 private:
  friend graph_access;
  struct holder;
  explicit graph_handle(std::unique_ptr<holder>);
  std::unique_ptr<holder> holder_;
};

struct open_options {
  execution_device device;  // device that will run the algorithms: its edges are mapped for it, or in its memory
  // host, device (on a GPU), managed (on a GPU; for access paged). Unset: on a GPU device memory, if adjacency and the state of any
  // algorithm fit there, else host.
  std::optional<tier> edges;
  std::optional<bool> weights;   // unset: if the file has them; true: errc::input if it has none
  std::optional<bool> in_edges;  // in-edges of a directed graph, unset in the same way; true: made if the file has none
  bool check = true;             // verify checksums; offsets and targets are checked in any case
  bool as_stored = false;        // reversed adjacency stays so, as edge types of a dataset need it; false: its out-edges are built
};
// Opens a graph file, or generates a graph: KIND:SCALE or KIND:SCALE:EDGE_FACTOR, such as kron:20, is generate_graph() with these numbers
// and default options (for a file of that name, pass ./kron:20). It uses its size in host memory (or device memory, for the edges).
// errc::io if it cannot be read, errc::input if it is damaged, errc::memory if a budget or the system refuses.
graph_handle open_graph(std::filesystem::path const& file, open_options const& options = {});

// Reads a file of any other format of `garner convert`, by its suffix. `report`, unless null, lists what was dropped.
graph_handle read_graph(std::filesystem::path const& file, build_options const& options = {}, build_report* report = nullptr);

// Edges in memory, in any order; an undirected edge appears once. Ids as in build_options::numbering: gaps become isolated vertices,
// unless there are many.
struct edge {
  std::uint64_t source, target;
};
struct edge_array {
  std::span<edge const> edges;
  std::span<std::uint32_t const> weights = {};  // one per edge, or empty
  std::span<float const> real_weights = {};     // the same as floats: finite, at least 0
  std::uint64_t vertices = 0;                   // ids 0 to vertices - 1 exist, with or without edges
};
// errc::input names an edge whose weight is negative or NaN; errc::usage if the number of weights is not that of edges.
graph_handle build_graph(edge_array const& edges, build_options const& options = {}, build_report* report = nullptr);

// A column of names, as Arrow lays out strings: row k is value codes[k], or value k without codes. A value is any string of bytes.
struct name_column {
  char const* bytes = nullptr;
  void const* offsets = nullptr;   // value k is the bytes from offsets[k] to offsets[k + 1]; null: values of `width` bytes each
  std::uint32_t offset_bytes = 8;  // per offset: 4 or 8
  std::uint32_t width = 0;
  std::uint64_t values = 0, rows = 0;  // distinct values (rows, without codes)
  std::uint32_t const* codes = nullptr;
};
// Edges that arrive in parts become a graph file, in less memory than the edges take: they are sorted in parts within memory_limit. Either
// all parts have names or none has. Nodes with names are numbered from 0 in the order of first appearance, the source before the target;
// errc::memory if the names need more than half of the memory (18 to 28 bytes each). The file appears whole in finish(), or not at all.
class graph_writer {
 public:
  // `scratch`: folder for the temporary files; empty: that of the file. `source`: of the edges, for messages. errc::io if a folder is
  // unusable.
  graph_writer(std::filesystem::path const& file, std::string source, std::filesystem::path const& scratch = {},
               build_options const& options = {});
  ~graph_writer();
  graph_writer(graph_writer&&) noexcept;
  graph_writer& operator=(graph_writer&&) noexcept;

  void add(edge_array const& part);  // `vertices` of the largest part counts; see build_graph
  // `weights`: its weights; it has no edges. errc::usage if the columns differ in length.
  void add(name_column const& sources, name_column const& targets, edge_array const& weights = {});
  void rest();  // frees the memory of the edges so far, which wait in scratch files
  // `vertices`: ids 0 to vertices - 1 exist. `reversed`: edges were added from target to source (graph_info).
  graph_info finish(build_report* report = nullptr, std::uint64_t vertices = 0, bool reversed = false);
  std::uint64_t names() const;  // so far; those from `first` on, appended to `bytes`, and to `ends` where each ends
  void read_names(std::uint64_t first, std::uint64_t count, std::vector<std::uint64_t>& ends, std::string& bytes);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

// Names of one type of nodes, numbered from 0 in the order of first appearance; graph_writer does so for the columns of one table.
class name_numbers {
 public:
  // `memory_limit`: bytes of memory at most; 0: half of what the budget has left. Otherwise as graph_writer.
  name_numbers(std::filesystem::path const& scratch, std::string source, std::uint64_t memory_limit = 0);
  ~name_numbers();
  name_numbers(name_numbers&&) noexcept;
  name_numbers& operator=(name_numbers&&) noexcept;
  void number(name_column const& names, std::uint64_t* to);  // one number per row
  std::uint64_t names() const;
  std::uint64_t digest() const;  // graph_info::names_digest of a graph with these names
  void read_names(std::uint64_t first, std::uint64_t count, std::vector<std::uint64_t>& ends, std::string& bytes);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

// Edges that are read in place: signed integers.
struct edge_ends {
  void const* data = nullptr;
  std::uint64_t count = 0;
  std::int64_t stride = 1;  // distance of two entries, in integers
  std::uint32_t bytes = 8;  // per integer: 4 or 8
};
struct adjacency_options {
  std::uint64_t sources = 0, targets = 0;  // number of nodes
  bool backward = false;                   // true: one list per source, of targets; false: one list per target, of sources
  bool edge_ids = false;                   // also the edge index of each entry
  std::span<float const> weights = {};     // one per edge, or empty: finite, at least 0
  std::string name = "edge_index";         // of the edges, as in messages
  // One per edge, or one per node of the type that lists hold; empty: none. Lists are then in the order of their times, ties as without
  // times, and edge_ids are present unless that is the order of the edges.
  std::span<std::int64_t const> times = {};
  bool times_of_edges = false;
  execution_device device = {};  // the sorting device: a GPU if its memory suffices, else the CPU
};
struct adjacency {
  graph_handle graph;               // directed; its out-edges are these lists
  bool in_order = false;            // entry k is edge k; edge_ids is null then
  void const* edge_ids = nullptr;   // of each entry, unsigned, if requested
  std::uint32_t edge_id_bytes = 0;  // 4 for fewer than 2^32 edges, else 8
  std::shared_ptr<void const> owner = {};
};
// Builds the adjacency of edges in any order, without dropping or renumbering. Without times, lists are sorted by neighbor, ties by edge.
// Cost: a few passes over the edges, for any degrees. Memory: 4 bytes per edge and 8 per node; another 4 per edge each for weights and
// edge_ids; 4 per edge temporarily. A GPU instead uses 24 bytes per edge of its own memory, or sorts part by part.
// id_error names the first edge with a node that does not exist.
adjacency make_adjacency(edge_ends const& sources, edge_ends const& targets, adjacency_options const& options);

// Adds in-edges to a directed graph, built from its out-edges and in the same memory tier. A graph that has them, or is undirected, is
// unchanged. errc::input if its adjacency stays in a file. If it throws, `g` holds the same graph, perhaps in host memory.
graph_handle make_in_edges(graph_handle&& g);
// The same for a graph that others use: the result shares the existing arrays, as one more owner of `g`, which is unchanged.
// errc::usage if the graph lies on a device.
graph_handle make_in_edges(std::shared_ptr<graph_handle const> const& g);

// See generate_options; generated on the CPU or on a GPU (whose memory the sort uses).
graph_handle generate_graph(generate_options const& options, execution_device device = {}, build_report* report = nullptr);

// Makes the graph readable for a device, in a tier (see the table in docs/concepts/memory-tiers.md; unset: as open_options), or for the CPU
// again. Data already there is not copied. Needs memory for a second copy of what it moves; if it throws, `g` is unchanged.
graph_handle to_device(graph_handle&& g, execution_device device, std::optional<tier> edges = {});
// Whether that device can read the adjacency in place; with `edges`: and whether it lies in that tier.
bool readable_by(graph_handle const& g, execution_device device, std::optional<tier> edges = {});

// See vertex_order. Needs a second copy of one direction's adjacency in host memory; the edges lie in host memory afterwards, not mapped
// for a device. Fewer than 2^32 vertices. If `where` is a GPU (any order but bfs), it reads the edges in place and the result is in its
// memory; to_device() moves it to host memory.
graph_handle reorder_graph(graph_handle g, reorder_options const& options = {}, execution_device device = {});

// Written atomically. A graph file keeps everything; other formats as `garner convert`. Returns what the format could not represent.
std::vector<std::string> save_graph(graph_handle const& g, std::filesystem::path const& file);

// From file to file, as `garner convert`. errc::memory, before anything is read, if it will not fit.
graph_info convert_graph(std::filesystem::path const& in, std::filesystem::path const& out, build_options const& options = {},
                         build_report* report = nullptr);

// The same as one block of memory that other processes may read (garner/shared.hpp): its size, page-aligned.
std::uint64_t shared_bytes(graph_handle const& g);  // errc::usage if the adjacency lies in a file or on a device
void write_shared(graph_handle const& g, void* to);
// The graph in that memory; nothing is copied, and it keeps the owner alive. errc::input if the memory holds none.
graph_handle open_shared(std::shared_ptr<void> owner, void const* at, std::uint64_t bytes);

// The adjacency as arrays. Row k is the vertex ids()[k]; a target is a position among ids() too. Uncompressed adjacency in host memory, in
// the order of ids(), is returned in place: the graph must outlive it and must not move. Otherwise `owner` keeps copies. `in`: in-edges;
// errc::input if a directed graph has none.
struct adjacency_arrays {
  std::uint64_t const* offsets = nullptr;  // vertices + 1
  void const* targets = nullptr;           // info().edges of info().id_bytes each, ascending in each list
  void const* weights = nullptr;           // 4 bytes each, as info().weights says; null without weights
  bool offsets_copied = false, targets_copied = false, weights_copied = false;
  std::shared_ptr<void const> owner = {};
};
adjacency_arrays adjacency_of(graph_handle const& g, bool in = false);

// A digest that two graphs share if ids, adjacency, weights and order are equal, in any tier, compressed or not; processes use it to
// compare the graphs they opened. Cost: a pass over the adjacency, and host memory for an uncompressed copy if it is not in host memory.
std::uint64_t digest_of(graph_handle const& g);

// Garner's memory limits in bytes; an allocation beyond them throws errc::memory. Initially: the machine's limits.
void limit_host_memory(std::uint64_t bytes);
void limit_device_memory(int device, std::uint64_t bytes);
int device_count();  // usable GPUs; 0 in a build without CUDA

// Long-running calls end soon with errc::interrupted; safe in a signal handler. Later calls are interrupted too, until cleared.
void request_interrupt() noexcept;
void clear_interrupt() noexcept;

}  // namespace garner
