// The contract's words for ways and sums, and what a graph comes to when it is split.
#include <algorithm>
#include <numeric>

#include "core/fail.hpp"
#include "garner/shards.hpp"
#include "graph/handle.hpp"
#include "shard/group.hpp"
#include "shard/parts.hpp"

namespace garner {

std::string_view to_string(shard_balance b) { return b == shard_balance::edges ? "edges" : "vertices"; }
shard_balance parse_shard_balance(std::string_view text) {
  for (shard_balance const b : {shard_balance::edges, shard_balance::vertices})
    if (to_string(b) == text) return b;
  fail(errc::usage, "unknown balance '{}': use edges or vertices", text);
}
std::string_view to_string(shard_reduction s) { return s == shard_reduction::deterministic ? "exact" : "quick"; }
shard_reduction parse_shard_reduction(std::string_view text) {
  for (shard_reduction const s : {shard_reduction::deterministic, shard_reduction::fast})
    if (to_string(s) == text) return s;
  fail(errc::usage, "unknown sums '{}': use exact or quick", text);
}
std::string_view to_string(shard_strategy w) {
  switch (w) {
    case shard_strategy::bulk:
      return "bulk";
    case shard_strategy::collective:
      return "collective";
    case shard_strategy::mgg:
      return "mgg";
  }
  return "?";
}
shard_strategy parse_shard_strategy(std::string_view text) {
  for (shard_strategy const w : {shard_strategy::bulk, shard_strategy::collective, shard_strategy::mgg})
    if (to_string(w) == text) return w;
  fail(errc::usage, "strategy '{}': use bulk, collective or mgg", text);
}

std::string_view to_string(shard_provider p) {
  switch (p) {
    case shard_provider::automatic:
      return "automatic";
    case shard_provider::peer:
      return "peer";
    case shard_provider::nccl:
      return "nccl";
    case shard_provider::nvshmem:
      return "nvshmem";
    case shard_provider::host:
      return "host";
  }
  return "?";
}
shard_provider parse_shard_provider(std::string_view text) {
  for (shard_provider const p :
       {shard_provider::automatic, shard_provider::peer, shard_provider::nccl, shard_provider::nvshmem, shard_provider::host})
    if (to_string(p) == text) return p;
  fail(errc::usage, "unknown provider '{}': use automatic, peer, nccl, nvshmem or host", text);
}

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
