// The contract's words for ways and sums, and what a graph comes to when it is split.
#include <algorithm>
#include <numeric>

#include "core/fail.hpp"
#include "core/words.hpp"
#include "garner/shards.hpp"
#include "graph/handle.hpp"
#include "shard/group.hpp"
#include "shard/parts.hpp"

namespace garner {

constexpr word_table<shard_balance> balances{"unknown balance '{text}': use {a_or_b}", {"edges", "vertices"}};
std::string_view to_string(shard_balance value) { return balances[value]; }
shard_balance parse_shard_balance(std::string_view text) { return balances.parse(text); }

constexpr word_table<shard_reduction> reductions{"unknown sums '{text}': use {a_or_b}", {"exact", "quick"}};
std::string_view to_string(shard_reduction value) { return reductions[value]; }
shard_reduction parse_shard_reduction(std::string_view text) { return reductions.parse(text); }

constexpr word_table<shard_strategy> strategies{"strategy '{text}': use {a_or_b}", {"bulk", "collective", "mgg"}};
std::string_view to_string(shard_strategy value) { return strategies[value]; }
shard_strategy parse_shard_strategy(std::string_view text) { return strategies.parse(text); }

constexpr word_table<shard_provider> providers{"unknown provider '{text}': use {a_or_b}", {"automatic", "peer", "nccl", "nvshmem", "host"}};
std::string_view to_string(shard_provider value) { return providers[value]; }
shard_provider parse_shard_provider(std::string_view text) { return providers.parse(text); }

std::uint64_t shard_report::part::remote_rows() const { return std::accumulate(rows.begin(), rows.end(), std::uint64_t{0}); }
std::uint64_t shard_report::edges() const {
  std::uint64_t sum = 0;
  for (part const& p : parts) sum += p.edges;
  return sum;
}
std::uint64_t shard_report::cut() const {
  std::uint64_t sum = 0;
  for (part const& p : parts) sum += p.remote_edges;
  return sum;
}
std::uint64_t shard_report::remote_rows() const {
  std::uint64_t sum = 0;
  for (part const& p : parts) sum += p.remote_rows();
  return sum;
}
double shard_report::imbalance() const {
  std::uint64_t most = 0;
  for (part const& p : parts) most = std::max(most, p.edges);
  return edges() ? static_cast<double>(most) * static_cast<double>(parts.size()) / static_cast<double>(edges()) : 1;
}
double shard_report::references() const { return remote_rows() ? static_cast<double>(cut()) / static_cast<double>(remote_rows()) : 0; }

shard_report split_report(graph_handle const& g, edge_direction side, shard_options const& options) {
  return as_error([&] {
    adjacency_arrays const lists = lists_inside(g, g.info().directed && side == edge_direction::in);
    shard_parts const parts(lists.offsets, g.info().vertices, options, g.name());
    std::uint32_t const n = parts.shards();
    shard_report r;
    std::vector<bool> needed;
    for (std::uint32_t s = 0; s < n; ++s) {
      shard_report::part p{{parts.first(s), parts.count(s), 0}, 0, std::vector<std::uint64_t>(n)};
      std::uint64_t const begin = lists.offsets[p.first], end = lists.offsets[p.first + p.vertices];
      p.edges = end - begin;
      needed.assign(parts.vertices(), false);
      for (std::uint64_t k = begin; k < end; ++k) {
        std::uint64_t const v = g.info().id_bytes == 8 ? static_cast<std::uint64_t const*>(lists.targets)[k]
                                                       : static_cast<std::uint32_t const*>(lists.targets)[k];
        if (v - p.first < p.vertices) continue;
        ++p.remote_edges;
        if (!needed[v]) needed[v] = true, ++p.rows[parts.owner(v)];
      }
      r.parts.push_back(std::move(p));
    }
    return r;
  });
}

std::shared_ptr<shard_group> shards_of_threads(shard_options const& options, double timeout_seconds) {
  return as_error([&] { return std::make_shared<shard_group>(options, timeout_seconds); });
}
std::shared_ptr<shard_group> shards_of_processes(shard_options const& options, std::string const& name, std::uint32_t shard,
                                                 double timeout_seconds) {
  return as_error([&] { return std::make_shared<shard_group>(options, name, shard, timeout_seconds); });
}
shard_link link_of(shard_group const& shards) {
  return as_error([&] { return shards.link(shards.threads()->only().value_or(0)); });
}
std::uint64_t barriers_of(shard_group const& shards, std::uint32_t shard) { return shards.threads()->reached(shard); }

}  // namespace garner
