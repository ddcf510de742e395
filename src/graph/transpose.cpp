#include "graph/transpose.hpp"

#include <atomic>
#include <bit>

#include "core/executor.hpp"
#include "core/fail.hpp"
#include "core/primitives.hpp"
#include "core/progress.hpp"
#include "core/stats.hpp"
#include "core/thread_pool.hpp"
#include "graph/pack.hpp"
#include "graph/sort_lists.hpp"

namespace garner {

namespace {

template <class Id>
edge_lists transposed(executor& x, graph_info const& info, edge_lists const& from) {
  std::uint64_t const n = info.vertices, m = info.edges;
  bool const weighted = from.weights.bytes() != 0;
  auto const* const targets = static_cast<Id const*>(from.targets.data());
  auto const* const weights = static_cast<std::uint32_t const*>(from.weights.data());
  edge_lists to;
  to.offsets = buffer<std::uint64_t>(tier::host, n + 1, -1, "offsets of in-edges");
  to.targets = memory_block(tier::host, m * sizeof(Id), -1, "in-edges");
  if (weighted) to.weights = memory_block(tier::host, m * 4, -1, "weights of in-edges");
  auto* const sources = static_cast<Id*>(to.targets.data());
  auto* const to_weights = static_cast<std::uint32_t*>(to.weights.data());
  buffer<std::uint64_t> next(tier::host, n, -1, "next entries of in-edges");
  shared_pool().run(n, 1u << 16, [&](std::uint64_t v, std::uint64_t last) {
    for (; v < last; ++v) next[v] = 0;
  });
  auto const at = [&](std::uint64_t v) { return std::atomic_ref(next[v]); };
  shared_pool().run(m, 1u << 16, [&](std::uint64_t i, std::uint64_t last) {
    for (; i < last; ++i) at(targets[i]).fetch_add(1, std::memory_order_relaxed);
  });
  scan(x, next.data(), to.offsets.data(), n);
  shared_pool().run(n, 1u << 16, [&](std::uint64_t v, std::uint64_t last) {
    for (; v < last; ++v) next[v] = to.offsets[v];
  });
  each_part(from.offsets.data(), n, [&](std::uint64_t u, std::uint64_t last) {
    for (; u < last; ++u)
      for (std::uint64_t i = from.offsets[u]; i < from.offsets[u + 1]; ++i) {
        std::uint64_t const k = at(targets[i]).fetch_add(1, std::memory_order_relaxed);
        sources[k] = static_cast<Id>(u);
        if (weighted) to_weights[k] = weights[i];
      }
  });
  sort_lists(x, to.offsets.data(), n, static_cast<int>(std::bit_width(n)), sources, to_weights);  // threads filled them in arbitrary order
  return to;
}

}  // namespace

void add_in_lists(graph& g) {
  if (!g.info.directed || g.info.in_edges) return;
  phase const timed{"graph.in_lists"};
  if (in_device_memory(g.out.targets.where()) || in_device_memory(g.out.packed_targets.words.where()))
    fail(errc::usage, "{}: its edges are on a device; in-edges are built from host memory", g.name);
  if (g.info.vertices > 0xffffffffull) fail(errc::input, "{}: {} vertices; in-edges require fewer than 2^32", g.name, g.info.vertices);
  executor x({device_kind::cpu, 0});
  bool const packed = g.info.compressed;
  unpack(g);
  g.in = with_id_type(g.info, [&](auto id) { return transposed<decltype(id)>(x, g.info, g.out); });
  g.info.in_edges = true;
  if (packed) pack(g);
}

void require_out_edges(std::string const& name, graph_info const& info) {
  if (info.reversed)
    fail(errc::input, "{}: its adjacency is reversed, as edge types of a dataset need it; open its graph file as a graph of its own", name);
}

std::uint64_t bytes_to_transpose(graph_info const& info) {
  std::uint64_t const plain = info.edges * (info.id_bytes + (info.weights == weight_kind::none ? 0 : 4));
  return info.vertices * 8 + (info.compressed ? 2 * plain : 0);
}

}  // namespace garner
