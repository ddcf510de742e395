// Scores of vertices: how often a training will read their rows (chapter 4.2 of the dissertation; `expected` is ours).
#pragma once
#include <vector>

#include "garner/sample.hpp"
#include "graph/graph.hpp"

namespace garner {

// Scores by internal id. `train`: internal ids, ascending, none twice.
score_result score_vertices(graph const& g, score_options const& options, std::vector<std::uint64_t> const& train);

// Near memory, at the most; `train`: training vertices, or more.
std::uint64_t score_bytes(graph_info const& info, score_options const& options, std::uint64_t train);

void check_sampling(sample_options const& options);  // errc::usage
// What can be refused before a graph is loaded: options out of range, a directed graph without the lists that are sampled.
void require_scorable(std::string const& name, graph_info const& info, score_options const& options);
// The training set inside: internal ids, ascending, each once; errc::input where one does not exist or there is none.
std::vector<std::uint64_t> training_ids(graph const& g, vertex_set const& users);
// The lists that say who is pulled; errc::input where a directed graph has none.
edge_lists const& pulled_lists(graph const& g);
void require_pulled_lists(std::string const& name, graph_info const& info);

}  // namespace garner
