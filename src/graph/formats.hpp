// Text and foreign binary graph formats: which there are, how a file is recognised, reading into an edge list, writing from a CSR.
// The container of Garner itself (.gnr) stands in this list only so that endings can be told apart; it is read and written elsewhere.
// Invariant: a reader gives the whole edge list or throws; what a header claims is believed only as far as the file's size or its data
// bear it out, so no header makes a reader allocate more than a small multiple of what it has read.
// Cost: one pass; text is parsed by the thread pool in blocks of lines while the next batch is read and decompressed.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "garner/graph.hpp"
#include "graph/edge_list.hpp"
#include "graph/input_stream.hpp"

namespace garner {

enum class file_format { el, wel, csv, snap, mtx, gr, metis, sg, wsg, bel, ldbc, npy, npz, gnr };

std::string_view to_string(file_format format);
file_format parse_format(std::string_view name);  // errc::usage lists the choices
bool is_written(file_format format);
bool declares_vertices(file_format format);                // by a header, or a list
file_format format_of(std::filesystem::path const& path);  // by ending, looking through .gz and .zst; errc::usage lists the endings

struct read_options {
  std::optional<file_format> from = {};   // unset: by ending
  std::uint64_t skip_lines = 0;           // of text: lines that are passed over unread
  std::vector<std::string> columns = {};  // of text in columns: source, target and perhaps weight, by name or by number from 1
  bool ignore_weights = false;            // read the edges alone: weights may then be anything that is a number
  std::size_t block_bytes = 1u << 20;     // text that one thread takes at a time; tests make it small
  arc_sink* sink = nullptr;               // gets the arcs by parts; the list that is read has none then
};

struct read_result {
  edge_list edges;
  std::vector<std::string> notes;  // what the user should hear though nothing failed, one sentence each
};

read_result read_edges(std::filesystem::path const& path, read_options const& options);

// The same from an open stream, which may lie in memory; any format but bel, ldbc (several files), npy, npz and gnr.
read_result read_edges(input_stream& in, file_format format, read_options const& options);
read_result read_bel(input_stream& offsets, input_stream& targets, input_stream* weights, read_options const& options);
read_result read_ldbc(input_stream& vertices, input_stream& edges, input_stream* properties, read_options const& options);

// errc::input where a file gave no vertex at all, as an empty download does, unless that is allowed.
void require_vertices(edge_list const& edges, bool allow_empty);

// Host memory that reading takes at its peak, guessed from the size of the file and a look at its beginning: 16 bytes an arc,
// 4 bytes a weight, 8 bytes an offset of a binary CSR, and the blocks in flight. 0, and nothing is opened, for what is no regular file: of
// a pipe, the look would be lost to the reader.
std::uint64_t estimate_read_bytes(std::filesystem::path const& path, read_options const& options);

// A CSR in host memory, as a writer takes it. An undirected graph lists each edge in both directions.
struct csr_arrays {
  std::uint64_t vertices = 0, edges = 0;
  std::uint32_t id_bytes = 4;              // of one entry of `targets`: 4 or 8
  std::uint64_t const* offsets = nullptr;  // vertices + 1 of them
  void const* targets = nullptr;
  std::uint32_t const* weights = nullptr;  // null: none
  weight_kind weights_are = weight_kind::none;
  std::uint64_t const* in_offsets = nullptr;  // null: none; a .sg of a directed graph makes its own
  void const* in_targets = nullptr;
  std::uint32_t const* in_weights = nullptr;
  std::uint64_t const* ids = nullptr;  // user ids; null: internal id + id_base
  std::uint64_t id_base = 0;
  bool directed = true;
};

// Writes el, wel, mtx, metis, sg, wsg or bel, compressed where `path` ends in .gz or .zst. Returns notes: what the format could not keep.
std::vector<std::string> write_edges(csr_arrays const& graph, std::filesystem::path const& path, file_format to);

// --- shared by the readers and writers -------------------------------------------------------------------------------------

// `path` without .gz or .zst, and that ending ("" where there is none).
struct bare_name {
  std::string name, compression;
};
bare_name strip_compression(std::filesystem::path const& path);
// PREFIX.bel of PREFIX.bel, PREFIX.bel.col, PREFIX.bel.dst or PREFIX.bel.val, compressed or not.
std::string bel_stem(std::filesystem::path const& path);
std::string ldbc_stem(std::filesystem::path const& path);  // NAME of NAME.v or NAME.e, compressed or not

// The readers behind read_edges, one a family of formats; only read_edges.cpp calls them.
read_result read_columns(input_stream& in, file_format format, read_options const& options);  // el, wel, csv, snap
read_result read_mtx(input_stream& in, read_options const& options);
read_result read_gr(input_stream& in, read_options const& options);
read_result read_metis(input_stream& in, read_options const& options);
read_result read_npy(std::filesystem::path const& path, read_options const& options);
read_result read_npz(std::filesystem::path const& path, read_options const& options);
std::uint64_t edges_of_npy(std::filesystem::path const& path);  // of its header
std::uint64_t edges_of_npz(std::filesystem::path const& path);
read_result read_sg(input_stream& in, bool weighted, read_options const& options);

}  // namespace garner
