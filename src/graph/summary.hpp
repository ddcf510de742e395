// The shape of a graph from its offsets.
#pragma once
#include "garner/convert.hpp"

namespace garner {

// `in_offsets` may be null. Time O(V), on the shared pool.
graph_summary summarize(graph_info const& info, std::uint64_t const* offsets, std::uint64_t const* in_offsets = nullptr);

}  // namespace garner
