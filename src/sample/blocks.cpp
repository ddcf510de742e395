// Runs the kernels of drawing.hpp in order, and allocates their buffers.
#include "sample/blocks.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <optional>

#include "core/exec.hpp"
#include "core/primitives.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/stats.hpp"
#include "graph/handle.hpp"
#include "graph/ranks.hpp"
#include "memory/budget.hpp"
#include "sample/drawing.hpp"
#include "sample/kept_lists.hpp"
#include "sample/lists.hpp"

namespace garner {

using namespace drawing;

struct block_sampler::parts::impl {
  struct type_parts {
    std::uint64_t vertices = 0;
    buffer<std::uint32_t> place;   // local number per vertex; `none` except during sampling
    buffer<std::uint64_t> hashed;  // hash table of local numbers, two words per slot
    std::uint64_t slots = 0;       // slots of the hash table in the current sampling
    std::uint64_t taken = 0;       // most slots used by a mini-batch so far; 0: unknown
    buffer<std::int64_t> times;
    bool is_source = false;  // a relation samples vertices of this type
  };
  struct relation_parts {
    inner_relation of;
    placed_lists lists;
    kept_lists kept;
    std::unique_ptr<list_windows> windows;  // set if the adjacency stays in its file
    pinned_pages pinned_times, pinned_places;
    std::int64_t const* times = nullptr;
    std::uint32_t const* places = nullptr;
    buffer<std::uint32_t> largest;  // largest weight per adjacency list, to sample long lists by weight without replacement
    bool far = false;
    std::uint64_t cached = 0;             // bytes of first_edge
    buffer<std::uint64_t> names, begins;  // for a graph in another vertex order
    std::vector<std::uint64_t> seen;      // most edges per hop so far
    template <class Id>
    csr_view<Id> view() const {
      return kept.with(lists.view<Id>());
    }
  };
  traffic_model model;
  executor x;
  block_options o;
  std::vector<type_parts> types;
  std::vector<relation_parts> relations;
  counter_map map;
  sampler_rooms room;
  // For a graph whose internal vertex order differs from the user's.
  memory_block inside, ranks;
  std::uint32_t inside_bytes = 4;

  buffer<std::uint64_t> counters, at, rank, keys, spare_keys;
  buffer<std::uint32_t> drawn, first;
  buffer<std::int64_t> row, col, edge, sifted_col, sifted_edge, tree_time;
  // For sampling several mini-batches at once: their vertices, and the mini-batch of each vertex.
  buffer<std::int64_t> all_ids;
  buffer<std::uint32_t> all_batches;
  std::uint64_t cached_arcs = 0;  // bytes of adjacency cached on the device
  std::size_t roomy_for = 1;      // most mini-batches that were sampled together so far
  bool sized = false, sized_for_several = false, torn = false;
  // For adjacency owned by other processes: the mini-batches being sampled, the
  // next hop, the results of earlier hops, and the requests of the current hop.
  struct split_window {
    std::vector<sampled_subgraph::parts*> batches;
    std::uint32_t hop = 0;
    std::vector<sampling_response> came;  // one per hop
    std::vector<std::uint64_t> counted;
    sampling_request asks;
  };
  split_window split;
  std::uint64_t hash_beyond;  // bytes of local numbers from which on a hash table is used
  wait_at_end settled{x};

  impl(execution_device where, std::vector<sampled_type> const& of_types, std::vector<inner_relation> of_relations,
       block_options const& options)
      : model(options.access),
        x(executor(where, &model), executor::urgent{}),  // runs alongside a model: few blocks, which wait for the link
        o(options),
        hash_beyond(places_beyond(x.on_device(), x.on_device() ? most_on_device(x.device()) : 0)) {
    map.types = static_cast<std::uint32_t>(of_types.size());
    map.relations = static_cast<std::uint32_t>(of_relations.size());
    map.hops = static_cast<std::uint32_t>(of_relations.empty() ? 0 : of_relations.front().fanouts.size());
    for (inner_relation& r : of_relations) {
      relation_parts p;
      p.lists = near_lists(x, *r.g, *r.lists);
      memory_block const& words = r.lists->packed_targets.empty() ? r.lists->targets : r.lists->packed_targets.words;
      p.far = r.g->in_file || (x.asynchronous() && !r.elsewhere && !in_device_memory(words.where()));
      if (r.g->in_file) p.windows = std::make_unique<list_windows>(x, *r.g);
      if (o.weighted && x.on_device() && p.lists.directory_bytes(true)) p.lists.cache_directory(x, true, "directory of compressed weights");
      if (o.graph_cache && !p.windows && (p.far || where.kind == device_kind::simulated)) {
        std::uint64_t const budget = *o.graph_cache / map.relations;
        std::span<float const> const scores = of_types[r.to].scores;
        if (scores.empty()) p.cached = p.lists.cache_first_arcs(x, budget, o.weighted);
        else p.kept.keep(x, *r.g, *r.lists, p.lists, scores, read_of_a_list(r), budget, o.weighted);
        cached_arcs += p.cached + p.kept.bytes();
      }
      if (o.weighted && !o.replace && !r.elsewhere && r.g->info.edges) {
        p.largest = {x.near(), r.g->info.vertices, x.device(), "the largest weight of each list"};
        x.fill(p.largest.data(), 0, p.largest.bytes());
        with_id_type(r.g->info, [&](auto id) {
          by_weight const by{p.view<decltype(id)>().weights, r.g->info.weights == weight_kind::f32};
          for_each_item<32>(x, r.g->info.vertices, largest_weight{p.lists.offsets(), by, p.largest.data()}, o.access, true);
        });
      }
      p.times = readable(x, r.times, p.pinned_times), p.places = readable(x, r.places, p.pinned_places);
      for (auto const& [from, to] : {std::pair{r.names, &p.names}, std::pair{r.begins, &p.begins}}) {
        *to = {x.near(), from.size(), x.device(), "names of a part's vertices"};
        x.copy(to->data(), from.data(), to->bytes());
      }
      p.seen.assign(map.hops, 0);
      p.of = std::move(r);
      relations.push_back(std::move(p));
    }
    for (std::size_t t = 0; t < of_types.size(); ++t) {
      type_parts p;
      p.vertices = of_types[t].vertices;
      p.is_source = std::any_of(relations.begin(), relations.end(), [&](auto const& r) { return r.of.from == t; });
      if (!of_types[t].times.empty() && o.temporal) {
        p.times = {x.near(), p.vertices, x.device(), "times of vertices"};
        x.copy(p.times.data(), of_types[t].times.data(), p.times.bytes());
      }
      types.push_back(std::move(p));
    }
    room.vertices.assign(map.types, 0);
    room.edges.assign(map.relations, 0);
    counters = {x.near(), map.part(most_together), x.device(), "counters of mini-batches"};
    x.wait();
    model.take();  // discards the reads that filled the caches
    o.scores = {};
  }

  // Maximum number of entries that sampling a vertex reads from its adjacency list.
  std::uint64_t read_of_a_list(inner_relation const& r) const {
    std::int64_t const most = *std::max_element(r.fanouts.begin(), r.fanouts.end()),
                       least = *std::min_element(r.fanouts.begin(), r.fanouts.end());
    return least < 0 || o.induced || o.weighted || o.labor || o.temporal ? nothing : static_cast<std::uint64_t>(most);
  }
  std::string told_of_kept(std::size_t r) const {
    relation_parts const& p = relations[r];
    if (std::uint64_t const n = p.kept.vertices())
      return fmt::format(", {} near: the lists of {} vertices by score, {} edges (and {} of where they are)",
                         format_bytes(p.kept.list_bytes()), n, p.kept.arcs(), format_bytes(p.kept.bytes() - p.kept.list_bytes()));
    return p.cached ? fmt::format(", {} near: the first {} edges", format_bytes(p.cached), p.lists.first_arcs()) : "";
  }

  void rename(graph const& g) {
    if (!g.by_id.bytes()) return;
    inside_bytes = g.info.id_bytes;
    auto const keep = [&](memory_block& to, void const* from) {
      to = memory_block(x.near(), g.by_id.bytes(), x.device(), "the order of vertices");
      x.copy(to.data(), from, to.bytes());
      x.wait();
    };
    keep(inside, g.by_id.data());
    with_id_type(g.info, [&](auto id) { keep(ranks, ranks_inside<decltype(id)>(g).data()); });
  }

  // --- sizes of buffers ---
  void guess(std::uint64_t seeds, std::uint64_t batches) {
    sized = true;
    std::vector<std::uint64_t> vertices;
    for (type_parts const& t : types) vertices.push_back(t.vertices);
    std::vector<sampled_size> sizes;
    for (relation_parts const& r : relations) sizes.push_back({r.of.g->info.edges, r.of.fanouts});
    sampler_rooms const first = first_rooms(vertices, sizes, o, seeds, batches);
    room.items = std::max(room.items, first.items);
    for (std::size_t t = 0; t < types.size(); ++t) room.vertices[t] = std::max(room.vertices[t], first.vertices[t]);
    for (std::size_t r = 0; r < relations.size(); ++r) room.edges[r] = std::max(room.edges[r], first.edges[r]);
  }
  // Enlarges the buffers to the counted needs. errc::usage if a hop samples too many neighbors for 32-bit counts.
  void grow(std::uint64_t const* c, std::uint64_t number, std::uint64_t seeds) {
    auto const more = [&](std::uint64_t& has, std::uint64_t wants) {
      if (wants > has) has = wants + wants / 4;
      if (wants >= none - seeds)
        fail(errc::usage,
             "mini-batch {} of {} seeds: a hop would draw {} neighbors, and 2^32 is the most; use a smaller mini-batch or fanout", number,
             seeds, wants);
    };
    for (type_parts& t : types) t.taken = 0;  // the next hash table is sized by the upper bound
    more(room.items, c[counter_map::needs_items]);
    for (std::uint32_t t = 0; t < map.types; ++t) more(room.vertices[t], c[map.need_vertices(t)]);
    for (std::uint32_t r = 0; r < map.relations; ++r) more(room.edges[r], c[map.need_edges(r)]);
  }
  // How many mini-batches, up to the given number, can be sampled together.
  std::uint32_t together(std::uint64_t wanted) const {
    if (map.types != 1 || map.relations != 1 || o.rule != hop_rule::last || o.disjoint || o.induced) return 1;
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 1, most_together));
  }
  // Whether vertices go into a hash table: one entry per vertex and mini-batch would overflow the processor's caches.
  bool hashes(std::size_t batches) const {
    bool const may = batches > 1 || relations[0].of.elsewhere;
    return o.disjoint || (may && batches * types[0].vertices * sizeof(std::uint32_t) > hash_beyond);
  }
  template <class T>
  bool make(buffer<T>& b, std::uint64_t n, char const* what = "a mini-batch") {
    return garner::grow(x, b, n, n, what, x.near());
  }
  // Whether sampling reads every entry of an adjacency list.
  bool looks(relation_parts const& r) const { return o.weighted || (o.temporal && !r.of.in_time_order); }
  bool looks() const {
    return std::any_of(relations.begin(), relations.end(), [&](relation_parts const& r) { return looks(r); });
  }
  bool far() const {
    return std::any_of(relations.begin(), relations.end(), [](relation_parts const& r) { return r.far; });
  }
  // Slots of a hash table: twice the upper bound, or twice 1.25 times the most so far. open_edges() checks that they suffice.
  std::uint64_t slots(std::size_t t, std::span<sampled_subgraph::parts* const> batches) const {
    std::uint64_t most = room.vertices[t] * batches.size() + (types[t].is_source ? room.items : 0), seeds = 0;
    for (sampled_subgraph::parts const* b : batches)
      for (sampled_subgraph::parts::group const& g : b->groups) seeds += g.type == t ? g.count : 0;
    if (std::uint64_t const n = types[t].taken) most = std::min(most, (n + n / 4) * batches.size() + seeds);
    return std::bit_ceil(2 * most + 2);
  }
  void make_rooms(std::span<sampled_subgraph::parts* const> batches) {
    roomy_for = std::max(roomy_for, batches.size());
    std::uint64_t const most = *std::max_element(room.vertices.begin(), room.vertices.end()) * batches.size();
    make(drawn, most), make(at, most + 1), make(first, room.items), make(rank, room.items + 1);
    make(row, room.items), make(col, room.items), make(edge, room.items);
    if (looks()) make(sifted_col, room.items), make(sifted_edge, room.items);
    if (far() || o.induced) make(keys, room.items), make(spare_keys, std::max(room.items, most));
    if (batches.size() > 1) {
      make(all_ids, most), make(all_batches, most);
    }
    for (std::size_t t = 0; t < types.size(); ++t) {
      if (hashes(batches.size())) {
        types[t].slots = slots(t, batches);
        make(types[t].hashed, 2 * types[t].slots, "local numbers of vertices");
      } else if (make(types[t].place, types[t].vertices * batches.size(), "local numbers of vertices")) {
        x.fill(types[t].place.data(), 0xff, types[t].place.bytes());
      }
    }
    for (sampled_subgraph::parts* b : batches) {
      b->types.resize(map.types), b->relations.resize(map.relations);
      for (std::size_t t = 0; t < types.size(); ++t) {
        make(b->types[t].ids, room.vertices[t]);
        if (o.disjoint) make(b->types[t].tree, room.vertices[t]);
      }
      for (std::size_t r = 0; r < relations.size() && o.edges; ++r) {
        make(b->relations[r].pairs, 2 * room.edges[r]);
        if (o.edge_ids) make(b->relations[r].edge, room.edges[r]);
      }
      if (b->counted.size() < map.own()) b->counted = {tier::host, map.own(), x.device(), "counters of a mini-batch"};
    }
  }
  std::uint64_t bytes() const {
    std::uint64_t n = cached_arcs + counters.bytes() + at.bytes() + rank.bytes() + keys.bytes() + spare_keys.bytes() + drawn.bytes() +
                      first.bytes() + row.bytes() + col.bytes() + edge.bytes() + sifted_col.bytes() + sifted_edge.bytes() +
                      tree_time.bytes() + all_ids.bytes() + all_batches.bytes() + inside.bytes() + ranks.bytes();
    for (type_parts const& t : types) n += t.place.bytes() + t.hashed.bytes() + t.times.bytes();
    for (relation_parts const& r : relations) n += r.largest.bytes();
    return n;
  }

  // --- mini-batches ---
  using some_batches = std::span<sampled_subgraph::parts* const>;
  place_table table_of(std::uint32_t t, std::uint64_t seeds, std::size_t batches) const {
    type_parts const& of = types[t];
    if (!hashes(batches)) return {of.place.data(), nullptr, 0, 1, of.vertices, batches};
    return place_table::of_slots(of.hashed.data(), of.slots, o.disjoint ? std::max<std::uint64_t>(1, seeds) : 1, of.vertices, batches);
  }
  item_count counted(std::uint32_t counter, std::uint64_t most) const { return {counters.data() + counter, most}; }
  item_count so_far(some_batches batches, std::uint32_t t) const { return counted(map.total(t), room.vertices[t] * batches.size()); }

  // Samples mini-batches. together() allows their number, and they are numbered consecutively.
  void give(some_batches batches) {
    auto const n = static_cast<std::uint32_t>(batches.size());
    bool const all = o.rule == hop_rule::all;
    auto const clock = std::chrono::steady_clock::now();
    open(batches);
    for (std::uint32_t h = 0; h < map.hops; ++h) {
      for_each_item<1>(x, n, begin_hop{counters.data(), map, h, all});
      for (std::uint32_t r = 0; r < map.relations; ++r)
        if (relations[r].of.fanouts[h] != 0) with_id_type(relations[r].of.g->info, [&](auto id) { hop<decltype(id)>(batches, h, r); });
    }
    for_each_item<1>(x, n, begin_hop{counters.data(), map, map.hops, all});
    if (o.induced && o.edges) {
      for_each_item<1>(x, n, begin_hop{counters.data(), map, map.hops, true});  // all vertices, not only those of the last hop
      for (std::uint32_t r = 0; r < map.relations; ++r)
        with_id_type(relations[r].of.g->info, [&](auto id) { induced<decltype(id)>(batches, r); });
      for_each_item<1>(x, n, begin_hop{counters.data(), map, map.hops, true});
    }
    close(batches);
    if (x.asynchronous()) return;
    double const ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - clock).count();
    for (sampled_subgraph::parts* b : batches) b->ms = ms / n;
  }
  // Begins mini-batches: clears their counters and takes their seeds.
  void open(some_batches batches) {
    check_interrupted();
    bool const dirty = std::exchange(torn, true);  // an interrupted sampling left its local numbers behind
    make_rooms(batches);
    if (dirty)
      for (type_parts const& t : types) x.fill(t.place.data(), 0xff, t.place.bytes());
    std::uint64_t* const c = counters.data();
    auto const n = static_cast<std::uint32_t>(batches.size());
    bool const several = n > 1;
    for (sampled_subgraph::parts* b : batches) b->begun.record(x);
    for_each_item<1>(x, map.part(n), begin_batch{c, map});
    if (hashes(n))
      for (type_parts const& t : types) x.fill(t.hashed.data(), 0xff, 2 * t.slots * sizeof(std::uint64_t));
    std::uint64_t before = 0;
    for (std::uint32_t k = 0; k < n; ++k) {
      sampled_subgraph::parts& b = *batches[k];
      if (o.temporal) garner::grow(x, tree_time, b.seeds, b.seeds + b.seeds / 2, "times of seeds", x.near());
      for (sampled_subgraph::parts::group const& g : b.groups) {
        std::int64_t* const ids = b.types[g.type].ids.data();
        // Without seeds the counters are zero already.
        for_each_item<1>(
            x, g.count,
            take_seeds{c, map, g.type, g.first, several ? before : 0, k, g.count, g.seeds, g.times, types[g.type].times.data(),
                       types[g.type].vertices, inside.data(), inside_bytes, table_of(g.type, b.seeds, n), several ? all_ids.data() : ids,
                       ids, b.types[g.type].tree.data(), several ? all_batches.data() : nullptr, o.temporal ? tree_time.data() : nullptr});
        if (several && g.count == 0) for_each_item<1>(x, 1, no_seeds{c, map, k, before});
        before += g.count;
      }
    }
  }
  // Ends mini-batches: clears local numbers for the next ones, and translates vertices to the user's ids.
  void close(some_batches batches) {
    std::uint64_t* const c = counters.data();
    auto const n = static_cast<std::uint32_t>(batches.size());
    bool const several = n > 1, by_hash = hashes(n);
    for (std::uint32_t t = 0; t < map.types; ++t) {
      std::int64_t const* const ids = several ? all_ids.data() : batches[0]->types[t].ids.data();
      if (!by_hash) for_each_item<1>(x, so_far(batches, t), forget{ids, several ? all_batches.data() : nullptr, table_of(t, 0, n)});
      if (ranks.bytes())
        for (std::uint32_t k = 0; k < n; ++k)
          for_each_item<1>(x, counted(map.part(k) + map.count(t), room.vertices[t]),
                           name_by_position{batches[k]->types[t].ids.data(), ranks.data(), inside_bytes == 8});
    }
    for (std::uint32_t k = 0; k < n; ++k) {
      x.copy(batches[k]->counted.data(), c + map.part(k), map.own() * sizeof *c);
      batches[k]->done.record(x);
      batches[k]->together = n;
    }
    torn = false;
  }

  hop_of_relation shared(some_batches batches, std::uint32_t h, std::uint32_t r) const {
    relation_parts const& rel = relations[r];
    sampled_subgraph::parts& b = *batches[0];
    sampled_subgraph::parts::of_type &from = b.types[rel.of.from], &to = b.types[rel.of.to];
    bool const several = batches.size() > 1;
    hop_of_relation s{};
    s.c = counters.data(), s.map = map;
    s.from = rel.of.from, s.to = rel.of.to, s.relation = r, s.hop = h, s.batches = static_cast<std::uint32_t>(batches.size());
    s.all = o.rule == hop_rule::all;
    s.offsets = rel.lists.offsets();
    s.from_ids = several ? all_ids.data() : from.ids.data(), s.to_ids = several ? all_ids.data() : to.ids.data();
    s.from_batch = s.to_batch = several ? all_batches.data() : nullptr;
    s.from_tree = o.disjoint ? from.tree.data() : nullptr, s.to_tree = o.disjoint ? to.tree.data() : nullptr;
    s.places = table_of(rel.of.from, b.seeds, batches.size());
    s.drawn = drawn.data(), s.at = at.data();
    s.row = row.data(), s.col = col.data(), s.edge = edge.data();
    s.first = first.data(), s.rank = rank.data();
    // If edges are not stored, their number is unlimited.
    s.room_items = room.items, s.room_edges = o.edges ? room.edges[r] : nothing, s.room_vertices = room.vertices[rel.of.from];
    draws_by(s, b.number, h, r);
    return s;
  }
  void draws_by(hop_of_relation& s, std::uint64_t number, std::uint32_t h, std::uint32_t r) const {
    s.fanout = relations[r].of.fanouts[std::min<std::size_t>(h, map.hops - 1)];
    // Eight hops share a seed, and each has its own random stream. Further hops and further relations have other seeds.
    std::uint64_t const other = std::uint64_t{r} << 32 | h / 8;
    s.seed = other ? mix(o.seed ^ mix(other)) : o.seed, s.stream = number * 8 + h % 8;
    if (o.labor) s.seed = o.seed, s.stream = number * 8;  // one number per neighbor, for all hops and relations
    s.replace = o.replace;
    s.names = relations[r].names.data(), s.first_name = relations[r].of.first_name;
  }
  template <class Body>
  Body with_outputs(Body body, some_batches batches, std::uint32_t r, bool edges) const {
    for (std::size_t k = 0; k < batches.size(); ++k) {
      sampled_subgraph::parts::of_relation& e = batches[k]->relations[r];
      body.to_batches[k] = {batches[k]->types[relations[r].of.from].ids.data(), edges ? e.rows() : nullptr, edges ? e.cols() : nullptr,
                            edges && o.edge_ids ? e.edge.data() : nullptr};
    }
    return body;
  }

  template <class Id>
  void hop(some_batches batches, std::uint32_t h, std::uint32_t r) {
    hop_of_relation const s = shared(batches, h, r);
    item_count const drawing = counted(map.drawing(s.to), room.vertices[s.to] * batches.size());
    count<Id>(s, drawing);
    choose<Id>(s, drawing);
    find<Id>(s, relations[r].seen[h] * batches.size());
    number(s, batches, true);
  }
  // Calls f with the array that defines the times of these edges.
  template <class Id, class F>
  void with_times(hop_of_relation const& s, F const& f) const {
    relation_parts const& rel = relations[s.relation];
    bool const latest = o.temporal == temporal_rule::last;
    if (rel.times) f(by_time_of_edge{{latest}, rel.times});
    else f(by_time_of_vertex<Id>{{latest}, rel.template view<Id>().targets, types[s.from].times.data()});
  }
  // Calls f with the entries that are sampled without reading each of them.
  template <class Id, class F>
  void with_entries(hop_of_relation const& s, F const& f) const {
    if (!o.temporal || looks(relations[s.relation])) f(all_entries{});
    else with_times<Id>(s, [&](auto const& by) { f(entries_in_time<std::decay_t<decltype(by)>>{by.latest, by, tree_time.data()}); });
  }
  // Counts the entries that each vertex samples, or reads.
  template <class Id>
  void count(hop_of_relation const& s, item_count drawing) {
    with_entries<Id>(s, [&](auto const& entries) { for_each_item<1>(x, drawing, tally<std::decay_t<decltype(entries)>>{s, entries}); });
    scan(x, s.drawn, s.at, drawing);
    bool const looked_at = looks(relations[s.relation]);
    for_each_item<1>(x, s.batches, open_edges{s, looked_at, !looked_at});
  }
  // Chooses the entries that each vertex samples.
  template <class Id>
  void choose(hop_of_relation const& s, item_count drawing) {
    relation_parts const& rel = relations[s.relation];
    if (o.weighted) drawn_by(s, drawing, by_weight{rel.template view<Id>().weights, rel.of.g->info.weights == weight_kind::f32});
    else if (o.labor)
      for_each_item<32>(x, drawing, draw_by<by_neighbor_alone<Id>>{s, {rel.template view<Id>().targets}, nullptr}, o.access, true);
    else if (looks(rel)) with_times<Id>(s, [&](auto const& by) { drawn_by(s, drawing, by); });
    else
      with_entries<Id>(s, [&](auto const& entries) {
        for_each_item<1>(x, drawing, drawing::draw<std::decay_t<decltype(entries)>>{s, entries});
      });
  }
  template <class By>
  void drawn_by(hop_of_relation const& s, item_count drawing, By const& by) {
    hop_of_relation unsifted = s;
    unsifted.col = sifted_col.data(), unsifted.edge = sifted_edge.data();
    std::int64_t const* const limit = o.temporal ? tree_time.data() : nullptr;
    if constexpr (By::arrives)
      if (!o.replace) for_each_item<1>(x, drawing, try_entries{unsifted, by, relations[s.relation].largest.data()});
    for_each_item<32>(x, drawing, draw_by<By>{unsifted, by, limit}, o.access, true);
    if (By::arrives && o.replace) for_each_item<1>(x, drawing, draw_again{unsifted});
    item_count const looked_at = counted(counter_map::looked_at, room.items);
    for_each_item<1>(x, looked_at, allowed<By>{unsifted, by, limit}, access_mode::merged);
    scan(x, s.first, s.rank, looked_at);
    for_each_item<1>(x, s.batches, open_edges{s, true, true});
    for_each_item<1>(x, looked_at, sift{s, unsifted.col, unsifted.edge});
  }

  // Looks up the neighbors at the sampled edges.
  template <class Id>
  void find(hop_of_relation const& s, std::uint64_t expected) {
    item_count const items = counted(counter_map::items, room.items);
    std::uint64_t ordered = 0;
    std::uint64_t const* order = nullptr;
    if (relations[s.relation].windows) {
      fetch_from_file<Id>(s);
    } else if (relations[s.relation].far && expected > far_reads_worth_an_order) {
      ordered = std::min(room.items, expected + expected / 8);
      std::uint64_t const arcs = relations[s.relation].of.g->info.edges, least = sizeof(Id) == 8 ? 13 : 14;  // pages of at least 64 KiB
      auto const shift =
          static_cast<std::uint32_t>(std::max<std::uint64_t>(least, std::bit_width(arcs) > 16 ? std::bit_width(arcs) - 16 : 0));
      std::uint64_t const pages = (arcs >> shift) + 1;
      for_each_item<1>(x, ordered, page_of_edge{s, keys.data(), shift, pages});
      order = sort(x, {keys.data(), ordered}, {spare_keys.data(), ordered}, static_cast<int>(std::bit_width(pages))).data();
    }
    if (!relations[s.relation].windows) fetch_all<Id>(s, items, order, ordered);
  }
  void name(hop_of_relation const& s, item_count items) {
    relation_parts const& r = relations[s.relation];
    if (!o.edge_ids || (!r.places && !r.of.first_edge)) return;
    for_each_item<1>(x, items, name_edges{s, r.begins.data(), r.places, r.of.first_edge}, access_mode::merged);
  }
  // Assigns local numbers to the neighbors.
  void number(hop_of_relation const& s, some_batches batches, bool finds_vertices) {
    item_count const items = counted(counter_map::items, room.items);
    if (finds_vertices) {
      for_each_item<1>(x, items, mark_first{s});
      scan(x, s.first, s.rank, items);
      for_each_item<1>(x, s.batches, open_vertices{s});
      for_each_item<1>(x, items, with_outputs(take_place{s, {}}, batches, s.relation, false));
    }
    if (o.edges && (finds_vertices ? !o.induced : true)) {
      name(s, items);
      for_each_item<1>(x, items, with_outputs(number_edges{s, {}}, batches, s.relation, true));
    }
    for_each_item<1>(x, s.batches, end_relation{s, finds_vertices, finds_vertices && o.induced});
    if (finds_vertices) for_each_item<1>(x, 1, end_hop{s});
  }
  static constexpr std::uint64_t far_reads_worth_an_order = 1u << 15;
  // 1,024 threads with one read each fill the link. More threads would only wait in cache queues and delay a model that runs meanwhile.
  static constexpr unsigned far_blocks = 4;

  // Reads edges in the order of the file, as many at once as a staging buffer holds. The host plans the reads, so it waits for the edges.
  template <class Id>
  void fetch_from_file(hop_of_relation const& s) {
    relation_parts& rel = relations[s.relation];
    x.wait();
    std::uint64_t const n = std::min(room.items, x.read(s.c + counter_map::items));
    if (n == 0 || x.read(s.c + counter_map::over)) return;
    std::uint64_t const blocks = rel.of.g->info.edges / 32 + 1;
    for_each_item<1>(x, n, page_of_edge{s, keys.data(), 5, blocks});
    std::uint64_t const* const order = sort(x, {keys.data(), n}, {spare_keys.data(), n}, static_cast<int>(std::bit_width(blocks))).data();
    std::uint64_t const* order_home = order;
    std::int64_t const* edge_home = s.edge;
    std::vector<std::uint64_t> orders;
    std::vector<std::int64_t> edges;
    if (x.asynchronous()) {
      orders.resize(n), edges.resize(n);
      x.copy(orders.data(), order, n * sizeof(std::uint64_t));
      x.copy(edges.data(), s.edge, n * sizeof(std::int64_t));
      order_home = orders.data(), edge_home = edges.data();
    }
    x.wait();
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
          if (!packed) for_each_item<1>(x, count, fetch<Id, false>{s, v, order + w.first, count, w.targets_at}, access_mode::merged);
          else if constexpr (sizeof(Id) == 4)
            for_each_item<1>(x, count, fetch<Id, true>{s, v, order + w.first, count, w.targets_at}, access_mode::merged);
        });
  }

  template <class Id>
  void fetch_all(hop_of_relation const& s, item_count items, std::uint64_t const* order, std::uint64_t ordered) {
    csr_view<Id> const v = relations[s.relation].template view<Id>();
    std::optional<limited_share> few;
    if (relations[s.relation].far) few.emplace(x, far_blocks, 1024);
    // Neighboring edges may be adjacent in memory. Each thread reads one edge, so prefetching a cache line would not help.
    if (!v.targets.packed) for_each_item<1>(x, items, fetch<Id, false>{s, v, order, ordered, nullptr}, access_mode::merged);
    else if constexpr (sizeof(Id) == 4) for_each_item<1>(x, items, fetch<Id, true>{s, v, order, ordered, nullptr}, access_mode::merged);
  }

  template <class Id>
  void induced(some_batches batches, std::uint32_t r) {
    hop_of_relation s = shared(batches, map.hops, r);
    s.all = true;
    csr_view<Id> const v = relations[r].template view<Id>();
    if (!v.targets.packed) list_all<Id, false>(s, v);
    else if constexpr (sizeof(Id) == 4) list_all<Id, true>(s, v);
    find<Id>(s, 0);
    number(s, batches, false);
  }
  template <class Id, bool Packed>
  void list_all(hop_of_relation const& s, csr_view<Id> const& v) {
    item_count const drawing = counted(map.drawing(s.to), room.vertices[s.to]), items = counted(counter_map::items, room.items);
    for_each_item<32>(x, drawing, tally_induced<Id, Packed>{s, v}, o.access, true);
    scan(x, s.drawn, s.at, drawing);
    for_each_item<1>(x, s.batches, open_edges{s, false, true});
    std::uint64_t* const cursor = spare_keys.data();
    for_each_item<1>(x, drawing, copy_values{s.at, cursor});
    x.fill(keys.data(), 0xff, room.items * sizeof(std::uint64_t));
    for_each_item<32>(x, drawing, list_induced<Id, Packed>{s, v, keys.data(), cursor}, o.access, true);
    std::uint64_t const* const order = sort(x, {keys.data(), room.items}, {spare_keys.data(), room.items}).data();
    for_each_item<1>(x, items, take_induced{s, order});
  }

  // --- adjacency split over processes ---
  template <class Id>
  void draw_lists(hop_of_relation s, sampling_response& into) {
    std::uint64_t* const c = counters.data();
    std::uint64_t const n = into.counts.size();
    item_count const drawing = counted(map.drawing(0), n);
    for (;;) {  // repeats with larger buffers if they were too small
      make(first, room.items), make(rank, room.items + 1), make(row, room.items), make(col, room.items), make(edge, room.items);
      if (looks()) make(sifted_col, room.items), make(sifted_edge, room.items);
      if (far()) make(keys, room.items), make(spare_keys, room.items);
      s.row = row.data(), s.col = col.data(), s.edge = edge.data(), s.first = first.data(), s.rank = rank.data();
      s.room_items = room.items, s.room_edges = nothing;
      for_each_item<1>(x, map.part(1), begin_batch{c, map});
      x.copy(c + map.drawing(0), &n, sizeof n);
      count<Id>(s, drawing);
      std::uint64_t const wants = x.read(c + counter_map::need_items);
      if (wants >= none)
        fail(errc::usage, "others request {} neighbors at once; the limit is 2^32; use a smaller window, mini-batch or fanout", wants);
      if (!x.read(c + counter_map::over)) break;
      room.items = wants + wants / 4;
    }
    choose<Id>(s, drawing);
    std::uint64_t const items = x.read(c + counter_map::items);
    find<Id>(s, items);
    name(s, counted(counter_map::items, room.items));
    if (looks(relations[0])) for_each_item<1>(x, drawing, count_sifted{s});
    into.neighbors.resize(items), into.edges.resize(o.edge_ids ? items : 0);
    x.copy(into.counts.data(), drawn.data(), n * sizeof(std::uint32_t));
    x.copy(into.neighbors.data(), row.data(), items * sizeof(std::int64_t));
    if (o.edge_ids) x.copy(into.edges.data(), edge.data(), items * sizeof(std::int64_t));
    x.wait();
  }
  sampling_response draw_lists(std::uint64_t number, std::uint32_t h, std::span<std::int64_t const> vertices,
                               std::span<std::uint32_t const> batches) {
    check_interrupted();
    std::uint64_t const n = vertices.size();
    sampling_response into;
    into.counts.resize(n);
    if (n == 0) return into;
    auto const room_for = [&](auto& b, std::uint64_t least) { garner::grow(x, b, least, least + n / 4, "a mini-batch", x.near()); };
    room_for(all_ids, n), room_for(all_batches, n), room_for(drawn, n), room_for(at, n + 1);
    x.copy(all_ids.data(), vertices.data(), vertices.size_bytes());
    x.copy(all_batches.data(), batches.data(), batches.size_bytes());
    hop_of_relation s{};
    s.c = counters.data(), s.map = map;
    s.from = 1, s.to = 0, s.hop = h, s.batches = 1;
    s.offsets = relations[0].lists.offsets();
    s.to_ids = all_ids.data(), s.to_batch = all_batches.data();
    s.drawn = drawn.data(), s.at = at.data();
    draws_by(s, number, h, 0);
    with_id_type(relations[0].of.g->info, [&](auto id) { draw_lists<decltype(id)>(s, into); });
    return into;
  }

  void begin_split(some_batches batches) {
    split.batches.assign(batches.begin(), batches.end());
    split.came.clear(), split.asks = {};
    restart_split();
    go_on();
  }
  void restart_split() {
    open(split.batches);
    split.hop = 0;
    next_hop();
  }
  // Begins hop split.hop and copies its counters to the host.
  void next_hop() {
    auto const n = split.batches.size();
    for_each_item<1>(x, n, begin_hop{counters.data(), map, split.hop, false});
    split.counted.resize(map.part(n));
    x.copy(split.counted.data(), counters.data(), map.part(n) * sizeof(std::uint64_t));
    x.wait();
  }
  // Continues as far as the received data allows. If memory runs out, all hops are redone from that data; nothing is requested twice.
  void go_on() {
    some_batches const batches = split.batches;
    auto const fanout = [&] { return relations[0].of.fanouts[split.hop]; };
    while (split.hop < map.hops && (split.hop < split.came.size() || fanout() == 0)) {
      std::uint64_t const comes = fanout() == 0 ? 0 : split.came[split.hop].neighbors.size();
      if (comes > room.items) {
        room.items = comes + comes / 4;
        restart_split();
        continue;
      }
      if (fanout() != 0) number_drawn(batches, split.came[split.hop]);
      ++split.hop;
      next_hop();
      if (split.counted[counter_map::over]) {
        for (std::size_t k = 0; k < batches.size(); ++k) grow(split.counted.data() + map.part(k), batches[k]->number, batches[k]->seeds);
        restart_split();
      }
    }
    if (split.hop == map.hops) {
      close(batches);
      x.wait();
      for (sampled_subgraph::parts* b : batches) b->pending = true;
      split.asks = {};
      return;
    }
    split.asks.more = true, split.asks.hop = split.hop;
    std::uint64_t const begin = split.counted[map.begin(0)], n = split.counted[map.drawing(0)];
    split.asks.vertices.resize(n), split.asks.batches.assign(n, 0);
    bool const several = batches.size() > 1;
    x.copy(split.asks.vertices.data(), (several ? all_ids.data() : batches[0]->types[0].ids.data()) + begin, n * sizeof(std::int64_t));
    if (several) x.copy(split.asks.batches.data(), all_batches.data() + begin, n * sizeof(std::uint32_t));
    x.wait();
  }
  void number_drawn(some_batches batches, sampling_response const& came) {
    hop_of_relation const s = shared(batches, split.hop, 0);
    item_count const drawing = counted(map.drawing(0), room.vertices[0] * batches.size()), items = counted(counter_map::items, room.items);
    x.copy(drawn.data(), came.counts.data(), came.counts.size() * sizeof(std::uint32_t));
    scan(x, s.drawn, s.at, drawing);
    for_each_item<1>(x, s.batches, open_edges{s, false, true});
    x.copy(row.data(), came.neighbors.data(), came.neighbors.size() * sizeof(std::int64_t));
    if (o.edge_ids) x.copy(edge.data(), came.edges.data(), came.edges.size() * sizeof(std::int64_t));
    for_each_item<32>(x, drawing, take_drawn{s}, access_mode::merged, true);  // counts vary: a hub may have sampled all of its neighbors
    for_each_item<1>(x, items, reach_drawn{s});
    number(s, batches, true);
  }
};

block_sampler::parts::parts(execution_device where, std::vector<sampled_type> types, std::vector<inner_relation> relations,
                            block_options const& options, bool renamed) {
  block_options o = options;
  if (o.temporal) o.disjoint = true;
  graph const* const first = relations.empty() ? nullptr : relations.front().g;
  auto const note = [&](std::uint64_t value) { fingerprint = mix(fingerprint + 0x9e3779b97f4a7c15ull) ^ mix(value + 1); };
  for (std::uint64_t const k :
       {o.seed, static_cast<std::uint64_t>(o.rule), std::uint64_t{o.replace}, std::uint64_t{o.disjoint}, std::uint64_t{o.weighted},
        o.temporal ? 1 + static_cast<std::uint64_t>(*o.temporal) : 0, std::uint64_t{o.induced}})
    note(k);
  if (o.labor) note(1);
  for (inner_relation const& r : relations) {
    note(r.g->info.vertices), note(r.g->info.edges), note(r.from), note(r.to);
    for (std::int64_t const f : r.fanouts) note(static_cast<std::uint64_t>(f));
  }
  impl_ = std::make_unique<impl>(where, types, std::move(relations), o);
  if (renamed && first) impl_->rename(*first);
  for (std::size_t r = 0; r < impl_->relations.size(); ++r) kept_near.push_back(impl_->told_of_kept(r));
}
block_sampler::parts::~parts() = default;
sampler_rooms first_rooms(std::span<std::uint64_t const> types, std::span<sampled_size const> relations, block_options const& o,
                          std::uint64_t seeds, std::uint64_t batches) {
  sampler_rooms room{0, {}, std::vector<std::uint64_t>(relations.size(), 0)};
  std::uint64_t const reason = std::max<std::uint64_t>(1u << 17, (1u << 20) / batches);
  std::uint64_t all = seeds, of_types = 0;
  for (std::uint64_t const vertices : types) of_types += vertices;
  if (o.disjoint) of_types = nothing - seeds;
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

executor& block_sampler::parts::at() { return impl_->x; }
void block_sampler::parts::hash_beyond(std::uint64_t bytes) { impl_->hash_beyond = bytes; }
bool block_sampler::parts::far() const { return impl_->far(); }
traffic block_sampler::parts::take_traffic() { return impl_->model.take(); }
std::uint64_t block_sampler::parts::bytes() const { return impl_->bytes(); }
double block_sampler::parts::bytes_each() const {
  return static_cast<double>(impl_->bytes() - impl_->cached_arcs) / static_cast<double>(impl_->roomy_for);
}
std::uint64_t block_sampler::parts::vertices(std::uint32_t type) const {
  if (type >= impl_->types.size()) fail(errc::usage, "vertices of type {}: there are {} types", type, impl_->types.size());
  return impl_->types[type].vertices;
}
std::uint64_t block_sampler::parts::edges(std::uint32_t relation) const {
  if (relation >= impl_->relations.size()) fail(errc::usage, "edges of relation {}: there are {}", relation, impl_->relations.size());
  if (!impl_->o.edge_ids) fail(errc::usage, "tables of edges: this sampler does not name the edges it samples; make it with edge_ids");
  return impl_->relations[relation].of.g->info.edges;
}

void block_sampler::parts::start(sampled_subgraph::parts& b, std::uint64_t number, std::span<typed_seeds const> seeds, bool near) {
  prepare(b, number, seeds, near);
  sampled_subgraph::parts* const one = &b;
  give({&one, 1});
}
void block_sampler::parts::give(std::span<sampled_subgraph::parts* const> batches) {
  impl& s = *impl_;
  for (std::size_t k = 0; k < batches.size();) {
    std::size_t n = 1;
    while (k + n < batches.size() && batches[k + n]->number == batches[k]->number + n) ++n;
    n = s.together(n);
    impl::some_batches const some = batches.subspan(k, n);
    // The buffers hold at least the seeds.
    std::uint64_t most = 0;
    bool too_small = !s.sized;
    for (sampled_subgraph::parts const* b : some) {
      most = std::max(most, b->seeds);
      for (sampled_subgraph::parts::group const& g : b->groups)
        too_small |= s.room.vertices[g.type] < b->seeds || (s.o.disjoint && 2 * s.room.vertices[g.type] < b->seeds);
    }
    if (too_small || (n > 1 && !std::exchange(s.sized_for_several, true))) s.guess(most, n);
    s.give(some);
    for (sampled_subgraph::parts* b : some) b->pending = true;
    k += n;
  }
}

sampling_response block_sampler::parts::draw(std::uint64_t number, std::uint32_t hop, std::span<std::int64_t const> vertices,
                                             std::span<std::uint32_t const> batches) {
  return impl_->draw_lists(number, hop, vertices, batches);
}
void block_sampler::parts::begin(std::span<sampled_subgraph::parts* const> prepared) {
  impl& s = *impl_;
  std::uint64_t most = 0;
  for (sampled_subgraph::parts const* b : prepared) most = std::max(most, b->seeds);
  if (!std::exchange(s.sized, true) || s.room.vertices[0] < most) s.guess(most, prepared.size());
  s.begin_split(prepared);
}
void block_sampler::parts::take(sampling_response came) {
  impl& s = *impl_;
  s.split.came.resize(s.split.hop + 1);  // hops that were skipped sampled nothing
  s.split.came.back() = std::move(came);
  s.go_on();
}
sampling_request const& block_sampler::parts::asks() const { return impl_->split.asks; }

void block_sampler::parts::prepare(sampled_subgraph::parts& b, std::uint64_t number, std::span<typed_seeds const> seeds, bool near) {
  impl& s = *impl_;
  std::uint64_t count = 0;
  std::vector<bool> given(s.types.size());
  for (auto const& [type, ids, times] : seeds) {
    if (type >= s.types.size()) fail(errc::usage, "seeds of type {}: there are {} types of vertices", type, s.types.size());
    if (given[type]) fail(errc::usage, "mini-batch {}: seeds of type {} twice; give those of a type together", number, type);
    given[type] = true;
    if (s.o.temporal && times.empty() && !ids.empty() && s.types[type].times.empty())
      fail(errc::usage, "mini-batch {}: temporal sampling from seeds that have no times; give each one", number);
    if (!times.empty() && times.size() != ids.size())
      fail(errc::usage, "mini-batch {}: {} times for {} seeds", number, times.size(), ids.size());
    if (!ids.empty() && s.types[type].vertices == 0)
      fail_id("mini-batch {}: {} seeds of type {}, which has no vertices", number, ids.size(), type);
    count += ids.size();
  }
  if (count >= none) fail(errc::usage, "a mini-batch of {} seeds; 2^32 - 2 is the most", count);
  b.done.wait();
  b.number = number, b.seeds = count, b.where = s.x.where();
  auto const staged = [&](buffer<std::int64_t>& to, std::uint64_t first, std::span<std::int64_t const> from) -> std::int64_t const* {
    if (near || from.empty()) return from.data();
    if (s.x.asynchronous() && device::owns(s.x.device(), from.data())) return from.data();
    if (to.size() < count) to = {tier::host, count, s.x.device(), "seeds of a mini-batch"};
    std::copy_n(from.data(), from.size(), to.data() + first);
    return to.data() + first;
  };
  b.groups.clear();
  std::uint64_t first = 0;
  for (auto const& [type, ids, times] : seeds) {
    b.groups.push_back(
        {type, first, ids.size(), staged(b.seed_room, first, ids), times.empty() ? nullptr : staged(b.time_room, first, times)});
    first += ids.size();
  }
}

void block_sampler::parts::finish(sampled_subgraph::parts& b) {
  impl& s = *impl_;
  if (!b.pending) fail(errc::usage, "this mini-batch was not started, or is finished; call start() first");
  b.pending = false;
  for (;;) {
    b.done.wait();
    std::uint64_t const* const c = b.counted.data();
    if (c[counter_map::bad] != nothing) {
      std::uint64_t const i = c[counter_map::bad];
      auto const g = std::find_if(b.groups.begin(), b.groups.end(), [&](auto const& one) { return i - one.first < one.count; });
      std::int64_t const id = s.x.read(g->seeds + (i - g->first));
      fail_id("seed {} at position {} of mini-batch {}: there are vertices 0 to {}{}", id, i, b.number, s.types[g->type].vertices - 1,
              s.types.size() > 1 ? fmt::format(" of type {}", g->type) : "");
    }
    if (!c[counter_map::was_over]) break;
    s.x.wait();
    s.grow(c, b.number, b.seeds);
    sampled_subgraph::parts* const one = &b;
    s.give({&one, 1});
  }
  std::uint64_t const* const c = b.counted.data();
  counter_map const& map = s.map;
  b.drawn = c[counter_map::drawn];
  if (s.x.asynchronous()) b.ms = b.begun.ms_until(b.done) / b.together;
  for (std::uint32_t t = 0; t < map.types; ++t) {
    sampled_subgraph::vertices& v = b.types[t].seen;
    v.ids = b.types[t].ids.data(), v.tree = s.o.disjoint ? b.types[t].tree.data() : nullptr;
    v.count = c[map.count(t)];
    v.by_hop.clear();
    for (std::uint32_t h = 0; h <= map.hops; ++h) v.by_hop.push_back(c[map.history(h) + t] - (h ? c[map.history(h - 1) + t] : 0));
  }
  for (std::uint32_t r = 0; r < map.relations; ++r) {
    sampled_subgraph::edges& e = b.relations[r].seen;
    e.row = b.relations[r].rows(), e.col = b.relations[r].cols(), e.edge = b.relations[r].edge.data();
    e.count = s.o.edges ? c[map.edges(r)] : 0;
    e.by_hop.clear();
    for (std::uint32_t h = 0; h < map.hops; ++h) {
      std::uint64_t const n = c[map.history(h + 1) + map.types + r] - c[map.history(h) + map.types + r];
      if (s.o.edges && !s.o.induced) e.by_hop.push_back(n);
      s.relations[r].seen[h] = std::max(s.relations[r].seen[h], n);
    }
  }
  for (std::uint32_t h = 0; h < map.hops && !s.o.induced; ++h)  // a hop inserts all its neighbors, new or not
    for (std::uint32_t t = 0; t < map.types; ++t) {
      std::uint64_t n = c[map.history(h) + t];
      for (std::uint32_t r = 0; r < map.relations; ++r)
        if (s.relations[r].of.from == t) n += c[map.history(h + 1) + map.types + r] - c[map.history(h) + map.types + r];
      s.types[t].taken = std::max(s.types[t].taken, n);
    }
}
void block_sampler::parts::discard(sampled_subgraph::parts& b) noexcept {
  try {
    b.done.wait();
  } catch (...) {
  }
  b.pending = false;
}

}  // namespace garner
