// Cached neighbors for graph files.
#include "traverse/cached_neighbors.hpp"

#include "traverse/plan.hpp"

namespace garner {

namespace {
void require_possible(graph const& g, std::uint32_t per_vertex) {
  if (per_vertex > most_cached_neighbors)
    fail(errc::usage, "{} cached neighbors per vertex: use 0 to {}", per_vertex, most_cached_neighbors);
  if (g.info.directed && !g.info.in_edges)
    fail(errc::input, "{}: cached neighbors of a directed graph need its in-edges; add them with `garner convert --in-edges`", g.name);
}
}  // namespace

void keep_cached_neighbors(graph& g, execution_device where, std::uint32_t per_vertex, bool or_as_degrees) {
  require_possible(g, per_vertex);
  g.cached_neighbors = {};
  g.cached_per_vertex = 0;
  if (per_vertex == 0 || g.info.vertices == 0) return;
  job_setting job(g, where, access_mode::aligned, tier::host, 0, std::uint64_t{0});
  if (or_as_degrees && cached_neighbors_view::is_narrow(g.info.vertices, per_vertex) && !detail::spreads(job)) --per_vertex;
  with_id_type(g.info, [&](auto id) {
    auto const near = make_cached_neighbors<decltype(id)>(job, per_vertex);
    g.cached_neighbors = buffer<std::uint32_t>(tier::host, near.size(), -1, "cached_neighbors");
    job.x.copy(g.cached_neighbors.data(), near.data(), near.bytes());
    job.x.wait();
  });
  g.cached_per_vertex = per_vertex;
}

std::uint32_t cached_neighbors_by_parts::per_vertex(graph const& g, packed_words const& words) {
  bool const none = !asked_ && g.info.directed && !g.info.in_edges;
  per_vertex_ = none ? 0 : asked_ ? *asked_ : cached_neighbors_worth_keeping(g.info, words);
  if (per_vertex_ == 0 || g.info.vertices == 0) return 0;
  require_possible(g, per_vertex_);
  spread_ = false;
  if (!g.info.directed) {
    job_setting job(g, {}, access_mode::aligned, tier::host, 0, std::uint64_t{0});
    spread_ = detail::spreads(job);
  }
  if (!asked_ && cached_neighbors_view::is_narrow(g.info.vertices, per_vertex_) && !spread_) --per_vertex_;
  return per_vertex_;
}

void cached_neighbors_by_parts::make(graph const& g, std::uint64_t first, std::uint64_t count, std::uint64_t const* offsets,
                                     void const* targets, std::uint32_t* to) {
  executor x({device_kind::cpu, 0});
  with_id_type(g.info, [&](auto id) {
    using Id = decltype(id);
    csr_view<Id> part;
    part.offsets = offsets;
    part.targets.data = static_cast<Id const*>(targets);
    part.vertices = count, part.edges = offsets[count];
    std::uint64_t const* const degrees = g.out.offsets.data();
    if (cached_neighbors_view::is_narrow(g.info.vertices, per_vertex_))
      for_each_item<32>(x, count, detail::find_cached_neighbors<Id, true>{part, degrees, per_vertex_, spread_, to, first});
    else for_each_item<32>(x, count, detail::find_cached_neighbors<Id, false>{part, degrees, per_vertex_, spread_, to, first});
  });
}

std::uint32_t cached_neighbors_worth_keeping(graph_info const& info, packed_words const& words) {
  bfs_options search;
  search.device = {device_kind::cuda, 0};
  search.access = access_mode::aligned;
  search.variant = bfs_variant::direction;
  for (planned_part const& c : planned_device_cache(info, search, {words, 0}))
    if (c.cached_neighbors) return c.cached_neighbors;
  return 0;
}

}  // namespace garner
