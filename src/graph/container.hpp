// The graph file `.gnr`; docs/reference/file-formats.md defines it. Written whole or not at all, checked when read.
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
  tier edges = tier::host;  // tier of targets and weights: host, managed, device, peer, or file (they stay there: list_windows.hpp)
  int device = -1;          // the device that holds them or has them mapped; -1: host only
  bool in_edges =
      false;  // also load the in-edges (errc::input if a directed graph has none; an undirected one has out = in: not loaded twice)
  bool weights = false;          // also load the weights (errc::input if the file has none)
  bool cached_neighbors = true;  // also load the cached neighbors, if the file has some
  bool check = true;             // verify checksums and padding of every section loaded, then the CSR invariants
  // Tier file, for tests: drives that hold the file, and bytes of adjacency per staging buffer (0: whatever the host budget allows).
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
  // In a compressed graph, instead of targets and weights: the codes, and the two levels of their directory (`core/packed.hpp`).
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
  cached_neighbors = 21,
};
struct container_section {
  section_kind kind{};
  std::string name;  // "out offsets", "out targets", "out weights", "in offsets", ..., "ids", "by id"
  std::uint64_t offset = 0, bytes = 0, element_bytes = 0, checksum = 0;
};
// Sizes that the counts of a graph do not determine.
struct packed_words {
  std::uint64_t out_targets = 0, out_weights = 0, in_targets = 0, in_weights = 0;
};
struct container_header {
  graph_info info;
  packed_words words;
  std::uint32_t cached_neighbors = 0;  // per vertex
  std::uint32_t version = 0;
  std::uint64_t file_bytes = 0;
  std::vector<container_section> sections;  // in file order
};
container_header read_header(std::filesystem::path const& file);
// Bytes of adjacency that `how` loads.
std::uint64_t list_bytes(container_header const& header, load_options const& how);
// Offsets and ids are always loaded into host memory. The graph's info reflects what was loaded: in_edges and weights are false and none if
// they stayed in the file.
graph load_graph(std::filesystem::path const& file, load_options const& how = {});
// Loads only the out-offsets (vertices + 1 entries), for callers that need only degrees.
buffer<std::uint64_t> load_offsets(std::filesystem::path const& file, bool of_in_lists = false, bool check = true);
void check_container(std::filesystem::path const& file);             // checks all of it, as `garner stats --check` does
void save_graph(graph const& g, std::filesystem::path const& file);  // g's arrays must be host-readable
// Throws errc::input with the fault if offsets and targets break the CSR invariants. Time O(E), on the shared pool.
void check_csr(graph_info const& info, std::uint64_t const* offsets, void const* targets, std::string const& where);

}  // namespace garner
