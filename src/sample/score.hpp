// Scores of vertices: how often a training will read their rows (chapter 4.2 of the dissertation; `expected` is ours).
#pragma once
#include <vector>

#include "garner/sample.hpp"
#include "graph/graph.hpp"

namespace garner {

// Scores by internal id. `train`: internal ids, ascending, none twice.
score_result score_vertices(graph const& g, score_options const& options, std::vector<std::uint64_t> const& train);

// Maximum device memory; `train`: training vertices, or more.
std::uint64_t score_bytes(graph_info const& info, score_options const& options, std::uint64_t train);

void check_sampling(sample_options const& options);  // errc::usage
// What can be refused before a graph is loaded: options out of range, a directed graph without the lists that are sampled.
void require_scorable(std::string const& name, graph_info const& info, score_options const& options);
// The training set as internal ids, ascending and distinct; errc::input where one does not exist or the set is empty.
std::vector<std::uint64_t> training_ids(graph const& g, vertex_set const& users);
// The adjacency to pull from; errc::input where a directed graph lacks it.
edge_lists const& pulled_lists(graph const& g);
void require_pulled_lists(std::string const& name, graph_info const& info);

}  // namespace garner
