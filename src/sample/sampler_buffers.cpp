#include "sample/sampler_buffers.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/fail.hpp"

namespace garner {

sampler_rooms first_rooms(std::span<std::uint64_t const> types, std::span<sampled_size const> relations, block_options const& o,
                          std::uint64_t seeds, std::uint64_t batches) {
  sampler_rooms room{0, {}, std::vector<std::uint64_t>(relations.size(), 0)};
  std::uint64_t const reason = std::max<std::uint64_t>(1u << 17, (1u << 20) / batches);
  std::uint64_t all = seeds, of_types = 0;
  for (std::uint64_t const vertices : types) of_types += vertices;
  if (o.disjoint) of_types = drawing::nothing - seeds;
  std::uint64_t frontier = seeds, vertices = seeds, items = 0;
  for (std::size_t h = 0; h < (relations.empty() ? 0 : relations[0].fanouts.size()); ++h) {
    std::uint64_t most = 0;
    for (std::size_t r = 0; r < relations.size(); ++r) {
      std::int64_t const f = relations[r].fanouts[h];
      std::uint64_t n = std::min(reason, (f < 0 ? 32 : static_cast<std::uint64_t>(f)) * (o.rule == hop_rule::all ? all : frontier));
      if (!o.disjoint && !o.replace) n = std::min(n, relations[r].edges + seeds * static_cast<std::uint64_t>(std::max<std::int64_t>(f, 0)));
      items = std::max(items, n), most += n, room.edges[r] += n;
    }
    frontier = std::min(most, of_types), vertices = std::min(vertices + most, of_types + seeds), all = vertices;
  }
  room.items = items * batches;
  for (std::uint64_t const n : types) room.vertices.push_back(std::min(vertices, o.disjoint ? vertices : n + seeds));
  return room;
}

std::uint64_t places_beyond(bool on_device, std::uint64_t free) { return on_device ? free / 8 : 32u << 20; }

sampler_buffers::sampler_buffers(executor& at, block_options const& options, sampler_lists const& lists, std::uint64_t beyond)
    : x(at), o(options), of(lists), types(lists.types.size()), hash_beyond(beyond) {
  room.vertices.assign(of.map.types, 0);
  room.edges.assign(of.map.relations, 0);
  seen.assign(of.map.relations, std::vector<std::uint64_t>(of.map.hops));
  counters = {x.near(), of.map.part(drawing::most_together), x.device(), "counters of mini-batches"};
}

std::uint32_t sampler_buffers::together(std::uint64_t wanted) const {
  if (of.map.types != 1 || of.map.relations != 1 || o.rule != hop_rule::last || o.disjoint || o.induced) return 1;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 1, drawing::most_together));
}
void sampler_buffers::expect(some_batches batches) {
  std::uint64_t most = 0;
  bool too_small = !sized;
  for (sampled_subgraph::parts const* b : batches) {
    most = std::max(most, b->seeds);
    for (sampled_subgraph::parts::group const& g : b->groups)
      too_small |= room.vertices[g.type] < b->seeds || (o.disjoint && 2 * room.vertices[g.type] < b->seeds);
  }
  if (too_small || (batches.size() > 1 && !std::exchange(sized_for_several, true))) guess(most, batches.size());
}
void sampler_buffers::guess(std::uint64_t seeds, std::uint64_t batches) {
  sized = true;
  std::vector<std::uint64_t> vertices;
  for (sampler_lists::of_type const& t : of.types) vertices.push_back(t.vertices);
  std::vector<sampled_size> sizes;
  for (sampler_lists::of_relation const& r : of.relations) sizes.push_back({r.of.g->info.edges, r.of.fanouts});
  sampler_rooms const first = first_rooms(vertices, sizes, o, seeds, batches);
  room.items = std::max(room.items, first.items);
  for (std::size_t t = 0; t < types.size(); ++t) room.vertices[t] = std::max(room.vertices[t], first.vertices[t]);
  for (std::size_t r = 0; r < seen.size(); ++r) room.edges[r] = std::max(room.edges[r], first.edges[r]);
}
void sampler_buffers::grow(std::uint64_t const* c, std::uint64_t number, std::uint64_t seeds) {
  auto const more = [&](std::uint64_t& has, std::uint64_t wants) {
    if (wants > has) has = wants + wants / 4;
    if (wants >= drawing::none - seeds)
      fail(errc::usage,
           "mini-batch {} of {} seeds: a hop would draw {} neighbors, and 2^32 is the most; use a smaller mini-batch or fanout", number,
           seeds, wants);
  };
  for (of_type& t : types) t.taken = 0;  // the next hash table is sized by the upper bound
  more(room.items, c[drawing::counter_map::needs_items]);
  for (std::uint32_t t = 0; t < of.map.types; ++t) more(room.vertices[t], c[of.map.need_vertices(t)]);
  for (std::uint32_t r = 0; r < of.map.relations; ++r) more(room.edges[r], c[of.map.need_edges(r)]);
}
bool sampler_buffers::hashes(std::size_t batches) const {
  bool const may = batches > 1 || of.relations[0].of.elsewhere;
  return o.disjoint || (may && batches * of.types[0].vertices * sizeof(std::uint32_t) > hash_beyond);
}
drawing::place_table sampler_buffers::table_of(std::uint32_t t, std::uint64_t seeds, std::size_t batches) const {
  of_type const& mine = types[t];
  std::uint64_t const vertices = of.types[t].vertices;
  if (!hashes(batches)) return {mine.place.data(), nullptr, 0, 1, vertices, batches};
  std::uint64_t const trees = o.disjoint ? std::max<std::uint64_t>(1, seeds) : 1;
  return drawing::place_table::of_slots(mine.hashed.data(), mine.slots, trees, vertices, batches);
}
// Twice the upper bound, or twice 1.25 times the most so far. open_edges checks that they suffice.
std::uint64_t sampler_buffers::slots(std::size_t t, some_batches batches) const {
  std::uint64_t most = room.vertices[t] * batches.size() + (of.types[t].is_source ? room.items : 0), seeds = 0;
  for (sampled_subgraph::parts const* b : batches)
    for (sampled_subgraph::parts::group const& g : b->groups) seeds += g.type == t ? g.count : 0;
  if (std::uint64_t const n = types[t].taken) most = std::min(most, (n + n / 4) * batches.size() + seeds);
  return std::bit_ceil(2 * most + 2);
}
void sampler_buffers::make_items(std::uint64_t vertices) {
  make(first, room.items), make(rank, room.items + 1);
  make(row, room.items), make(col, room.items), make(edge, room.items);
  if (of.looks()) make(sifted_col, room.items), make(sifted_edge, room.items);
  if (of.far() || o.induced) make(keys, room.items), make(spare_keys, std::max(room.items, vertices));
}
// The order of these decides which of them a budget refuses.
void sampler_buffers::make(some_batches batches) {
  roomy_for = std::max(roomy_for, batches.size());
  std::uint64_t const most = *std::max_element(room.vertices.begin(), room.vertices.end()) * batches.size();
  make(drawn, most), make(at, most + 1);
  make_items(most);
  if (batches.size() > 1) make(all_ids, most), make(all_batches, most);
  for (std::size_t t = 0; t < types.size(); ++t) {
    of_type& mine = types[t];
    if (hashes(batches.size())) {
      mine.slots = slots(t, batches);
      make(mine.hashed, 2 * mine.slots, "local numbers of vertices");
    } else if (make(mine.place, of.types[t].vertices * batches.size(), "local numbers of vertices")) {
      x.fill(mine.place.data(), 0xff, mine.place.bytes());
    }
  }
  for (sampled_subgraph::parts* b : batches) {
    b->types.resize(of.map.types), b->relations.resize(of.map.relations);
    for (std::size_t t = 0; t < types.size(); ++t) {
      make(b->types[t].ids, room.vertices[t]);
      if (o.disjoint) make(b->types[t].tree, room.vertices[t]);
    }
    for (std::size_t r = 0; r < seen.size() && o.edges; ++r) {
      make(b->relations[r].pairs, 2 * room.edges[r]);
      if (o.edge_ids) make(b->relations[r].edge, room.edges[r]);
    }
    if (b->counted.size() < of.map.own()) b->counted = {tier::host, of.map.own(), x.device(), "counters of a mini-batch"};
  }
}
std::uint64_t sampler_buffers::bytes() const {
  std::uint64_t n = counters.bytes() + at.bytes() + rank.bytes() + keys.bytes() + spare_keys.bytes() + drawn.bytes() + first.bytes() +
                    row.bytes() + col.bytes() + edge.bytes() + sifted_col.bytes() + sifted_edge.bytes() + tree_time.bytes() +
                    all_ids.bytes() + all_batches.bytes();
  for (of_type const& t : types) n += t.place.bytes() + t.hashed.bytes();
  return n;
}

}  // namespace garner
