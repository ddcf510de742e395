// The strategies that are measured for each algorithm, one row each: the paper's (chapter 2.5.1: UVM, naive, merged, merged + aligned; all
// without Garner's additions), the same program fed by copies like its rival Subway, and Garner's own. To measure another strategy, add a
// row to its table in ways.cpp. Only the figures refer to names: they look for `uvm`, `strided`, `merged`, `aligned`, `default` and
// `near`, and draw every other row next to the times.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "traverse/asked.hpp"

namespace garner::lab {

template <class Options>
struct strategy {
  char const* name;   // in the file; the same name with other id_bytes is the same strategy on the wider graph
  char const* label;  // next to a bar: 16 letters at the most
  bool paper;
  access_mode access;
  std::uint32_t id_bytes;
  void (*set)(Options&);  // sets everything but device, access and tier
  bool near = false;      // the edges lie in device memory: only on a GPU, and only with the graph's own id width
};

std::span<strategy<bfs_asked> const> bfs_ways();
std::span<strategy<sssp_asked> const> sssp_ways();
std::span<strategy<components_asked> const> components_ways();
std::span<strategy<pagerank_asked> const> pagerank_ways();

// Calls f(way) for each strategy of an algorithm, in the order of its table; does nothing for an unknown name.
template <class F>
void each_way(std::string const& job, F f) {
  auto const all = [&](auto strategies) {
    for (auto const& w : strategies) f(w);
  };
  if (job == "bfs") all(bfs_ways());
  if (job == "sssp") all(sssp_ways());
  if (job == "components") all(components_ways());
  if (job == "pagerank") all(pagerank_ways());
}

}  // namespace garner::lab
