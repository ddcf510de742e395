// Traces of trainings, recorded by the sampler and kept in files.
#pragma once
#include <vector>

#include "garner/sample.hpp"
#include "graph/graph.hpp"

namespace garner {

// `train`: internal ids, ascending, none twice. Counts and rows by rank among the user's ids.
trace record(graph const& g, trace_options const& options, std::vector<std::uint64_t> const& train);

}  // namespace garner
