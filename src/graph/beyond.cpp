// first_beyond: scans every edge, in whatever tier the adjacency lies.
#include <algorithm>

#include "core/exec.hpp"
#include "graph/list_windows.hpp"
#include "graph/relation.hpp"

namespace garner {

namespace {

template <class Id>
struct find_beyond {
  csr_view<Id> g;
  std::uint64_t bound;
  std::uint64_t* first;
  static constexpr std::uint64_t block = 4096;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    std::uint64_t const begin = b * block;
    t.each(g.arcs({begin, smaller(g.edges, begin + block)}), [&](Id u, std::uint64_t i) {
      if (u >= bound) atomic_min(first, i);
    });
  }
};

}  // namespace

std::uint64_t first_beyond(graph const& g, std::uint64_t bound, bool of_in_lists) {
  if (bound >= g.info.vertices || g.info.edges == 0) return g.info.edges;
  edge_lists const& lists = of_in_lists ? g.in : g.out;
  memory_block const& lies = g.info.compressed ? lists.packed_targets.words : lists.targets;
  executor x(in_device_memory(lies.where()) ? execution_device{device_kind::cuda, lies.device()} : execution_device{device_kind::cpu, 0});
  buffer<std::uint64_t> first(x.near(), 1, x.device(), "a counter");
  x.copy(first.data(), &g.info.edges, sizeof g.info.edges);
  with_id_type(g.info, [&](auto id) {
    using Id = decltype(id);
    std::uint64_t const blocks = (g.info.edges + find_beyond<Id>::block - 1) / find_beyond<Id>::block;
    find_beyond<Id> const look{g.bare_view<Id>(lists), bound, first.data()};
    if (!g.in_file) return for_each_item<32>(x, blocks, beginning_at<find_beyond<Id>>{look, 0});
    list_windows(x, g).each(
        lists, {true, false, true}, blocks,
        [&](std::uint64_t b) {
          return indices{b * look.block, std::min(g.info.edges, (b + 1) * look.block)};
        },
        [&](list_window const& w) {
          find_beyond<Id> here = look;
          here.g = w.over(here.g);
          for_each_item<32>(x, w.last - w.first, beginning_at<find_beyond<Id>>{here, w.first});
        });
  });
  return x.read(first.data());
}

}  // namespace garner
