// The graphs of a run: generated ones, then files.
#pragma once
#include <string>

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

}  // namespace garner::lab
