// Traces of trainings, recorded by the sampler and kept in files.
#pragma once
#include <functional>
#include <vector>

#include "garner/sample.hpp"
#include "graph/graph.hpp"
#include "sample/neighbor.hpp"

namespace garner {

// What can be refused before a graph is loaded.
void require_recordable(std::string const& name, graph_info const& info, trace_options const& options);
// `train`: internal ids, ascending, none twice. Counts and rows by rank among the user's ids.
access_trace record(graph const& g, trace_options const& options, std::vector<std::uint64_t> const& train);

// Samples the mini-batches of so many epochs; calls `each` with the number of rows that the sampler now holds.
void sample_epochs(neighbor_sampler& sampler, sample_options const& options, std::vector<std::uint64_t> const& train, std::uint64_t epochs,
                   std::function<void(std::uint64_t rows)> const& each);

}  // namespace garner
