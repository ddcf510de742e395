// Public API: the adjacency of edges in memory, built as one relation.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/thread_pool.hpp"
#include "graph/handle.hpp"
#include "graph/record_sorter.hpp"
#include "graph/relation.hpp"

namespace garner {

namespace {

class edges_in_memory : public edge_source {
 public:
  edges_in_memory(edge_ends const& sources, edge_ends const& targets, adjacency_options const& options)
      : sources_(sources), targets_(targets), options_(options) {}
  std::string const& name() const override { return options_.name; }
  std::uint64_t count() const override { return sources_.count; }
  void read(std::uint64_t first, std::uint64_t n, arc* to) const override {
    read_ends(sources_, first, n, [to](std::uint64_t i, std::uint64_t id) { to[i].source = id; });
    read_ends(targets_, first, n, [to](std::uint64_t i, std::uint64_t id) { to[i].target = id; });
  }
  void check(arc const& edge, std::uint64_t number) const override {
    bool const source = edge.source >= options_.sources;
    fail_id("{}: {} {} of edge {} does not exist; there are {} vertices of its type", name(), source ? "source" : "target",
            static_cast<std::int64_t>(source ? edge.source : edge.target), number, source ? options_.sources : options_.targets);
  }

 private:
  template <class F>
  static void read_ends(edge_ends const& from, std::uint64_t first, std::uint64_t n, F const& f) {
    auto const read = [&](auto const* data) {
      data += static_cast<std::int64_t>(first) * from.stride;
      for (std::uint64_t i = 0; i < n; ++i)
        f(i, static_cast<std::uint64_t>(std::int64_t{data[static_cast<std::int64_t>(i) * from.stride]}));
    };
    if (from.bytes == 8) read(static_cast<std::int64_t const*>(from.data));
    else read(static_cast<std::int32_t const*>(from.data));
  }

  edge_ends sources_, targets_;
  adjacency_options const& options_;
};

// Sorts on a device, in batches that fit its memory. The key is the list, then the time. Returns false and changes nothing if memory is
// short, a key needs more than 64 bits, or a list exceeds a batch. Otherwise `moved` says whether any entry changed position.
template <class Id, class Edge>
bool order_by_time_on_device(relation& made, buffer<Edge>& edges, adjacency_options const& options, bool& moved) {
  std::uint64_t const n = made.lists.info.vertices, m = made.lists.info.edges;
  std::uint64_t const* const offsets = made.lists.out.offsets.data();
  std::unique_ptr<record_sorter> const device = record_sorter::at(options.device, m, true);
  if (!device) return false;
  std::mutex mutex;
  std::int64_t soonest = options.times[0], latest = soonest;
  std::uint64_t longest = 0;
  shared_pool().run(options.times.size(), 1u << 20, [&](std::uint64_t i, std::uint64_t end) {
    auto const [least, most] =
        std::minmax_element(options.times.begin() + static_cast<std::int64_t>(i), options.times.begin() + static_cast<std::int64_t>(end));
    std::lock_guard const lock(mutex);
    soonest = std::min(soonest, *least), latest = std::max(latest, *most);
  });
  shared_pool().run(n, 1u << 20, [&](std::uint64_t v, std::uint64_t end) {
    std::uint64_t most = 0;
    for (; v < end; ++v) most = std::max(most, offsets[v + 1] - offsets[v]);
    std::lock_guard const lock(mutex);
    longest = std::max(longest, most);
  });
  auto const since = [soonest](std::int64_t time) { return static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(soonest); };
  int const time_bits = static_cast<int>(std::bit_width(since(latest)));
  if (time_bits > 62 || longest > device->room()) return false;
  std::uint64_t const lists = std::uint64_t{1} << std::min(63 - time_bits, 32);  // lists whose numbers fit above the time bits
  auto const* const targets = static_cast<Id const*>(made.lists.out.targets.data());
  auto const edge = [&](std::uint64_t e) { return edges.empty() ? static_cast<Edge>(e) : edges[e]; };
  if (lists < n && m / n * lists < device->part()) return false;  // too few entries at a time
  memory_block in_order;
  buffer<Edge> edges_in_order;
  try {
    in_order = memory_block(tier::host, made.lists.out.targets.bytes(), -1, "edge list");
    edges_in_order = buffer<Edge>(tier::host, m, -1, "edges of the lists");
  } catch (error const& e) {
    if (e.code() != errc::memory) throw;
    return false;  // the host sorts in place
  }
  std::atomic<bool> any{false};
  for (std::uint64_t first = 0, last = 0; first < n; first = last) {
    std::uint64_t const base = offsets[first];
    last = static_cast<std::uint64_t>(std::upper_bound(offsets + first, offsets + n + 1, base + device->room()) - offsets) - 1;
    last = std::min(last, first + lists);
    std::uint64_t const entries = offsets[last] - base;
    device->sort(
        entries, time_bits + static_cast<int>(std::bit_width(last - first)),
        [&](std::uint64_t begin, std::uint64_t* keys, std::uint32_t* which) {
          std::uint64_t const count = std::min(device->part(), entries - begin);
          shared_pool().run(count, 1u << 14, [&](std::uint64_t i, std::uint64_t end) {
            std::uint64_t v = static_cast<std::uint64_t>(std::upper_bound(offsets, offsets + n + 1, base + begin + i) - offsets) - 1;
            for (; i < end; ++i) {
              std::uint64_t const e = base + begin + i;
              while (offsets[v + 1] <= e) ++v;
              keys[i] = (v - first) << time_bits | since(options.times[options.times_of_edges ? edge(e) : targets[e]]);
              which[i] = static_cast<std::uint32_t>(begin + i);
            }
          });
          return count;
        },
        [&](std::uint64_t begin, std::uint64_t count, std::uint64_t const*, std::uint32_t const* which) {
          shared_pool().run(count, 1u << 14, [&](std::uint64_t i, std::uint64_t end) {
            bool other = false;
            for (; i < end; ++i) {
              std::uint64_t const e = base + begin + i, from = base + which[i];
              other |= from != e;
              static_cast<Id*>(in_order.data())[e] = targets[from], edges_in_order[e] = edge(from);
            }
            if (other) any = true;
          });
        });
  }
  if ((moved = any)) made.lists.out.targets = std::move(in_order), edges = std::move(edges_in_order);
  return true;
}

// Sorts on the host, one list per thread. Returns whether any entry moved.
template <class Id, class Edge>
bool order_by_time_on_host(relation& made, buffer<Edge>& edges, adjacency_options const& options) {
  graph const& g = made.lists;
  auto* const targets = static_cast<Id*>(made.lists.out.targets.data());
  if (edges.empty()) {
    edges = {tier::host, g.info.edges, -1, "edges of the lists"};
    shared_pool().run(edges.size(), 1u << 16, [&](std::uint64_t i, std::uint64_t last) {
      for (; i < last; ++i) edges[i] = static_cast<Edge>(i);
    });
  }
  std::atomic<bool> moved{false};
  shared_pool().run(g.info.vertices, 64, [&](std::uint64_t v, std::uint64_t last) {
    struct entry {
      std::int64_t time;
      Id target;
      Edge edge;
    };
    std::vector<entry> list;
    auto const sooner = [](entry const& a, entry const& b) { return a.time < b.time; };
    for (; v < last; ++v) {
      std::uint64_t const begin = g.out.offsets[v], end = g.out.offsets[v + 1];
      list.clear();
      for (std::uint64_t e = begin; e < end; ++e)
        list.push_back({options.times[options.times_of_edges ? edges[e] : targets[e]], targets[e], edges[e]});
      if (std::is_sorted(list.begin(), list.end(), sooner)) continue;
      std::stable_sort(list.begin(), list.end(), sooner);
      for (std::uint64_t e = begin; e < end; ++e) targets[e] = list[e - begin].target, edges[e] = list[e - begin].edge;
      moved = true;
    }
  });
  return moved;
}

// Sorts each list by time.
template <class Id, class Edge>
void order_by_time(relation& made, buffer<Edge>& edges, adjacency_options const& options) {
  bool moved = false;
  if (!order_by_time_on_device<Id>(made, edges, options, moved)) moved = order_by_time_on_host<Id>(made, edges, options);
  made.in_order = made.in_order && !moved;
  if (made.in_order) edges = {};
}

}  // namespace

adjacency make_adjacency(edge_ends const& sources, edge_ends const& targets, adjacency_options const& options) {
  return as_error([&] {
    std::uint64_t const m = sources.count;
    for (edge_ends const* ends : {&sources, &targets})
      if (ends->bytes != 4 && ends->bytes != 8) fail(errc::usage, "{}: numbers of {} bytes; give 4 or 8", options.name, ends->bytes);
    if (targets.count != m) fail(errc::usage, "{}: {} sources for {} targets; give each edge both", options.name, m, targets.count);
    if (!options.weights.empty()) {
      if (options.weights.size() != m)
        fail(errc::usage, "{}: {} weights for {} edges; give each edge one", options.name, options.weights.size(), m);
      shared_pool().run(m, 1u << 16, [&](std::uint64_t i, std::uint64_t last) {
        for (; i < last; ++i)
          if (float const w = options.weights[i]; !(w >= 0) || !std::isfinite(w))
            fail(errc::input, "{}: the weight of edge {} is {}; weights are 0 or more, and finite", options.name, i, w);
      });
    }
    edges_in_memory const edges(sources, targets, options);
    relation_sizes of{"source", "target", options.sources, options.targets};
    if (m == 0 && std::max(of.sources, of.targets) == 0) of.sources = of.targets = 1;  // a graph has at least one node
    relation made = make_relation(edges, of, options.backward ? direction::reversed : direction::pulled,
                                  {.edge_id_bytes = options.edge_ids || !options.times.empty() ? (m >> 32 ? 8u : 4u) : 0,
                                   .weights = options.weights.data(),
                                   .where = options.device});
    made.lists.info.reversed = !options.backward;
    if (!options.times.empty() && m > 0) {
      std::uint64_t const timed = options.times_of_edges ? m : options.backward ? options.targets : options.sources;
      if (options.times.size() != timed)
        fail(errc::usage, "{0}: {1} times for {2} {3}s; give each {3} one", options.name, options.times.size(), timed,
             options.times_of_edges ? "edge" : "node");
      if (!options.weights.empty()) fail(errc::usage, "{}: weights and times; lists have one of them", options.name);
      with_id_type(made.lists.info, [&](auto id) {
        if (m >> 32) order_by_time<decltype(id)>(made, made.wide_edge_ids, options);
        else order_by_time<decltype(id)>(made, made.edge_ids, options);
      });
    }
    adjacency all{graph_access::wrap(std::move(made.lists)), made.in_order};
    auto const take = [&](auto& ids) {
      if (ids.empty()) return;
      all.edge_ids = ids.data(), all.edge_id_bytes = sizeof(*ids.data());
      all.owner = std::make_shared<std::decay_t<decltype(ids)>>(std::move(ids));
    };
    take(made.edge_ids), take(made.wide_edge_ids);
    return all;
  });
}

}  // namespace garner
