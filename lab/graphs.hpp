// What the runs of `garner-lab` share: their graphs, their figures, and settings that may not fit.
#pragma once
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "core/fail.hpp"
#include "garner/features.hpp"
#include "garner/handle.hpp"
#include "graph/generate.hpp"

namespace garner::lab {

// Calls f(name, graph) for each. `o`: where, kinds, scale, edge_factor and files of a run; `how`: in_edges and the tier of the adjacency.
template <class Options, class F>
void each_graph(Options const& o, std::uint64_t seed, open_options how, F const& f) {
  for (generator const kind : o.kinds) {
    generate_options made;
    made.kind = kind, made.scale = o.scale, made.edge_factor = o.edge_factor, made.seed = seed;
    f(std::string(to_string(kind)) + " " + std::to_string(o.scale), to_device(generate_graph(made), o.where, how.edges));
  }
  how.device = o.where, how.weights = false;
  for (auto const& file : o.files) f(file.filename().string(), open_graph(file, how));
}

// Whether a figure is among those of the command line; without any, all are.
inline bool wanted(std::vector<std::string> const& figures, std::string_view figure) {
  return figures.empty() || std::find(figures.begin(), figures.end(), figure) != figures.end();
}
// errc::usage for a figure that there is not. `use`: the names, in a sentence.
template <std::size_t n>
void check_figures(std::vector<std::string> const& figures, char const* const (&names)[n], char const* use, char const* of = "") {
  for (std::string const& name : figures)
    if (std::find(std::begin(names), std::end(names), name) == std::end(names))
      fail(errc::usage, "--figures {}: {}use some of {}", name, of, use);
}

// Puts down in the row why a setting was not measured, if its memory does not suffice.
template <class Row, class F>
void unless_too_large(Row& row, F const& measure) {
  try {
    measure();
  } catch (error const& e) {
    if (e.code() != errc::memory) throw;
    row.skipped = e.what();
  }
}

// A table's options that keep a share of its rows on the device, or interleaved over `peers`.
inline tiered_options keeping(execution_device where, double share, std::uint64_t rows, std::uint64_t row_bytes,
                              std::vector<int> const& peers) {
  tiered_options t;
  t.device = where;
  std::uint64_t const bytes = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(rows))) * row_bytes;
  t.feature_cache = peers.empty() ? bytes : 0;
  if (!peers.empty()) t.peers = peers, t.peer_cache = bytes;
  return t;
}

}  // namespace garner::lab
