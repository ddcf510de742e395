// What a graph looks like, told from its offsets alone: degrees, and the share of the edges that lie at vertices of each degree (figure 2.7
// of the dissertation: it tells how much a merged or an aligned access can win, since a short list cannot fill its lines).
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "graph/container.hpp"

namespace garner {

struct degree_bin {
  std::uint64_t low = 0, high = 0;  // degrees low .. high, both within
  std::uint64_t vertices = 0, edges = 0;
};
struct edge_share {
  std::uint64_t degree = 0;  // the edges at vertices of at most this degree ...
  std::uint64_t edges = 0;
  double share = 0;  // ... as a part of all edges (1 where there are none)
};
struct graph_summary {
  graph_info info;
  std::optional<std::uint64_t> isolated;  // vertices without any edge; unknown for a directed graph without in-lists
  std::uint64_t lists = 0;                // vertices with edges going out
  std::uint64_t lists_on_lines = 0;       // of those, whose list starts on a line of 128 bytes
  std::uint64_t degree_min = 0, degree_median = 0, degree_max = 0;  // out-degrees; of an even number of vertices the lower median
  double degree_mean = 0;
  std::vector<degree_bin> bins;    // 0, 1, 2-3, 4-7, ... up to that of degree_max
  std::vector<edge_share> shares;  // at degrees 0, 8, ..., 96 and at degree_max
};

// `in_offsets` may be null. Order V, on the shared pool.
graph_summary summarize(graph_info const& info, std::uint64_t const* offsets, std::uint64_t const* in_offsets = nullptr);
graph_summary summarize(std::filesystem::path const& file, bool check = true);  // reads the offsets alone

}  // namespace garner
