#include "shard/decide.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shard/lists.hpp"

#include "shard/packed_chunk.hpp"

namespace garner {

shard_sizes::shard_sizes(shard_report const& r, bool may_be_whole) {
  for (shard_report::part const& p : r.parts) {
    std::uint64_t come = 0;
    for (std::size_t k = 0; k < r.parts.size(); ++k) come += rows_that_come(p.rows[k], r.parts[k].vertices, may_be_whole);
    vertices += p.vertices;
    parts.push_back({p.vertices, p.edges, p.remote_edges, come});
  }
}

double distinct_targets(double edges, double targets) { return targets > 0 ? targets * -std::expm1(-edges / targets) : 0; }

namespace {

constexpr double number = 4;   // bytes of a number on the device, and of an id
constexpr double slice = 512;  // edges that one team sums: slice_edges of nn/aggregate.hpp, which src/shard cannot include

struct part_cost {
  double memory_bytes = 0, cached_bytes = 0, link_bytes = 0;  // cached: of memory_bytes, what the cache gives
  double again_bytes = 0;                                     // more than the floor has: what is read and written a second time
  double list_bytes = 0;                                      // from host memory
  double exposed = 0;                                         // of the link's time: the share that nothing hides
  double launches = 0, meetings = 0;

  double cache_ms(shard_rates const& r) const { return cached_bytes / r.cache_gbs / 1e6; }
  double memory_ms(shard_rates const& r, bool again) const {
    return (memory_bytes - cached_bytes + (again ? again_bytes : 0)) / r.memory_gbs / 1e6;
  }
  double link_ms(shard_rates const& r) const { return link_bytes / r.link_gbs / 1e6; }
  double lists_ms(shard_rates const& r) const { return list_bytes / r.host_gbs / 1e6; }
  double near_ms(shard_rates const& r, bool again) const { return std::max(memory_ms(r, again), cache_ms(r)); }
  double floor_ms(shard_rates const& r) const { return std::max({near_ms(r, false), link_ms(r), lists_ms(r)}); }
  double waits_ms(shard_rates const& r) const { return (launches * r.launch_us + meetings * r.meeting_us) / 1e3; }
  double ms(shard_rates const& r) const {
    double const link = link_ms(r);
    return std::max({near_ms(r, true), link * (1 - exposed), lists_ms(r)}) + link * exposed + waits_ms(r);
  }
  char const* bound(shard_rates const& r) const {
    double const near = near_ms(r, true), link = link_ms(r), waits = waits_ms(r);
    if (waits >= std::max({near, link, lists_ms(r)})) return "launches";
    if (lists_ms(r) > std::max(near, link)) return "lists";
    return link > near ? "link" : cache_ms(r) > memory_ms(r, true) ? "cache" : "memory";
  }
};

part_cost of_part(shard_sizes const& g, shard_sizes::part const& p, shard_setting const& s, shard_rates const& rates) {
  auto const n = static_cast<double>(g.parts.size()), all = static_cast<double>(g.vertices), own = static_cast<double>(p.vertices),
             edges = static_cast<double>(p.edges), remote = static_cast<double>(p.remote_rows);
  double const row = number * static_cast<double>(s.columns), wire = static_cast<double>(s.wire_bytes * s.columns),
               id = number * (s.weighted ? 2 : 1);
  part_cost c;
  double const far = static_cast<double>(p.remote_edges);
  double gathered = edges * row, from = own * row;  // bytes of device memory that aggregation reads, and of the array of its rows
  c.memory_bytes = edges * id + own * row;
  c.launches = 2;
  if (n == 1) {
  } else if (s.strategy == shard_strategy::bulk) {
    from = std::max(own, remote / (n - 1)) * row;  // chunk by chunk
    c.again_bytes = (n - 1) * 2 * own * row;
    c.launches += n - 1, c.meetings = s.kept ? 0 : 2;
    gathered -= far * (row - wire);  // rows stay as they crossed
    if (!s.kept) c.memory_bytes += remote * wire, c.link_bytes = remote * wire, c.launches += n - 1;
    if (s.sums == shard_reduction::deterministic) c.exposed = 1 / (n - 1);  // the first chunk is another's
  } else if (s.strategy == shard_strategy::collective) {
    from = all * row;
    c.memory_bytes += all * row, c.link_bytes = (all - own) * wire, c.exposed = 1;
    c.launches += n, c.meetings = 2;
  } else {
    gathered -= far * row;
    c.link_bytes = far * row;
    c.memory_bytes += 2 * own * row;  // sums are set to 0, and finished
    c.again_bytes = 2 * row * std::max(edges / s.mgg.ps, own);
    c.launches += 1, c.meetings = 2;
  }
  if (s.remote_adjacency || s.compressed_adjacency) {  // a staging buffer is written on the device before it is read
    double const items = std::min(edges + own, own * (s.strategy == shard_strategy::bulk ? n : 1)), plain = items * 16 + edges * number;
    auto const whole = [](double numbers) { return static_cast<std::uint64_t>(numbers); };
    double const stored = s.compressed_adjacency
                              ? static_cast<double>(packed_chunk::most_bytes(whole(items), whole(edges), g.parts.size(),
                                                                             whole(own + edges / slice), g.vertices, s.list_window))
                              : plain;
    double const weights = s.weighted ? edges * number : 0;
    c.again_bytes += plain + (s.compressed_adjacency ? stored : 0) + (s.remote_adjacency ? weights : 0);
    if (s.remote_adjacency) c.list_bytes = stored + weights;
    c.launches += std::floor(edges / static_cast<double>(s.list_window)) * (s.compressed_adjacency ? 3 : 1);
  }
  if (n > 1 && s.wire_bytes < number && !s.kept) c.again_bytes += own * (row + wire), c.launches += 1;
  c.memory_bytes += gathered;
  if (from <= static_cast<double>(rates.cache_bytes)) c.cached_bytes = gathered;
  if (g.one_place) c.memory_bytes += std::exchange(c.link_bytes, 0);
  return c;
}
}  // namespace

shard_cost cost_of(shard_sizes const& g, shard_setting const& s, shard_rates const& rates) {
  shard_cost worst;
  part_cost sum;
  for (shard_sizes::part const& p : g.parts) {
    part_cost const c = of_part(g, p, s, rates);
    sum.memory_bytes += c.memory_bytes, sum.cached_bytes += c.cached_bytes, sum.again_bytes += c.again_bytes;
    sum.list_bytes += c.list_bytes, sum.launches += c.launches, sum.meetings = c.meetings;
    worst.floor_ms = std::max(worst.floor_ms, c.floor_ms(rates));
    if (double const ms = c.ms(rates); ms >= worst.ms)
      worst.ms = ms, worst.memory_bytes = c.memory_bytes, worst.link_bytes = c.link_bytes, worst.bound = c.bound(rates),
      worst.list_bytes = c.list_bytes;
  }
  if (!g.one_place) return worst;
  return {sum.memory_bytes, 0, sum.floor_ms(rates), sum.ms(rates), sum.bound(rates), sum.list_bytes};
}

shard_cost cost_of_epoch(shard_sizes const& g, shard_setting s, std::vector<shard_pass> const& passes, shard_rates const& rates) {
  shard_cost sum;
  double most = -1;
  for (shard_pass const& p : passes) {
    s.columns = p.columns, s.kept = p.constant && s.strategy == shard_strategy::bulk;
    shard_cost const c = cost_of(g, s, rates);
    sum.memory_bytes += p.times * c.memory_bytes, sum.link_bytes += p.times * c.link_bytes, sum.list_bytes += p.times * c.list_bytes;
    sum.floor_ms += p.times * c.floor_ms, sum.ms += p.times * c.ms;
    if (p.times * c.ms > most) most = p.times * c.ms, sum.bound = c.bound;
  }
  return sum;
}

std::vector<shard_decision::considered> ways_of(shard_sizes const& g, shard_options const& asked, bool weighted,
                                                std::vector<shard_pass> const& passes, shard_rates const& rates, bool may_take_one) {
  std::vector<shard_decision::considered> all;
  auto const consider = [&](shard_sizes const& of, shard_strategy strategy) {
    shard_setting const s{strategy,
                          asked.sums,
                          {},
                          0,
                          asked.wire == element::f32 ? 4u : 2u,
                          weighted,
                          false,
                          asked.remote_adjacency,
                          asked.compressed_adjacency,
                          asked.list_window};
    shard_cost const c = cost_of_epoch(of, s, passes, rates);
    all.push_back({strategy, static_cast<std::uint32_t>(of.parts.size()), c.ms, c.floor_ms, c.bound, {}, {}});
  };
  if (g.parts.size() == 1) {
    consider(g, shard_strategy::bulk);
    return all;
  }
  consider(g, shard_strategy::bulk), consider(g, shard_strategy::collective);
  if (may_take_one) {
    shard_sizes::part whole{g.vertices, 0, 0, 0};
    for (shard_sizes::part const& p : g.parts) whole.edges += p.edges;
    consider(shard_sizes(g.vertices, {whole}), shard_strategy::bulk);
  }
  std::stable_sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.predicted_ms < b.predicted_ms; });
  return all;
}

std::size_t how_many_to_measure(std::vector<shard_decision::considered> const& strategies) {
  std::size_t n = 0;
  while (n < std::min<std::size_t>(strategies.size(), 3) && strategies[n].predicted_ms <= 2 * strategies[0].predicted_ms) ++n;
  return n;
}

}  // namespace garner
