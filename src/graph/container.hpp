// The container file `.gnr`; docs/formats.md defines it. Written whole or not at all, checked when read.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace garner {

struct load_options {
  tier edges = tier::host;  // where targets and weights go: host, managed or device
  int device = -1;          // the device they lie on or are mapped for; -1: no device will read them
  bool in_lists = false;    // also load the in-lists (errc::input where a directed graph has none; an undirected one has out = in: not loaded twice)
  bool weights = false;
  bool check = true;        // checksums of every section loaded, then the invariants of the CSR
};

// Header and section table only.
struct container_section {
  std::string name;  // "out offsets", "out targets", "out weights", "in offsets", ..., "ids"
  std::uint64_t offset = 0, bytes = 0, element_bytes = 0, checksum = 0;
};
struct container_header {
  graph_info info;
  std::uint32_t version = 0;
  std::uint64_t file_bytes = 0;
  std::vector<container_section> sections;
};
container_header read_header(std::filesystem::path const& file);
graph load_graph(std::filesystem::path const& file, load_options const& how = {});  // offsets and ids always in host memory
void check_container(std::filesystem::path const& file);                            // everything, as `garner stats --check`
void save_graph(graph const& g, std::filesystem::path const& file);                 // g's arrays must be readable by the host
// Throws errc::input with what is wrong unless offsets and targets keep the invariant of CSR. Order E, on the shared crew.
void check_csr(graph_info const& info, std::uint64_t const* offsets, void const* targets, std::string const& where);

}  // namespace garner
