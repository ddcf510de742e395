// Where a graph comes from: a container, or a name such as kron:20 (KIND:SCALE or KIND:SCALE:EDGE_FACTOR) that stands for what
// `garner generate` makes with these numbers and seed 1, made in memory. One way to both for all who load a graph.
// Invariant: what info() says is what load() gives, in-lists too: a job that needs those of a directed graph whose file has none asks for
// them first, and they are made while the graph is loaded. Cost: of a generated one its making; in-lists: see transpose.hpp.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

#include "graph/container.hpp"

namespace garner {

// The options that such a name stands for; unset where it is none; errc::usage where its numbers are out of range.
std::optional<generate_options> generated_by(std::filesystem::path const& name);

class graph_source {
 public:
  explicit graph_source(std::filesystem::path name);  // reads the header, or makes the graph within the host budget

  container_header const& header() const {
    return header_;
  }  // of a generated one as it would be written, without version, places and checksums
  graph_info const& info() const { return header_.info; }
  bool is_generated() const { return generated_; }

  void want_in_lists();  // no change where the graph has them, or is undirected
  bool makes_in_lists() const { return makes_in_lists_; }
  // Host memory for that beside the graph as it is told, and what it took.
  std::uint64_t making_bytes(bool for_device) const;
  double making_ms() const { return making_ms_; }

  graph load(load_options const& how);  // once, of a generated one
  void let_go() { made_.reset(); }      // of a generated one that is had elsewhere
  // As load_offsets; empty where only the making of in-lists would tell them.
  buffer<std::uint64_t> offsets(bool of_in_lists = false, bool check = true) const;

 private:
  std::filesystem::path name_;
  container_header header_;
  std::optional<graph> made_;
  bool generated_ = false, makes_in_lists_ = false;
  double making_ms_ = 0;
};

}  // namespace garner
