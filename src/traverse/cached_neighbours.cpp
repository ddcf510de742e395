// Cached neighbours for the file.
#include "traverse/cached_neighbours.hpp"

#include "traverse/plan.hpp"

namespace garner {

void keep_cached_neighbours(graph& g, place where, std::uint32_t per_vertex, bool or_as_degrees) {
  if (per_vertex > most_cached_neighbours)
    fail(errc::usage, "{} cached neighbours a vertex: say 0 to {}", per_vertex, most_cached_neighbours);
  if (g.info.directed && !g.info.in_lists)
    fail(errc::input, "{}: cached neighbours of a directed graph need its in-lists; add them with `garner convert --in-lists`", g.name);
  g.cached_neighbours = {};
  g.cached_per_vertex = 0;
  if (per_vertex == 0 || g.info.vertices == 0) return;
  job_setting job(g, where, access_mode::aligned, tier::host, 0, std::uint64_t{0});
  if (or_as_degrees && cached_neighbours_view::is_narrow(g.info.vertices, per_vertex) && !detail::spreads(job)) --per_vertex;
  with_id_type(g.info, [&](auto id) {
    auto const near = make_cached_neighbours<decltype(id)>(job, per_vertex);
    g.cached_neighbours = buffer<std::uint32_t>(tier::host, near.size(), -1, "cached_neighbours");
    job.x.copy(g.cached_neighbours.data(), near.data(), near.bytes());
    job.x.wait();
  });
  g.cached_per_vertex = per_vertex;
}

std::uint32_t cached_neighbours_worth_keeping(graph const& g) {
  bfs_options search;
  search.where = {place_kind::device, 0};
  search.access = access_mode::aligned;
  search.variant = bfs_variant::direction;
  auto const words = [](packed_array const& a) { return a.words.bytes() / 4; };
  stored const as{{words(g.out.packed_targets), words(g.out.packed_weights), words(g.in.packed_targets), words(g.in.packed_weights)}, 0};
  for (planned_part const& c : planned_device_cache(g.info, search, as))
    if (c.cached_neighbours) return c.cached_neighbours;
  return 0;
}

}  // namespace garner
