// Where a graph comes from: a graph file, or a name such as kron:20 (KIND:SCALE or KIND:SCALE:EDGE_FACTOR), which is generated in memory as
// by `garner generate` with these parameters and seed 1. All callers that load a graph share this interface. Invariant: info() describes
// what load() returns, including in-edges. An algorithm that needs in-edges a directed graph's file lacks requests them first; they are
// computed during the load. So are the out-edges of a file whose adjacency is reversed, which are its in-edges then, unless it is loaded
// as it is stored. Cost: that of generating a generated graph; the other direction: see transpose.hpp.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

#include "graph/container.hpp"

namespace garner {

// The options that such a name encodes; unset for any other name; errc::usage if its numbers are out of range.
std::optional<generate_options> generated_by(std::filesystem::path const& name);

class graph_source {
 public:
  // Reads the header, or generates the graph within the host budget. `as_stored`: reversed adjacency stays so (graph_info).
  explicit graph_source(std::filesystem::path name, bool as_stored = false);

  container_header const& header() const {
    return header_;
  }  // of a generated graph: as if written, without version, positions and checksums
  graph_info const& info() const { return header_.info; }
  bool is_generated() const { return generated_; }

  void want_in_lists();  // no effect if the graph has them, or is undirected
  bool makes_in_lists() const { return makes_in_lists_; }
  // The direction that load() computes, "in-edges" or "out-edges"; null: neither.
  char const* makes() const { return makes_in_lists_ ? "in-edges" : makes_out_lists_ ? "out-edges" : nullptr; }
  // Host memory for computing it, in addition to the graph as info() reports it (without `in_edges`: without these), and the time it took.
  std::uint64_t making_bytes(bool for_device, bool in_edges = true) const;
  double making_ms() const { return making_ms_; }

  graph load(load_options const& how);  // only once for a generated graph
  void let_go() { made_.reset(); }      // of a generated graph that has another copy
  // As load_offsets; empty if only computing that direction would yield them.
  buffer<std::uint64_t> offsets(bool of_in_lists = false, bool check = true) const;

 private:
  void expect_packed(std::uint64_t& targets, std::uint64_t& weights) const;

  std::filesystem::path name_;
  container_header header_;
  std::optional<graph> made_;
  bool generated_ = false, makes_in_lists_ = false, makes_out_lists_ = false;
  bool turned_ = false;  // the file's adjacency is reversed, and is turned
  double making_ms_ = 0;
};

}  // namespace garner
