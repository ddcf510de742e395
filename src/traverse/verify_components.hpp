// The certificate of connected components, checked in parallel on the labels' device, with remote reads for remote edges.
#pragma once
#include "core/access.hpp"
#include "core/executor.hpp"
#include "graph/graph.hpp"

namespace garner {

class list_windows;

// Throws errc::internal that names the first vertex that violates the certificate, as a user id, or the counts that differ. The certificate
// holds iff the labels are right. Each label is a vertex that has its own label and is at most as large as the vertices with it; both ends
// of every edge have the same label (so components are not split); and there are as many labels as an independent union-find over the edges
// has roots (so components are not merged). `components` and `largest` are compared with the labels. Cost: one read of all edges, one id
// per vertex of local memory.
template <class Id>
void verify_components(executor& x, csr_view<Id> view, Id const* label, std::uint64_t components, std::uint64_t largest, graph const& g,
                       access_mode how, list_windows* windows = nullptr);

extern template void verify_components(executor&, csr_view<std::uint32_t>, std::uint32_t const*, std::uint64_t, std::uint64_t, graph const&,
                                       access_mode, list_windows*);
extern template void verify_components(executor&, csr_view<std::uint64_t>, std::uint64_t const*, std::uint64_t, std::uint64_t, graph const&,
                                       access_mode, list_windows*);

}  // namespace garner
