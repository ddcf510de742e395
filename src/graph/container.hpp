// The container file `.gnr`; docs/reference/file-formats.md defines it. Written whole or not at all, checked when read.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace garner {

class drive_set;

struct load_options {
  tier edges = tier::host;  // where targets and weights go: host, managed, device or peer; file: they stay there (list_windows.hpp)
  int device = -1;          // the device they lie on or are mapped for; -1: no device will read them
  bool in_lists =
      false;  // also load the in-lists (errc::input where a directed graph has none; an undirected one has out = in: not loaded twice)
  bool weights = false;           // also load the weights (errc::input where there are none)
  bool cached_neighbours = true;  // and the cached neighbours, where the file keeps some
  bool check = true;              // checksums and padding of every section loaded, then the invariants of the CSR
  // Tier file, for tests: drives that hold the file, and bytes of lists that are read together (0: what the host budget leaves room for).
  std::shared_ptr<drive_set> drives = {};
  std::uint64_t window_bytes = 0;
};

// Header and section table only.
enum class section_kind : std::uint32_t {
  out_offsets = 1,
  out_targets,
  out_weights,
  in_offsets,
  in_targets,
  in_weights,
  ids,
  by_id,
  // Of a packed graph, instead of targets and weights: the codes, and the two levels of their directory (core/packed.hpp).
  out_target_words,
  out_target_blocks,
  out_target_groups,
  out_weight_words,
  out_weight_blocks,
  out_weight_groups,
  in_target_words,
  in_target_blocks,
  in_target_groups,
  in_weight_words,
  in_weight_blocks,
  in_weight_groups,
  cached_neighbours = 21,
};
struct container_section {
  section_kind kind{};
  std::string name;  // "out offsets", "out targets", "out weights", "in offsets", ..., "ids", "by id"
  std::uint64_t offset = 0, bytes = 0, element_bytes = 0, checksum = 0;
};
// Sizes that do not follow from the counts of a graph.
struct packed_words {
  std::uint64_t out_targets = 0, out_weights = 0, in_targets = 0, in_weights = 0;
};
struct container_header {
  graph_info info;
  packed_words words;
  std::uint32_t cached_neighbours = 0;  // a vertex
  std::uint32_t version = 0;
  std::uint64_t file_bytes = 0;
  std::vector<container_section> sections;  // in the order of the file
};
container_header read_header(std::filesystem::path const& file);
// Of the lists that `how` loads.
std::uint64_t list_bytes(container_header const& header, load_options const& how);
// Offsets and ids always come into host memory. The info of the graph says what was loaded: in_lists and weights are false and none where
// they stayed in the file.
graph load_graph(std::filesystem::path const& file, load_options const& how = {});
// The out-offsets alone (vertices + 1 entries), for what needs only degrees.
buffer<std::uint64_t> load_offsets(std::filesystem::path const& file, bool of_in_lists = false, bool check = true);
void check_container(std::filesystem::path const& file);             // everything, as `garner stats --check`; memory for offsets and ids
void save_graph(graph const& g, std::filesystem::path const& file);  // g's arrays must be readable by the host
// Throws errc::input with what is wrong unless offsets and targets keep the invariant of CSR. Order E, on the shared pool.
void check_csr(graph_info const& info, std::uint64_t const* offsets, void const* targets, std::string const& where);

}  // namespace garner
