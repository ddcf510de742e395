// Shared by the tests of shards: one thread per shard, and graphs with a hub, isolated vertices, and others.
#pragma once
#include <functional>
#include <thread>

#include "core/random.hpp"
#include "garner/handle.hpp"
#include "garner/shards.hpp"
#include "shard/group.hpp"
#include "support.hpp"

namespace garner::testing {

// Runs f(shard) on one thread each; returns the messages of exceptions, empty without one.
inline std::vector<std::string> on_shards(std::uint32_t n, std::function<void(std::uint32_t)> const& f,
                                          std::function<void(std::uint32_t, std::string const&)> const& failed = {}) {
  std::vector<std::string> threw(n);
  std::vector<std::jthread> threads;
  for (std::uint32_t k = 0; k < n; ++k)
    threads.emplace_back([&, k] {
      try {
        f(k);
      } catch (std::exception const& e) {
        threw[k] = std::string(e.what()).empty() ? "?" : e.what();
        if (failed) failed(k, threw[k]);
      }
    });
  threads.clear();
  return threw;
}
// f(shard, x) likewise, with executors there that have joined the group.
inline std::vector<std::string> on_shards(shard_group& group, execution_device where,
                                          std::function<void(std::uint32_t, executor&)> const& f) {
  return on_shards(
      group.options().shards,
      [&](std::uint32_t s) {
        executor x(where);
        group.threads()->join(s, x, 1);
        group.join(s, x);
        f(s, x);
      },
      [&](std::uint32_t s, std::string const& why) { group.threads()->leave(s, why); });
}
inline std::vector<std::string> none_of(std::uint32_t n) { return std::vector<std::string>(n); }

// Vertex 7 has an edge with most others (a list that is split into slices), the last `alone` have none.
inline graph_handle graph_with_hub(std::uint64_t vertices, bool undirected, bool weights, std::uint64_t alone = 3) {
  std::vector<edge> edges;
  std::vector<float> values;
  std::uint64_t const n = vertices - alone;
  for (std::uint64_t i = 0; i < 6 * n; ++i) edges.push_back({random_bits(5, 0, i) % n, random_bits(5, 1, i) % n});
  for (std::uint64_t v = 0; v < n; ++v)
    if (v % 9 != 4) edges.push_back({v, 7}), edges.push_back({7, v});
  for (std::size_t i = 0; i < edges.size(); ++i) values.push_back(static_cast<float>(unit_float(random_bits(6, 0, i))) + 0.25f);
  build_options o;
  o.undirected = undirected, o.in_edges = !undirected;
  edge_array from{.edges = edges, .vertices = vertices};
  if (weights) from.real_weights = values;
  return build_graph(from, o);
}

}  // namespace garner::testing
