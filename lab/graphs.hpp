// What the runs of `garner-lab` share: their graphs, their figures, and settings that may not fit.
#pragma once
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fail.hpp"
#include "garner/features.hpp"
#include "garner/handle.hpp"
#include "garner/sample.hpp"
#include "graph/generate.hpp"

namespace garner::lab {

struct measured_graphs {
  execution_device where;
  std::vector<generator> kinds{generator::kron};
  std::vector<std::filesystem::path> files;  // graph files, measured besides or instead of the kinds
  int scale = 20;
  std::uint64_t edge_factor = 16;
  std::string command;  // for the file
};
struct measured_training {
  std::vector<std::int64_t> fanouts{15, 10, 5};
  std::uint64_t batch = 1024, seed = 1;
  std::vector<std::string> figures;                                        // empty: all
  std::string share;                                                       // as specified; for the file
  std::function<std::vector<std::int64_t>(graph_handle const&)> training;  // positions
};

// Calls f(name, graph) for each. `how`: in_edges and the tier of the adjacency.
template <class F>
void each_graph(measured_graphs const& o, std::uint64_t seed, open_options how, F const& f) {
  for (generator const kind : o.kinds) {
    generate_options made;
    made.kind = kind, made.scale = o.scale, made.edge_factor = o.edge_factor, made.seed = seed;
    f(std::string(to_string(kind)) + " " + std::to_string(o.scale), to_device(generate_graph(made), o.where, how.edges));
  }
  how.device = o.where, how.weights = false;
  for (auto const& file : o.files) f(file.filename().string(), open_graph(file, how));
}

// The scores of a graph's rows for a training on `train`, by position.
inline std::vector<float> scores_of(graph_handle const& g, std::vector<std::int64_t> const& train, execution_device where,
                                    measured_training const& o, score_kind by, hop_rule rule = hop_rule::last) {
  score_options s;
  s.device = where, s.by = by;
  s.sampling.fanouts.assign(o.fanouts.begin(), o.fanouts.end());
  s.sampling.rule = rule, s.sampling.batch = o.batch, s.sampling.seed = o.seed;
  std::vector<std::uint64_t> const ids = g.ids();
  for (std::int64_t const k : train) s.train.push_back(ids[static_cast<std::size_t>(k)]);
  return scores(g, s).score;
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
