#include "graph/relation.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "core/stats.hpp"
#include "graph/sort_lists.hpp"

namespace garner {

namespace {

// f(number of the first, edges) for all edges, by all threads.
template <class F>
void each_edge(edge_source const& edges, F const& f) {
  progress bar("reading edges", edges.count());
  shared_pool().run(edges.count(), 1u << 16, [&](std::uint64_t first, std::uint64_t last) {
    thread_local std::vector<arc> part;
    part.resize(last - first);
    edges.read(first, last - first, part.data());
    for (std::uint64_t i = first; i < last; ++i) f(part[i - first], i);
    bar.advance(last - first);
  });
}

void keep_least(std::atomic<std::uint64_t>& least, std::uint64_t value) {
  for (std::uint64_t now = least.load(std::memory_order_relaxed); value < now;)
    if (least.compare_exchange_weak(now, value, std::memory_order_relaxed)) break;
}
void keep_most(std::atomic<std::uint64_t>& most, std::uint64_t value) {
  for (std::uint64_t now = most.load(std::memory_order_relaxed); value > now;)
    if (most.compare_exchange_weak(now, value, std::memory_order_relaxed)) break;
}

[[noreturn]] void refuse_edge(edge_source const& edges, relation_sizes const& of, std::uint64_t number) {
  arc bad{};
  edges.read(number, 1, &bad);
  edges.check(bad, number);
  bool const source = bad.source >= of.sources;
  std::uint64_t const count = source ? of.sources : of.targets;
  fail(errc::input, "{}: edge {}: {} -> {}: there is no {} {}; {}", edges.name(), number, bad.source, bad.target,
       source ? of.source_name : of.target_name, source ? bad.source : bad.target,
       count ? fmt::format("of {} they go from 0 to {}", count, count - 1) : "there are none");
}

template <class Id>
relation make(edge_source const& edges, relation_sizes const& of, direction way) {
  std::uint64_t const n = std::max(of.sources, of.targets);
  auto const zero = [&](buffer<std::uint64_t> const& b) {
    shared_pool().run(b.size(), 1u << 16, [&](std::uint64_t v, std::uint64_t last) { std::fill(b.data() + v, b.data() + last, 0); });
  };
  // f(whose list, which neighbour) for each arc of an edge.
  auto const arcs_of = [way](arc const& e, auto const& f) {
    if (way != direction::reversed) f(e.target, e.source);
    if (way == direction::reversed || (way == direction::both && e.source != e.target)) f(e.source, e.target);
  };
  executor x({place_kind::host, 0});
  relation made;
  graph& g = made.lists;
  g.out.offsets = buffer<std::uint64_t>(tier::host, n + 1, -1, "offsets");
  buffer<std::uint64_t> next(tier::host, n, -1, "where lists go on");
  zero(next);
  std::atomic<std::uint64_t> first_bad{edges.count()};
  each_edge(edges, [&](arc const& e, std::uint64_t i) {
    if (e.source >= of.sources || e.target >= of.targets) return keep_least(first_bad, i);
    arcs_of(e, [&](std::uint64_t v, std::uint64_t) { std::atomic_ref(next[v]).fetch_add(1, std::memory_order_relaxed); });
  });
  if (first_bad != edges.count()) refuse_edge(edges, of, first_bad);
  scan(x, next.data(), g.out.offsets.data(), n);
  std::uint64_t const arcs = g.out.offsets[n];
  shared_pool().run(n, 1u << 16, [&](std::uint64_t v, std::uint64_t last) {
    std::copy(g.out.offsets.data() + v, g.out.offsets.data() + last, next.data() + v);
  });
  g.out.targets = memory_block(tier::host, arcs * sizeof(Id), -1, "edge list");
  made.edge_ids = buffer<std::uint32_t>(tier::host, arcs, -1, "edge ids");
  auto* const ids = static_cast<Id*>(g.out.targets.data());
  each_edge(edges, [&](arc const& e, std::uint64_t i) {
    if (e.source >= of.sources || e.target >= of.targets) refuse_edge(edges, of, i);  // it changed meanwhile
    arcs_of(e, [&](std::uint64_t v, std::uint64_t u) {
      std::uint64_t const k = std::atomic_ref(next[v]).fetch_add(1, std::memory_order_relaxed);
      if (k >= g.out.offsets[v + 1]) fail(errc::input, "{}: changed while it was read; convert it again", edges.name());
      ids[k] = static_cast<Id>(u);
      made.edge_ids[k] = static_cast<std::uint32_t>(i);
    });
  });
  next = {};
  sort_lists(x, g.out.offsets.data(), n, static_cast<int>(std::bit_width(n)), ids, made.edge_ids.data());
  g.info.vertices = n;
  g.info.edges = arcs;
  g.info.id_bytes = sizeof(Id);
  g.info.directed = true;
  g.name = edges.name();
  std::atomic<bool> moved{arcs != edges.count()};
  shared_pool().run(arcs, 1u << 16, [&](std::uint64_t k, std::uint64_t last) {
    for (; k < last && !moved.load(std::memory_order_relaxed); ++k)
      if (made.edge_ids[k] != k) moved = true;
  });
  if (!moved) made.edge_ids = {};
  return made;
}

}  // namespace

relation make_relation(edge_source const& edges, relation_sizes const& of, direction way, std::uint32_t id_bytes) {
  phase const timed{"graph.relation"};
  if (std::max(of.sources, of.targets) >= 0xffffffffull)
    fail(errc::input, "{}: {} {} and {} {}: more than the 2^32 - 2 that can be built", edges.name(), of.sources, of.source_name, of.targets,
         of.target_name);
  if (edges.count() >> 32)
    fail(errc::input, "{}: {} edges are more than the 2^32 of an edge type; give them as two relations", edges.name(), edges.count());
  if (id_bytes != 0 && id_bytes != 4 && id_bytes != 8) fail(errc::usage, "id bytes {}: say 4 or 8", id_bytes);
  return id_bytes == 8 ? make<std::uint64_t>(edges, of, way) : make<std::uint32_t>(edges, of, way);
}

std::pair<std::uint64_t, std::uint64_t> largest_ends(edge_source const& edges) {
  std::atomic<std::uint64_t> source{0}, target{0}, first_bad{edges.count()};
  each_edge(edges, [&](arc const& e, std::uint64_t i) {
    if (std::max(e.source, e.target) >> 63) return keep_least(first_bad, i);
    keep_most(source, e.source + 1), keep_most(target, e.target + 1);
  });
  if (first_bad != edges.count()) refuse_edge(edges, {"vertex", "vertex", std::uint64_t{1} << 63, std::uint64_t{1} << 63}, first_bad);
  return {source, target};
}

}  // namespace garner
