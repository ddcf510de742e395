// Finds the order first, as a table from new to old internal ids. Then each list is copied to its new position, renamed and sorted. Ties
// are broken by rank: the position of a vertex among the user's ids.
#include "graph/reorder.hpp"

#include "graph/pack.hpp"
#include "graph/relabel.hpp"
#include "graph/sort_list.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/executor.hpp"
#include "core/fail.hpp"
#include "core/primitives.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/stats.hpp"
#include "core/thread_pool.hpp"
#include "core/words.hpp"

namespace garner {

namespace {

using table = buffer<std::uint32_t>;  // of vertices

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t grain = 1u << 15;

table new_table(std::uint64_t n, char const* what) { return {tier::host, n, -1, what}; }

template <class F>
void each(std::uint64_t n, F f) {
  shared_pool().run(n, grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) f(i);
  });
}

// The vertices by ascending key(rank), ties by rank. The lowest 32 bits of the keys must be zero.
template <class Key>
table sorted_by(executor& x, graph const& g, Key key) {
  std::uint64_t const n = g.info.vertices;
  buffer<std::uint64_t> keys(tier::host, n, -1, "vertices, to sort"), spare(tier::host, n, -1, "vertices, to sort");
  each(n, [&](std::uint64_t r) { keys[r] = key(r) | r; });
  std::span<std::uint64_t> const in_order = sort(x, keys.span(), spare.span());
  table order = new_table(n, "new order");
  each(n, [&](std::uint64_t i) { order[i] = static_cast<std::uint32_t>(g.at_rank(in_order[i] & none)); });
  return order;
}

std::uint64_t degree(graph const& g, std::uint64_t v) { return g.out.offsets[v + 1] - g.out.offsets[v]; }

table by_degree(executor& x, graph const& g) {
  // Degrees beyond 32 bits are clamped to the largest value: such vertices come first, by rank.
  return sorted_by(x, g, [&](std::uint64_t r) { return (none - std::min<std::uint64_t>(degree(g, g.at_rank(r)), none)) << 32; });
}

table at_random(executor& x, graph const& g, std::uint64_t seed) {
  return sorted_by(x, g, [&](std::uint64_t r) { return random_bits(seed, 9, r) & ~std::uint64_t{none}; });
}

table by_score(executor& x, graph const& g, std::span<float const> scores) {
  std::uint64_t const n = g.info.vertices;
  if (scores.size() != n) fail(errc::usage, "{}: {} scores for {} vertices; give each vertex one", g.name, scores.size(), n);
  each(n, [&](std::uint64_t r) {
    if (std::isnan(scores[r])) fail(errc::input, "{}: the score of vertex {} is not a number", g.name, g.user_id(g.at_rank(r)));
  });
  return order_by_score(x, g, scores);
}

table inverse(table const& of) {
  table to = new_table(of.size(), "new ids");
  each(of.size(), [&](std::uint64_t i) { to[of[i]] = static_cast<std::uint32_t>(i); });
  return to;
}

table by_rank(graph const& g) {
  table order = new_table(g.info.vertices, "new order");
  each(g.info.vertices, [&](std::uint64_t r) { order[r] = static_cast<std::uint32_t>(g.at_rank(r)); });
  return order;
}

// The order of a FIFO queue: level by level, and within a level the children of the first vertex come first, by rank. For parallelism each
// discovered vertex keeps its earliest parent, and the next level is sorted by that.
template <class Id>
table by_search(executor& x, graph const& g) {
  std::uint64_t const n = g.info.vertices;
  table const roots = by_degree(x, g), rank = inverse(by_rank(g));
  table order = new_table(n, "new order"), parent = new_table(n, "parents"), met = new_table(n, "met");
  std::vector<std::uint8_t> placed(n, 0);
  buffer<std::uint64_t> keys(tier::host, n, -1, "a level, to sort"), spare(tier::host, n, -1, "a level, to sort");
  each(n, [&](std::uint64_t v) { parent[v] = none; });
  auto const* const targets = static_cast<Id const*>(g.out.targets.data());
  std::uint64_t end = 0;
  auto const place = [&](std::uint64_t v) {
    order[end++] = static_cast<std::uint32_t>(v);
    placed[v] = 1;
  };
  for (std::uint64_t root : roots) {
    if (placed[root]) continue;
    std::uint64_t begin = end;
    place(root);
    if (degree(g, root) == 0) continue;
    while (begin < end) {
      std::atomic<std::uint64_t> count{0};
      shared_pool().run(end - begin, 256, [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t p = begin + first; p < begin + last; ++p)
          for (std::uint64_t i = g.out.offsets[order[p]]; i < g.out.offsets[order[p] + 1]; ++i) {
            auto const u = static_cast<std::uint64_t>(targets[i]);
            if (placed[u]) continue;
            std::atomic_ref<std::uint32_t> at(parent[u]);
            std::uint32_t old = at.load(std::memory_order_relaxed);
            while (p < old && !at.compare_exchange_weak(old, static_cast<std::uint32_t>(p), std::memory_order_relaxed)) {
            }
            if (old == none) met[count.fetch_add(1, std::memory_order_relaxed)] = static_cast<std::uint32_t>(u);
          }
      });
      each(count, [&](std::uint64_t i) { keys[i] = std::uint64_t{parent[met[i]]} << 32 | rank[met[i]]; });
      std::span<std::uint64_t> const level = sort(x, keys.span().first(count), spare.span().first(count));
      each(count, [&](std::uint64_t i) {
        std::uint64_t const v = g.at_rank(level[i] & none);
        order[end + i] = static_cast<std::uint32_t>(v);
        placed[v] = 1;
      });
      begin = end;
      end += count;
    }
  }
  return order;
}

// Moves, renames and sorts the lists of one direction. Work is divided by edges, since in most orders a few vertices own most of them.
template <class Id>
edge_lists relabel(executor& x, graph_info const& info, edge_lists const& old, table const& order, table const& renamed, progress& bar) {
  std::uint64_t const n = info.vertices, m = info.edges;
  edge_lists lists;
  lists.offsets = buffer<std::uint64_t>(tier::host, n + 1, -1, "offsets");
  {
    buffer<std::uint64_t> degrees(tier::host, n, -1, "degrees");
    each(n, [&](std::uint64_t v) { degrees[v] = old.offsets[order[v] + 1] - old.offsets[order[v]]; });
    scan(x, degrees.data(), lists.offsets.data(), n);
  }
  lists.targets = memory_block(tier::host, m * sizeof(Id), -1, "edge list");
  bool const weighted = old.weights.bytes() != 0;
  if (weighted) lists.weights = memory_block(tier::host, m * 4, -1, "weights");
  std::uint64_t const* const offsets = lists.offsets.data();
  auto const* const old_targets = static_cast<Id const*>(old.targets.data());
  auto const* const old_weights = static_cast<std::uint32_t const*>(old.weights.data());
  auto* const targets = static_cast<Id*>(lists.targets.data());
  auto* const weights = static_cast<std::uint32_t*>(lists.weights.data());
  auto const pack = [&](std::uint64_t from) {  // the weight is stored below its target
    return std::uint64_t{renamed[old_targets[from]]} << 32 | (weighted ? old_weights[from] : 0);
  };
  auto const unpack = [&](std::uint64_t to, std::uint64_t key) {
    targets[to] = static_cast<Id>(key >> 32);
    if (weighted) weights[to] = static_cast<std::uint32_t>(key);
  };

  int const id_bits = static_cast<int>(std::bit_width(n));
  constexpr std::uint64_t step = 1u << 16;
  shared_pool().run(m / step + 1, 1, [&](std::uint64_t chunk, std::uint64_t) {
    std::vector<std::uint64_t> keys, spare;
    std::vector<Id> spare_targets;
    auto const from = static_cast<std::uint64_t>(std::lower_bound(offsets, offsets + n, chunk * step) - offsets);
    auto const to = static_cast<std::uint64_t>(std::lower_bound(offsets, offsets + n, (chunk + 1) * step) - offsets);
    for (std::uint64_t v = from; v < to; ++v) {
      std::uint64_t const first = offsets[v], count = offsets[v + 1] - first, was = old.offsets[order[v]];
      if (count > longest_alone) continue;
      if (weighted) {
        keys.resize(count);
        for (std::uint64_t i = 0; i < count; ++i) keys[i] = pack(was + i);
        sort_list(keys.data(), count, spare, 32, 32 + id_bits);
        for (std::uint64_t i = 0; i < count; ++i) unpack(first + i, keys[i]);
      } else {
        for (std::uint64_t i = 0; i < count; ++i) targets[first + i] = static_cast<Id>(renamed[old_targets[was + i]]);
        sort_list(targets + first, count, spare_targets, 0, id_bits);
      }
      bar.advance(count);
    }
  });
  for (std::uint64_t v = 0; v < n; ++v) {
    std::uint64_t const first = offsets[v], count = offsets[v + 1] - first, was = old.offsets[order[v]];
    if (count <= longest_alone) continue;
    buffer<std::uint64_t> keys(tier::host, count, -1, "a long list, to sort"), spare(tier::host, count, -1, "a long list, to sort");
    each(count, [&](std::uint64_t i) { keys[i] = pack(was + i); });
    std::span<std::uint64_t> const in_order = sort(x, keys.span(), spare.span());
    each(count, [&](std::uint64_t i) { unpack(first + i, in_order[i]); });
    bar.advance(count);
  }
  return lists;
}

table find_order(executor& x, graph const& g, reorder_options const& options) {
  phase const timed{"graph.reorder.order"};
  switch (options.by) {
    case vertex_order::degree:
      return by_degree(x, g);
    case vertex_order::bfs:
      return with_id_type(g.info, [&](auto id) { return by_search<decltype(id)>(x, g); });
    case vertex_order::random:
      return at_random(x, g, options.seed);
    case vertex_order::score:
      return by_score(x, g, options.scores);
    case vertex_order::natural:
      break;
  }
  return by_rank(g);
}

// The user's ids of the graph in its new order, before its adjacency is reordered.
void carry_ids(graph& g, table const& order, table const& renamed, vertex_order by) {
  std::uint64_t const n = g.info.vertices;
  if (by == vertex_order::natural) {
    std::uint64_t const first = n ? g.user_id(order[0]) : 0;
    bool const whole = n == 0 || g.user_id(order[n - 1]) - first == n - 1;
    buffer<std::uint64_t> ids(tier::host, whole ? 0 : n, -1, "ids");
    if (!whole) each(n, [&](std::uint64_t v) { ids[v] = g.user_id(order[v]); });
    g.by_id = {};
    g.ids = std::move(ids);
    g.info.id_map = !whole;
    g.info.id_base = whole ? first : 0;
  } else {
    buffer<std::uint64_t> ids(tier::host, n, -1, "ids");
    memory_block by_id(tier::host, n * g.info.id_bytes, -1, "ids");
    each(n, [&](std::uint64_t v) { ids[v] = g.user_id(order[v]); });
    with_id_type(g.info, [&](auto id) {
      auto* const to = static_cast<decltype(id)*>(by_id.data());
      each(n, [&](std::uint64_t r) { to[r] = renamed[g.at_rank(r)]; });
    });
    g.ids = std::move(ids);
    g.by_id = std::move(by_id);
    g.info.id_map = true;
    g.info.id_base = 0;
  }
  g.info.order = by;
}

// The lists are built in local memory and stay there; the host converts the ids.
graph reorder_near(graph g, reorder_options const& options, execution_device where) {
  if (options.by == vertex_order::bfs) fail(errc::usage, "order bfs is computed on the CPU; use device cpu");
  memory_block const& far = g.out.packed_targets.empty() ? g.out.targets : g.out.packed_targets.words;
  bool const on_device = where.kind == device_kind::cuda;
  if (far.bytes() && (on_device ? far.device() != where.index : in_device_memory(far.where())))
    fail(errc::usage, "{}: its edges are not readable on {}; open the graph for that device, or to_device() it there", g.name,
         to_string(where));
  g.cached_neighbors = {};
  g.cached_per_vertex = 0;
  executor x(where), home({device_kind::cpu, 0});
  table const order = find_order(options.by == vertex_order::score ? x : home, g, options), renamed = inverse(order);
  auto const near = [&](table const& from) {
    table to(x.near(), from.size(), x.device(), "new order");
    if (from.size()) x.copy(to.data(), from.data(), from.bytes());
    x.wait();
    return to;
  };
  table const near_order = near(order), near_renamed = near(renamed);
  g.out = relabel_near(x, g, g.out, near_order, near_renamed);
  if (g.info.in_edges) g.in = relabel_near(x, g, g.in, near_order, near_renamed);
  g.info.compressed = false;
  carry_ids(g, order, renamed, options.by);
  return g;
}

}  // namespace

graph reorder(graph g, reorder_options const& options, execution_device where) {
  phase const timed{"graph.reorder"};
  std::uint64_t const n = g.info.vertices;
  if (n > none) fail(errc::input, "{}: {} vertices are more than the 2^32 - 1 that can be reordered", g.name, n);
  if (options.by == vertex_order::natural && g.info.order == vertex_order::natural) return g;
  if (where.kind != device_kind::cpu) return reorder_near(std::move(g), options, where);
  if (in_device_memory(g.out.targets.where()) || in_device_memory(g.out.packed_targets.words.where()))
    fail(errc::usage, "{}: its edges lie on a device; load the graph into host memory to reorder it", g.name);
  unpack(g);
  g.cached_neighbors = {};
  g.cached_per_vertex = 0;
  executor x({device_kind::cpu, 0});
  table const order = find_order(x, g, options), renamed = inverse(order);
  carry_ids(g, order, renamed, options.by);
  progress bar("reordering", g.info.edges * (g.info.in_edges ? 2 : 1));
  with_id_type(g.info, [&](auto id) {
    g.out = relabel<decltype(id)>(x, g.info, g.out, order, renamed, bar);
    if (g.info.in_edges) g.in = relabel<decltype(id)>(x, g.info, g.in, order, renamed, bar);
  });
  return g;
}

std::uint64_t reorder_bytes(graph_info const& info) {
  std::uint64_t const lists = (info.vertices + 1) * 8 + info.edges * (info.id_bytes + (info.weights == weight_kind::none ? 0 : 4));
  // First the sort that finds the order. Then a second copy of one direction's lists, two tables, degrees, and the threads' sort buffers.
  std::uint64_t const ids = info.vertices * (2 * 8 + 2 * info.id_bytes), finding = info.vertices * 40;
  std::uint64_t const moving = lists + info.vertices * 16 + std::min<std::uint64_t>(info.edges * 16, 64u << 20);
  return lists * (info.in_edges ? 2 : 1) + ids + std::max(finding, moving);
}

constexpr word_table<vertex_order> vertex_orders{"order '{text}': use degree, bfs, random, score or natural",
                                                 {"natural", "degree", "bfs", "random", "score"}};
std::string_view to_string(vertex_order value) { return vertex_orders[value]; }
vertex_order parse_order(std::string_view text) { return vertex_orders.parse(text); }

}  // namespace garner
