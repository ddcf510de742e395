// The shape of a graph, from its offsets alone: degrees, and the share of edges at vertices of each degree (figure 2.7 of the
// dissertation). The shares bound the gain of merged or aligned access, since a short list cannot fill its cache lines.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "graph/container.hpp"

namespace garner {

struct degree_bin {
  std::uint64_t low = 0, high = 0;  // degrees low .. high, inclusive
  std::uint64_t vertices = 0, edges = 0;
};
struct edge_share {
  std::uint64_t degree = 0;  // the edges at vertices of at most this degree ...
  std::uint64_t edges = 0;
  double share = 0;  // ... as a fraction of all edges (1 without edges)
};
struct graph_summary {
  graph_info info;
  std::optional<std::uint64_t> isolated;  // vertices without any edge; unknown for a directed graph without in-edges
  std::uint64_t lists = 0;                // vertices with out-edges
  std::uint64_t lists_on_lines = 0;       // of these, lists that start on a 128-byte line
  std::uint64_t degree_min = 0, degree_median = 0, degree_max = 0;  // out-degrees; for an even number of vertices the lower median
  double degree_mean = 0;
  std::vector<degree_bin> bins;    // 0, 1, 2-3, 4-7, ... up to that of degree_max
  std::vector<edge_share> shares;  // at degrees 0, 8, ..., 96 and at degree_max
};

// `in_offsets` may be null. Time O(V), on the shared pool.
graph_summary summarize(graph_info const& info, std::uint64_t const* offsets, std::uint64_t const* in_offsets = nullptr);
graph_summary summarize(std::filesystem::path const& file, bool check = true);  // reads the offsets alone

}  // namespace garner
