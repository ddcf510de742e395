#include "sample/hop.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "core/exec.hpp"
#include "core/primitives.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "graph/handle.hpp"
#include "sample/kernels/choose.hpp"
#include "sample/kernels/count.hpp"
#include "sample/kernels/find.hpp"
#include "sample/kernels/induced.hpp"
#include "sample/kernels/number.hpp"
#include "sample/kernels/seeds.hpp"

namespace garner {

using namespace drawing;

namespace {

constexpr std::uint64_t far_reads_worth_an_order = 1u << 15;
// 1,024 threads with one read each fill the link. More threads would only wait in cache queues and delay a model that runs meanwhile.
constexpr unsigned far_blocks = 4;

}  // namespace

// --- open and close ---
void hop_stages::open(some_batches batches) {
  check_interrupted();
  bool const dirty = std::exchange(torn_, true);
  b_.make(batches);
  if (dirty)
    for (sampler_buffers::of_type const& t : b_.types) x_.fill(t.place.data(), 0xff, t.place.bytes());
  std::uint64_t* const c = b_.counters.data();
  auto const n = static_cast<std::uint32_t>(batches.size());
  bool const several = n > 1;
  for (sampled_subgraph::parts* b : batches) b->begun.record(x_);
  for_each_item<1>(x_, map_.part(n), begin_batch{c, map_});
  if (b_.hashes(n))
    for (sampler_buffers::of_type const& t : b_.types) x_.fill(t.hashed.data(), 0xff, 2 * t.slots * sizeof(std::uint64_t));
  std::uint64_t before = 0;
  for (std::uint32_t k = 0; k < n; ++k) {
    sampled_subgraph::parts& b = *batches[k];
    if (o_.temporal) grow(x_, b_.tree_time, b.seeds, b.seeds + b.seeds / 2, "times of seeds", x_.near());
    for (sampled_subgraph::parts::group const& g : b.groups) {
      sampler_lists::of_type const& type = lists_.types[g.type];
      std::int64_t* const ids = b.types[g.type].ids.data();
      // Without seeds the counters are zero already.
      for_each_item<1>(
          x_, g.count,
          take_seeds{c, map_, g.type, g.first, several ? before : 0, k, g.count, g.seeds, g.times, type.times.data(), type.vertices,
                     lists_.inside.data(), lists_.inside_bytes, b_.table_of(g.type, b.seeds, n), several ? b_.all_ids.data() : ids, ids,
                     b.types[g.type].tree.data(), several ? b_.all_batches.data() : nullptr, o_.temporal ? b_.tree_time.data() : nullptr});
      if (several && g.count == 0) for_each_item<1>(x_, 1, no_seeds{c, map_, k, before});
      before += g.count;
    }
  }
}
void hop_stages::close(some_batches batches) {
  std::uint64_t* const c = b_.counters.data();
  auto const n = static_cast<std::uint32_t>(batches.size());
  bool const several = n > 1, by_hash = b_.hashes(n);
  for (std::uint32_t t = 0; t < map_.types; ++t) {
    std::int64_t const* const ids = several ? b_.all_ids.data() : batches[0]->types[t].ids.data();
    if (!by_hash)
      for_each_item<1>(x_, b_.counted(map_.total(t), b_.room.vertices[t] * n),
                       forget{ids, several ? b_.all_batches.data() : nullptr, b_.table_of(t, 0, n)});
    if (lists_.ranks.bytes())
      for (std::uint32_t k = 0; k < n; ++k)
        for_each_item<1>(x_, b_.counted(map_.part(k) + map_.count(t), b_.room.vertices[t]),
                         name_by_position{batches[k]->types[t].ids.data(), lists_.ranks.data(), lists_.inside_bytes == 8});
  }
  for (std::uint32_t k = 0; k < n; ++k) {
    x_.copy(batches[k]->counted.data(), c + map_.part(k), map_.own() * sizeof *c);
    batches[k]->done.record(x_);
    batches[k]->together = n;
  }
  torn_ = false;
}
void hop_stages::begin_hop(std::size_t batches, std::uint32_t hop, bool all) {
  for_each_item<1>(x_, batches, drawing::begin_hop{b_.counters.data(), map_, hop, all});
}

// --- a hop ---
hop_of_relation hop_stages::shared(some_batches batches, std::uint32_t h, std::uint32_t r) const {
  sampler_lists::of_relation const& rel = lists_.relations[r];
  sampled_subgraph::parts& b = *batches[0];
  sampled_subgraph::parts::of_type &from = b.types[rel.of.from], &to = b.types[rel.of.to];
  bool const several = batches.size() > 1;
  hop_of_relation s{};
  s.c = b_.counters.data(), s.map = map_;
  s.from = rel.of.from, s.to = rel.of.to, s.relation = r, s.hop = h, s.batches = static_cast<std::uint32_t>(batches.size());
  s.all = o_.rule == hop_rule::all;
  s.offsets = rel.lists.offsets();
  s.from_ids = several ? b_.all_ids.data() : from.ids.data(), s.to_ids = several ? b_.all_ids.data() : to.ids.data();
  s.from_batch = s.to_batch = several ? b_.all_batches.data() : nullptr;
  s.from_tree = o_.disjoint ? from.tree.data() : nullptr, s.to_tree = o_.disjoint ? to.tree.data() : nullptr;
  s.places = b_.table_of(rel.of.from, b.seeds, batches.size());
  s.drawn = b_.drawn.data(), s.at = b_.at.data();
  s.row = b_.row.data(), s.col = b_.col.data(), s.edge = b_.edge.data();
  s.first = b_.first.data(), s.rank = b_.rank.data();
  // If edges are not stored, their number is unlimited.
  s.room_items = b_.room.items, s.room_edges = o_.edges ? b_.room.edges[r] : nothing, s.room_vertices = b_.room.vertices[rel.of.from];
  draws_by(s, b.number, h, r);
  return s;
}
void hop_stages::draws_by(hop_of_relation& s, std::uint64_t number, std::uint32_t h, std::uint32_t r) const {
  sampler_lists::of_relation const& rel = lists_.relations[r];
  s.fanout = rel.of.fanouts[std::min<std::size_t>(h, map_.hops - 1)];
  // Eight hops share a seed, and each has its own random stream. Further hops and further relations have other seeds.
  std::uint64_t const other = std::uint64_t{r} << 32 | h / 8;
  s.seed = other ? mix(o_.seed ^ mix(other)) : o_.seed, s.stream = number * 8 + h % 8;
  if (o_.labor) s.seed = o_.seed, s.stream = number * 8;  // one number per neighbor, for all hops and relations
  s.replace = o_.replace;
  s.names = rel.names.data(), s.first_name = rel.of.first_name;
}
template <class Body>
Body hop_stages::with_outputs(Body body, some_batches batches, std::uint32_t r, bool edges) const {
  for (std::size_t k = 0; k < batches.size(); ++k) {
    sampled_subgraph::parts::of_relation& e = batches[k]->relations[r];
    body.to_batches[k] = {batches[k]->types[lists_.relations[r].of.from].ids.data(), edges ? e.rows() : nullptr, edges ? e.cols() : nullptr,
                          edges && o_.edge_ids ? e.edge.data() : nullptr};
  }
  return body;
}
void hop_stages::hop(some_batches batches, std::uint32_t h, std::uint32_t r) {
  hop_of_relation const s = shared(batches, h, r);
  item_count const drawing = b_.drawing_for(s.to, batches.size());
  with_id_type(lists_.relations[r].of.g->info, [&](auto id) {
    count<decltype(id)>(s, drawing);
    choose<decltype(id)>(s, drawing);
    find<decltype(id)>(s, b_.seen[r][h] * batches.size());
  });
  number(s, batches, true);
}

// --- count and choose ---
// Calls f with the array that defines the times of these edges.
template <class Id, class F>
void hop_stages::with_times(hop_of_relation const& s, F const& f) const {
  sampler_lists::of_relation const& rel = lists_.relations[s.relation];
  bool const latest = o_.temporal == temporal_rule::last;
  if (rel.times) f(by_time_of_edge{{latest}, rel.times});
  else f(by_time_of_vertex<Id>{{latest}, rel.template view<Id>().targets, lists_.types[s.from].times.data()});
}
// Calls f with the entries that are sampled without reading each of them.
template <class Id, class F>
void hop_stages::with_entries(hop_of_relation const& s, F const& f) const {
  if (!o_.temporal || lists_.relations[s.relation].looks) f(all_entries{});
  else with_times<Id>(s, [&](auto const& by) { f(entries_in_time<std::decay_t<decltype(by)>>{by.latest, by, b_.tree_time.data()}); });
}
// Counts the entries that each vertex samples, or reads.
template <class Id>
void hop_stages::count(hop_of_relation const& s, item_count drawing) {
  with_entries<Id>(s, [&](auto const& entries) { for_each_item<1>(x_, drawing, tally<std::decay_t<decltype(entries)>>{s, entries}); });
  scan(x_, s.drawn, s.at, drawing);
  bool const looked_at = lists_.relations[s.relation].looks;
  for_each_item<1>(x_, s.batches, open_edges{s, looked_at, !looked_at});
}
// Chooses the entries that each vertex samples.
template <class Id>
void hop_stages::choose(hop_of_relation const& s, item_count drawing) {
  sampler_lists::of_relation const& rel = lists_.relations[s.relation];
  if (o_.weighted) choose_by(s, drawing, by_weight{rel.template view<Id>().weights, rel.of.g->info.weights == weight_kind::f32});
  else if (o_.labor)
    for_each_item<32>(x_, drawing, draw_by<by_neighbor_alone<Id>>{s, {rel.template view<Id>().targets}, nullptr}, access_mode::aligned,
                      true);
  else if (rel.looks) with_times<Id>(s, [&](auto const& by) { choose_by(s, drawing, by); });
  else
    with_entries<Id>(s, [&](auto const& entries) {
      for_each_item<1>(x_, drawing, drawing::draw<std::decay_t<decltype(entries)>>{s, entries});
    });
}
template <class By>
void hop_stages::choose_by(hop_of_relation const& s, item_count drawing, By const& by) {
  hop_of_relation unsifted = s;
  unsifted.col = b_.sifted_col.data(), unsifted.edge = b_.sifted_edge.data();
  std::int64_t const* const limit = o_.temporal ? b_.tree_time.data() : nullptr;
  if constexpr (By::arrives)
    if (!o_.replace) for_each_item<1>(x_, drawing, try_entries{unsifted, by, lists_.relations[s.relation].largest.data()});
  for_each_item<32>(x_, drawing, draw_by<By>{unsifted, by, limit}, access_mode::aligned, true);
  if (By::arrives && o_.replace) for_each_item<1>(x_, drawing, draw_again{unsifted});
  item_count const looked_at = b_.counted(counter_map::looked_at, b_.room.items);
  for_each_item<1>(x_, looked_at, allowed<By>{unsifted, by, limit}, access_mode::merged);
  scan(x_, s.first, s.rank, looked_at);
  for_each_item<1>(x_, s.batches, open_edges{s, true, true});
  for_each_item<1>(x_, looked_at, sift{s, unsifted.col, unsifted.edge});
}

// --- find ---
// Looks up the neighbors at the sampled edges. `expected`: how many edges there may be.
template <class Id>
void hop_stages::find(hop_of_relation const& s, std::uint64_t expected) {
  sampler_lists::of_relation const& rel = lists_.relations[s.relation];
  if (rel.windows) return find_in_file<Id>(s);
  std::uint64_t ordered = 0;
  std::uint64_t const* order = nullptr;
  if (rel.far && expected > far_reads_worth_an_order) {
    ordered = std::min(b_.room.items, expected + expected / 8);
    std::uint64_t const arcs = rel.of.g->info.edges, least = sizeof(Id) == 8 ? 13 : 14;  // pages of at least 64 KiB
    auto const shift =
        static_cast<std::uint32_t>(std::max<std::uint64_t>(least, std::bit_width(arcs) > 16 ? std::bit_width(arcs) - 16 : 0));
    std::uint64_t const pages = (arcs >> shift) + 1;
    for_each_item<1>(x_, ordered, page_of_edge{s, b_.keys.data(), shift, pages});
    order = sort(x_, {b_.keys.data(), ordered}, {b_.spare_keys.data(), ordered}, static_cast<int>(std::bit_width(pages))).data();
  }
  csr_view<Id> const v = rel.template view<Id>();
  std::optional<limited_share> few;
  if (rel.far) few.emplace(x_, far_blocks, 1024);
  // Neighboring edges may be adjacent in memory. Each thread reads one edge, so prefetching a cache line would not help.
  if (!v.targets.packed) for_each_item<1>(x_, b_.items(), fetch<Id, false>{s, v, order, ordered, nullptr}, access_mode::merged);
  else if constexpr (sizeof(Id) == 4) for_each_item<1>(x_, b_.items(), fetch<Id, true>{s, v, order, ordered, nullptr}, access_mode::merged);
}
// Reads edges in the order of the file, as many at once as a staging buffer holds. The host plans the reads, so it waits for the edges.
template <class Id>
void hop_stages::find_in_file(hop_of_relation const& s) {
  sampler_lists::of_relation const& rel = lists_.relations[s.relation];
  x_.wait();
  std::uint64_t const n = std::min(b_.room.items, x_.read(s.c + counter_map::items));
  if (n == 0 || x_.read(s.c + counter_map::over)) return;
  std::uint64_t const blocks = rel.of.g->info.edges / 32 + 1;
  for_each_item<1>(x_, n, page_of_edge{s, b_.keys.data(), 5, blocks});
  std::uint64_t const* const order =
      sort(x_, {b_.keys.data(), n}, {b_.spare_keys.data(), n}, static_cast<int>(std::bit_width(blocks))).data();
  std::uint64_t const* order_home = order;
  std::int64_t const* edge_home = s.edge;
  std::vector<std::uint64_t> orders;
  std::vector<std::int64_t> edges;
  if (x_.asynchronous()) {
    orders.resize(n), edges.resize(n);
    x_.copy(orders.data(), order, n * sizeof(std::uint64_t));
    x_.copy(edges.data(), s.edge, n * sizeof(std::int64_t));
    order_home = orders.data(), edge_home = edges.data();
  }
  x_.wait();
  csr_view<Id> const v = rel.template view<Id>();
  bool const packed = rel.of.g->info.compressed;
  rel.windows->each(
      *rel.of.lists, {true, false, false}, n,
      [order_home, edge_home](std::uint64_t k) {
        auto const e = static_cast<std::uint64_t>(edge_home[order_home[k] >> 32]);
        return indices{e, e + 1};
      },
      [&](list_window const& w) {
        std::uint64_t const count = w.last - w.first;
        if (!packed) for_each_item<1>(x_, count, fetch<Id, false>{s, v, order + w.first, count, w.targets_at}, access_mode::merged);
        else if constexpr (sizeof(Id) == 4)
          for_each_item<1>(x_, count, fetch<Id, true>{s, v, order + w.first, count, w.targets_at}, access_mode::merged);
      });
}

// --- number ---
void hop_stages::name(hop_of_relation const& s, item_count items) {
  sampler_lists::of_relation const& r = lists_.relations[s.relation];
  if (!o_.edge_ids || (!r.places && !r.of.first_edge)) return;
  for_each_item<1>(x_, items, name_edges{s, r.begins.data(), r.places, r.of.first_edge}, access_mode::merged);
}
// Assigns local numbers to the neighbors.
void hop_stages::number(hop_of_relation const& s, some_batches batches, bool finds_vertices) {
  item_count const items = b_.items();
  if (finds_vertices) {
    for_each_item<1>(x_, items, mark_first{s});
    scan(x_, s.first, s.rank, items);
    for_each_item<1>(x_, s.batches, open_vertices{s});
    for_each_item<1>(x_, items, with_outputs(take_place{s, {}}, batches, s.relation, false));
  }
  if (o_.edges && (finds_vertices ? !o_.induced : true)) {
    name(s, items);
    for_each_item<1>(x_, items, with_outputs(number_edges{s, {}}, batches, s.relation, true));
  }
  for_each_item<1>(x_, s.batches, end_relation{s, finds_vertices, finds_vertices && o_.induced});
  if (finds_vertices) for_each_item<1>(x_, 1, end_hop{s});
}

// --- all edges among the vertices ---
void hop_stages::induced(some_batches batches, std::uint32_t r) {
  hop_of_relation s = shared(batches, map_.hops, r);
  s.all = true;
  with_id_type(lists_.relations[r].of.g->info, [&](auto id) {
    using Id = decltype(id);
    csr_view<Id> const v = lists_.relations[r].template view<Id>();
    if (!v.targets.packed) list_all<Id, false>(s, v);
    else if constexpr (sizeof(Id) == 4) list_all<Id, true>(s, v);
    find<Id>(s, 0);
  });
  number(s, batches, false);
}
template <class Id, bool Packed>
void hop_stages::list_all(hop_of_relation const& s, csr_view<Id> const& v) {
  item_count const drawing = b_.drawing_for(s.to, 1);
  std::uint64_t *const keys = b_.keys.data(), *const cursor = b_.spare_keys.data();
  for_each_item<32>(x_, drawing, tally_induced<Id, Packed>{s, v}, access_mode::aligned, true);
  scan(x_, s.drawn, s.at, drawing);
  for_each_item<1>(x_, s.batches, open_edges{s, false, true});
  for_each_item<1>(x_, drawing, copy_values{s.at, cursor});
  x_.fill(keys, 0xff, b_.room.items * sizeof(std::uint64_t));
  for_each_item<32>(x_, drawing, list_induced<Id, Packed>{s, v, keys, cursor}, access_mode::aligned, true);
  std::uint64_t const* const order = sort(x_, {keys, b_.room.items}, {cursor, b_.room.items}).data();
  for_each_item<1>(x_, b_.items(), take_induced{s, order});
}

// --- adjacency split over processes ---
void hop_stages::draw_lists(std::uint64_t number, std::uint32_t h, sampling_response& into) {
  hop_of_relation s{};
  s.c = b_.counters.data(), s.map = map_;
  s.from = 1, s.to = 0, s.hop = h, s.batches = 1;
  s.offsets = lists_.relations[0].lists.offsets();
  s.to_ids = b_.all_ids.data(), s.to_batch = b_.all_batches.data();
  s.drawn = b_.drawn.data(), s.at = b_.at.data();
  draws_by(s, number, h, 0);
  with_id_type(lists_.relations[0].of.g->info, [&](auto id) { draw_lists<decltype(id)>(s, into); });
}
template <class Id>
void hop_stages::draw_lists(hop_of_relation s, sampling_response& into) {
  std::uint64_t* const c = b_.counters.data();
  std::uint64_t const n = into.counts.size();
  item_count const drawing = b_.counted(map_.drawing(0), n);
  for (;;) {  // repeats with larger buffers if they were too small
    b_.make_items(0);
    s.row = b_.row.data(), s.col = b_.col.data(), s.edge = b_.edge.data(), s.first = b_.first.data(), s.rank = b_.rank.data();
    s.room_items = b_.room.items, s.room_edges = nothing;
    for_each_item<1>(x_, map_.part(1), begin_batch{c, map_});
    x_.copy(c + map_.drawing(0), &n, sizeof n);
    count<Id>(s, drawing);
    std::uint64_t const wants = x_.read(c + counter_map::need_items);
    if (wants >= none)
      fail(errc::usage, "others request {} neighbors at once; the limit is 2^32; use a smaller window, mini-batch or fanout", wants);
    if (!x_.read(c + counter_map::over)) break;
    b_.room.items = wants + wants / 4;
  }
  choose<Id>(s, drawing);
  std::uint64_t const items = x_.read(c + counter_map::items);
  find<Id>(s, items);
  name(s, b_.items());
  if (lists_.relations[0].looks) for_each_item<1>(x_, drawing, count_sifted{s});
  into.neighbors.resize(items), into.edges.resize(o_.edge_ids ? items : 0);
  x_.copy(into.counts.data(), b_.drawn.data(), n * sizeof(std::uint32_t));
  x_.copy(into.neighbors.data(), b_.row.data(), items * sizeof(std::int64_t));
  if (o_.edge_ids) x_.copy(into.edges.data(), b_.edge.data(), items * sizeof(std::int64_t));
  x_.wait();
}
void hop_stages::number_drawn(some_batches batches, std::uint32_t h, sampling_response const& came) {
  hop_of_relation const s = shared(batches, h, 0);
  item_count const drawing = b_.drawing_for(0, batches.size());
  x_.copy(b_.drawn.data(), came.counts.data(), came.counts.size() * sizeof(std::uint32_t));
  scan(x_, s.drawn, s.at, drawing);
  for_each_item<1>(x_, s.batches, open_edges{s, false, true});
  x_.copy(b_.row.data(), came.neighbors.data(), came.neighbors.size() * sizeof(std::int64_t));
  if (o_.edge_ids) x_.copy(b_.edge.data(), came.edges.data(), came.edges.size() * sizeof(std::int64_t));
  for_each_item<32>(x_, drawing, take_drawn{s}, access_mode::merged, true);  // counts vary: a hub may have sampled all of its neighbors
  for_each_item<1>(x_, b_.items(), reach_drawn{s});
  number(s, batches, true);
}

}  // namespace garner
