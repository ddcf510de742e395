// Text and foreign binary graph formats: detection, reading into an edge list, writing from a CSR. Garner's own
// graph file (.gnr) is in the list only so that its ending is recognized; other files read and write it.
// Invariant: a reader returns the whole edge list or throws. A header is trusted only as far as the file's size
// or its data support it, so that a reader never allocates more than a small multiple of what it has read.
// Cost: one pass. The thread pool parses text in blocks of lines while the next batch is read and decompressed.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "garner/convert.hpp"
#include "graph/edge_list.hpp"
#include "graph/input_stream.hpp"

namespace garner {

struct read_result {
  edge_list edges;
  std::vector<std::string> notes;  // warnings for the user, one sentence each
};

read_result read_edges(std::filesystem::path const& path, read_options const& options);

// Reads from an open stream or memory; any format except bel, ldbc (several files), npy, npz and gnr.
read_result read_edges(input_stream& in, file_format format, read_options const& options);
read_result read_bel(input_stream& offsets, input_stream& targets, input_stream* weights, read_options const& options);
read_result read_ldbc(input_stream& vertices, input_stream& edges, input_stream* properties, read_options const& options);

// errc::input if a file has no vertices at all, as after a failed download, unless that is allowed.
void require_vertices(edge_list const& edges, bool allow_empty);

// Peak host memory of reading, estimated from the file's size and its beginning: 16 bytes per edge, 4 bytes per weight, 8 bytes per offset
// of a binary CSR, and the blocks in flight. Returns 0 for a pipe or device, which is not even opened: data read from it would be lost to
// the reader.
std::uint64_t estimate_read_bytes(std::filesystem::path const& path, read_options const& options);

// A CSR in host memory, the input of writers. An undirected graph lists each edge in both directions.
struct csr_arrays {
  std::uint64_t vertices = 0, edges = 0;
  std::uint32_t id_bytes = 4;              // of one entry of `targets`: 4 or 8
  std::uint64_t const* offsets = nullptr;  // vertices + 1 entries
  void const* targets = nullptr;
  std::uint32_t const* weights = nullptr;  // null: none
  weight_kind weights_are = weight_kind::none;
  std::uint64_t const* in_offsets = nullptr;  // null: none; a .sg of a directed graph computes its own
  void const* in_targets = nullptr;
  std::uint32_t const* in_weights = nullptr;
  std::uint64_t const* ids = nullptr;  // user ids; null: internal id + id_base
  std::uint64_t id_base = 0;
  bool directed = true;
};

// Writes el, wel, mtx, metis, sg, wsg or bel, compressed if `path` ends in .gz or .zst. Returns notes on what the format cannot hold.
std::vector<std::string> write_edges(csr_arrays const& graph, std::filesystem::path const& path, file_format to);

// --- shared by the readers and writers -------------------------------------------------------------------------------------

// PREFIX.bel for PREFIX.bel, PREFIX.bel.col, PREFIX.bel.dst or PREFIX.bel.val, compressed or not.
std::string bel_stem(std::filesystem::path const& path);
std::string ldbc_stem(std::filesystem::path const& path);  // NAME for NAME.v or NAME.e, compressed or not

// The readers behind read_edges, one per family of formats; only read_edges.cpp calls them.
read_result read_columns(input_stream& in, file_format format, read_options const& options);  // el, wel, csv, snap
read_result read_mtx(input_stream& in, read_options const& options);
read_result read_gr(input_stream& in, read_options const& options);
read_result read_metis(input_stream& in, read_options const& options);
read_result read_npy(std::filesystem::path const& path, read_options const& options);
read_result read_npz(std::filesystem::path const& path, read_options const& options);
std::uint64_t edges_of_npy(std::filesystem::path const& path);  // from its header
std::uint64_t edges_of_npz(std::filesystem::path const& path);
read_result read_sg(input_stream& in, bool weighted, read_options const& options);

}  // namespace garner
