// The certificate of connected components, checked in parallel at the place that made the labels, with far reads where the edges are far.
#pragma once
#include "core/executor.hpp"
#include "graph/graph.hpp"

namespace garner {

class list_windows;

// Throws errc::internal that names the first vertex where the certificate fails, in the user's ids, or the counts that differ.
// It holds iff the labels are right: each label is a vertex that bears its own label and is not larger than the ids that bear it; both
// ends of every arc bear the same label (so no component is in parts); and there are as many labels as a union-find over the arcs, which
// shares nothing with the job, leaves roots (so no two components are one). `components` and `largest` are compared with the labels.
// Cost: one read of all arcs, one id a vertex of near memory.
template <class Id>
void verify_components(executor& x, csr_view<Id> view, Id const* label, std::uint64_t components, std::uint64_t largest, graph const& g,
                       access_mode how, list_windows* windows = nullptr);

extern template void verify_components(executor&, csr_view<std::uint32_t>, std::uint32_t const*, std::uint64_t, std::uint64_t, graph const&,
                                       access_mode, list_windows*);
extern template void verify_components(executor&, csr_view<std::uint64_t>, std::uint64_t const*, std::uint64_t, std::uint64_t, graph const&,
                                       access_mode, list_windows*);

}  // namespace garner
