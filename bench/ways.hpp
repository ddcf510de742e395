// The ways in which each job is measured, one row each: the paper's (chapter 2.5.1: UVM, naive, merged, merged + aligned; all four without
// what Garner adds), the same program fed by copies as its rival Subway is, and Garner's own. To measure another way of a job, add a row to
// its table in ways.cpp: nothing else names them but the figures, which look for `uvm`, `strided`, `merged`, `aligned`, `default` and
// `near` and draw every other row beside the times.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "garner/components.hpp"
#include "garner/pagerank.hpp"
#include "garner/sssp.hpp"
#include "garner/traverse.hpp"

namespace garner::bench {

template <class Options>
struct way {
  char const* name;   // in the file; the same name with other id_bytes is the same way on the wider graph
  char const* label;  // beside a bar: 16 letters at the most
  bool paper;
  access_mode access;
  std::uint32_t id_bytes;
  void (*set)(Options&);  // what it wants besides place, access and tier
  bool near = false;      // the edges lie in device memory: at place device alone, and of the width that the graph was given with
};

std::span<way<bfs_options> const> bfs_ways();
std::span<way<sssp_options> const> sssp_ways();
std::span<way<components_options> const> components_ways();
std::span<way<pagerank_options> const> pagerank_ways();

// f(way) for each way of a job, in the order of its table; of a name that is no job none.
template <class F>
void each_way(std::string const& job, F f) {
  auto const all = [&](auto ways) {
    for (auto const& w : ways) f(w);
  };
  if (job == "bfs") all(bfs_ways());
  if (job == "sssp") all(sssp_ways());
  if (job == "components") all(components_ways());
  if (job == "pagerank") all(pagerank_ways());
}

}  // namespace garner::bench
