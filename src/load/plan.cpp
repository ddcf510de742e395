#include "load/plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "core/random.hpp"
#include "sample/blocks.hpp"

namespace garner {

std::vector<degree_class> degree_classes(std::uint64_t const* offsets, std::uint64_t vertices) {
  std::map<std::uint64_t, std::pair<double, double>, std::greater<>> classes;  // an eighth of an octave: degrees, vertices
  for (std::uint64_t v = 0; v < vertices; ++v) {
    std::uint64_t const degree = offsets[v + 1] - offsets[v], eighth = std::bit_width(degree) > 4 ? std::bit_width(degree) - 4 : 0;
    auto& [degrees, n] = classes[degree >> eighth << eighth];
    degrees += static_cast<double>(degree), ++n;
  }
  std::vector<degree_class> all;
  for (auto const& [least, sums] : classes) all.push_back({sums.first / sums.second, sums.second});
  return all;
}

std::vector<vertex_class> vertex_classes(std::uint32_t type, std::uint64_t vertices, std::span<relation_degrees const> of) {
  std::size_t const relations = of.size();
  std::unordered_map<std::uint64_t, vertex_class> classes;  // by the octave of each number
  std::vector<double> numbers(2 * relations);
  for (std::uint64_t v = 0; v < vertices; ++v) {
    std::uint64_t key = 0;
    auto const count = [&](bool of_type, std::uint64_t const* offsets, double mean) {
      if (!of_type || !offsets) return of_type ? mean : 0.0;
      std::uint64_t const n = offsets[v + 1] - offsets[v];
      key = mix(key ^ static_cast<std::uint64_t>(std::bit_width(n)));
      return static_cast<double>(n);
    };
    for (std::size_t r = 0; r < relations; ++r) {
      numbers[r] = count(of[r].to == type, of[r].lists, of[r].lists_mean);
      numbers[relations + r] = count(of[r].from == type, of[r].drawn, of[r].drawn_mean);
      key = mix(key + r);
    }
    vertex_class& c = classes[key];
    if (c.degrees.empty()) c.degrees.assign(relations, 0), c.drawn.assign(relations, 0);
    ++c.vertices;
    for (std::size_t r = 0; r < relations; ++r) c.degrees[r] += numbers[r], c.drawn[r] += numbers[relations + r];
  }
  std::vector<vertex_class> all;
  for (auto& [key, c] : classes) {
    for (std::size_t r = 0; r < relations; ++r) c.degrees[r] /= c.vertices, c.drawn[r] /= c.vertices;
    all.push_back(std::move(c));
  }
  std::sort(all.begin(), all.end(), [](vertex_class const& a, vertex_class const& b) {  // the same sums on every machine
    return std::tie(b.degrees, b.drawn, b.vertices) < std::tie(a.degrees, a.drawn, a.vertices);
  });
  return all;
}

namespace {

// The requests of one row, begun on a line.
traffic of_row(std::uint64_t bytes) {
  traffic t;
  t.requests[3] = bytes / 128;
  if (std::uint64_t const rest = (bytes % 128 + 31) / 32) ++t.requests[rest - 1];
  t.bytes_useful = bytes;
  return t;
}
traffic times(traffic t, double n) {
  auto const many = static_cast<std::uint64_t>(std::llround(n));
  for (std::uint64_t& r : t.requests) r *= many;
  t.bytes_useful *= many;
  return t;
}
std::uint64_t whole(double x) { return static_cast<std::uint64_t>(std::llround(std::max(0.0, x))); }

// Requests for one type, or for several.
struct ground {
  std::vector<load_type> types;
  std::vector<load_relation> relations;
  std::uint32_t seed_type;
  bool given;                  // types and relations; else one of each
  double pool = 0, seeds = 0;  // vertices that may be seeds; seeds of an epoch
  std::vector<double> stands;  // per relation: entries of its lists, as `drawn` of the classes counts them

  explicit ground(load_question const& q) : types(q.types), relations(q.relations), seed_type(q.seed_type), given(!q.types.empty()) {
    if (!given) {
      types = {{"", q.info.vertices, q.row_bytes, q.rows_kept, q.rows_at_home, {}, q.given_bytes}};
      relations = {{q.info, 0, 0, q.lists_far}};
      auto const n = static_cast<double>(q.info.vertices), arcs = static_cast<double>(q.info.edges);
      for (degree_class const& d : q.degrees.empty() ? std::vector<degree_class>{{q.info.vertices ? arcs / n : 0, n}} : q.degrees)
        types[0].classes.push_back({d.vertices, {d.degree}, {d.degree}});
    }
    stands.assign(relations.size(), 0);
    for (load_type const& t : types)
      for (vertex_class const& c : t.classes)
        for (std::size_t r = 0; r < relations.size(); ++r) stands[r] += c.vertices * c.drawn[r];
    for (vertex_class const& c : types[seed_type].classes)
      if (given || c.degrees[0] > 0) pool += c.vertices;
    seeds = given ? q.seeds : pool;
  }
  bool several() const { return types.size() > 1 || relations.size() > 1; }
  // The chance to be a seed of a mini-batch.
  double seed(std::size_t type, vertex_class const& c, double batch) const {
    return type == seed_type && pool > 0 && (given || c.degrees[0] > 0) ? batch / pool : 0;
  }
  // ... and to be in no mini-batch after this many samples through each relation.
  double missed(std::size_t type, vertex_class const& c, double batch, std::vector<double> const& draws) const {
    double expected = 0;
    for (std::size_t r = 0; r < relations.size(); ++r)
      if (c.drawn[r] > 0) expected += draws[r] * c.drawn[r] / stands[r];
    return (1 - seed(type, c, batch)) * std::exp(-expected);
  }
};

// The share of sampled edges that cached lists serve: those with the most samples per byte.
double share_drawn_near(load_question const& q, std::vector<vertex_class> const& classes, std::vector<double> const& drawn) {
  std::vector<std::size_t> order;
  double all = 0, near = 0, left = static_cast<double>(q.lists_kept);
  for (std::size_t k = 0; k < classes.size(); ++k)
    if (classes[k].degrees[0] > 0) order.push_back(k), all += drawn[k];
  auto const entries = [&](std::size_t k) { return classes[k].degrees[0] * classes[k].vertices; };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return drawn[a] * entries(b) > drawn[b] * entries(a); });
  double const entry_bytes =
      q.info.edges && q.list_bytes ? static_cast<double>(q.list_bytes) / static_cast<double>(q.info.edges) : q.info.id_bytes;
  for (std::size_t const k : order) {
    double const bytes = entries(k) * entry_bytes, kept = std::min(bytes, left);
    near += drawn[k] * kept / bytes, left -= kept;
  }
  return all > 0 ? near / all : 0;
}

}  // namespace

std::uint32_t choose_window(window_need const& need, double free) {
  for (std::uint32_t const w : {32u, 16u})
    if (w * need.each + std::min(w * need.rows_each, need.rows_most) <= free / 4) return w;
  return first_window;
}

load_plan plan_load(load_question const& q) {
  load_plan p;
  ground const g(q);
  std::size_t const types = g.types.size(), relations = g.relations.size();
  p.training = g.seeds;
  double const batch = std::min(static_cast<double>(q.loader.batch_size), g.seeds);
  p.types.resize(types), p.edges_by_hop.resize(relations);
  std::vector<double> draws(relations), before(relations);
  std::vector<std::vector<double>> drawn(relations);  // per class of sampling vertices
  std::vector<double> looked_at(relations);
  double widest = 0;
  auto const missed = [&](std::size_t t, vertex_class const& c, std::vector<double> const& after) { return g.missed(t, c, batch, after); };
  auto const trees = [&](std::size_t t, std::vector<double> const& after) {  // what two seeds reach is two vertices
    double all = t == g.seed_type ? batch : 0;
    for (std::size_t r = 0; r < relations; ++r)
      if (g.relations[r].from == t) all += after[r];
    return all;
  };
  for (std::size_t h = 0; h < q.fanouts.size(); ++h) {
    std::vector<double> more = draws;
    for (std::size_t r = 0; r < relations; ++r) {
      // Vertices that sample: seeds at first, then those that the last hop reached, or all.
      std::size_t const t = g.relations[r].to;
      std::vector<vertex_class> const& classes = g.types[t].classes;
      double sum = 0, who = 0, whole_lists = 0;
      std::vector<double> here(classes.size());
      drawn[r].resize(classes.size());
      for (std::size_t k = 0; k < classes.size(); ++k) {
        vertex_class const& c = classes[k];
        double const weight = c.vertices * (h == 0                                  ? g.seed(t, c, batch)
                                            : q.rule == hop_rule::all || q.disjoint ? 1 - missed(t, c, draws)
                                                                                    : missed(t, c, before) - missed(t, c, draws));
        who += weight, whole_lists += weight * c.degrees[r];
        here[k] = weight * (q.fanouts[h] < 0 ? c.degrees[r] : std::min(c.degrees[r], static_cast<double>(q.fanouts[h])));
        sum += here[k];
      }
      double const drawing = !q.disjoint               ? who
                             : h == 0                  ? (t == g.seed_type ? batch : 0)
                             : q.rule == hop_rule::all ? trees(t, draws)
                                                       : trees(t, draws) - trees(t, before);
      double const edges = who > 0 ? drawing * sum / who : 0;
      if (who > 0) looked_at[r] += drawing * whole_lists / who;
      for (std::size_t k = 0; k < classes.size(); ++k) drawn[r][k] += who > 0 ? drawing / who * here[k] : 0;
      widest = std::max(widest, edges);
      more[r] += edges, p.edges += edges;
      p.edges_by_hop[r].push_back(edges);
    }
    before = std::exchange(draws, more);
    for (std::size_t t = 0; t < types; ++t) {
      double reached = 0;
      for (vertex_class const& c : g.types[t].classes) reached += c.vertices * (1 - missed(t, c, draws));
      p.types[t].by_hop.push_back(q.disjoint ? trees(t, draws) : reached);
    }
  }
  p.list_bytes = 32 * whole(p.edges) + (q.weighted ? 128 * whole(std::accumulate(looked_at.begin(), looked_at.end(), 0.0) * 4 / 128) : 0);
  bool const host = q.where.kind == device_kind::cpu;
  // Rows cached on the device: those with the most neighbors; with several types, the first of each.
  auto const for_classes = [&](std::size_t t, auto const& f) {
    load_type const& of = g.types[t];
    double const n = std::max(static_cast<double>(of.vertices), 1.0), share = std::min(1.0, static_cast<double>(of.rows_kept) / n);
    double const home = of.rows_at_home ? static_cast<double>(*of.rows_at_home) : n, home_share = std::min(1 - share, home / n);
    double kept = static_cast<double>(of.rows_kept), at_home = home;
    for (vertex_class const& c : of.classes) {
      double const here = g.given ? share * c.vertices : std::min(kept, c.vertices), there = c.vertices - here;
      double const of_file = !of.rows_at_home ? 0 : g.given ? there - home_share * c.vertices : there - std::min(at_home, there);
      kept -= here, at_home -= there - of_file;
      f(here, there, of_file, missed(t, c, draws));
    }
  };
  double all_vertices = 0, window_rows = 0, brought = 0;
  std::vector<bool> windows(types);
  bool from_file = false, waits = false, remote_adjacency = false;
  for (load_relation const& r : g.relations) remote_adjacency |= r.far && !host;
  for (std::size_t t = 0; t < types; ++t) {
    double far = 0, all = 0, together = 0;
    for_classes(t, [&](double here, double there, double, double gone) {
      far += there * (1 - gone), all += (here + there) * (1 - gone), together += there * (1 - std::pow(gone, first_window));
    });
    if (q.disjoint) all = trees(t, draws);
    bool const file = g.types[t].rows_at_home.has_value();
    windows[t] =
        !host && !file && far > 0.5 && (q.loader.strategy == load_strategy::automatic || q.loader.strategy == load_strategy::window);
    from_file |= file, waits |= windows[t], all_vertices += all;
    if (windows[t]) window_rows += all, brought += together / first_window * static_cast<double>(g.types[t].row_bytes);
  }
  constexpr double room = 1.25;  // what grows to what mini-batches take has a quarter more
  p.window = q.loader.window ? q.loader.window : first_window;
  waits |= remote_adjacency;
  auto const most = static_cast<double>(q.loader.window_bytes.value_or(q.near_limit / 4));  // of each table
  double n = 0;
  for (load_type const& t : g.types) n += static_cast<double>(t.vertices);
  if (waits && q.loader.window == 0) {
    double const sampler = (q.disjoint ? 0 : 4 * n) + room * widest * 52 + 24 * room * all_vertices;
    p.window = choose_window(
        need_of_window(sampler, room * all_vertices, room * p.edges, room * window_rows, room * brought, most * static_cast<double>(types)),
        static_cast<double>(q.near_limit));
  }
  auto const window = static_cast<double>(q.batches ? std::min<std::uint64_t>(p.window, q.batches) : p.window);
  for (std::size_t t = 0; t < types; ++t) {
    type_plan& of = p.types[t];
    double far_of_window = 0;
    for_classes(t, [&](double here, double there, double of_file, double gone) {
      of.near_rows += here * (1 - gone), of.far_rows += there * (1 - gone);
      far_of_window += there * (1 - std::pow(gone, window));
      of.file_rows += of_file * (1 - gone), of.file_reads += of_file * (1 - std::pow(gone, window)) / window;
    });
    if (double const vertices = of.near_rows + of.far_rows; q.disjoint && vertices > 0) {
      double const scale = trees(t, draws) / vertices;
      of.near_rows *= scale, of.far_rows *= scale, of.file_rows *= scale;
    }
    of.file_reads = std::min(of.file_reads, of.file_rows);
    if (host) of.near_rows += of.far_rows, of.far_rows = 0;
    of.fetched_rows = windows[t] ? std::min(of.far_rows, far_of_window / window) : of.far_rows;
    of.window_rows = of.far_rows - of.fetched_rows;
    auto const row_bytes = static_cast<double>(g.types[t].row_bytes);
    p.near_rows += of.near_rows, p.far_rows += of.far_rows, p.window_rows += of.window_rows, p.fetched_rows += of.fetched_rows;
    p.file_rows += of.file_rows, p.file_reads += of.file_reads;
    p.near_bytes += (of.near_rows + of.window_rows) * row_bytes, p.file_bytes += of.file_reads * row_bytes;
  }
  p.vertices = p.near_rows + p.far_rows;
  double const group = waits || from_file ? window : std::min<double>(window, near_window(q.where.kind == device_kind::cuda));

  // Device memory.
  auto const take = [&](std::string what, double bytes) {
    if (bytes >= 1) p.near.push_back({std::move(what), whole(bytes)});
  };
  auto const of_type = [&](char const* what, std::size_t t) {
    return types > 1 ? std::string(what) + " of '" + g.types[t].name + "'" : std::string(what);
  };
  double const together = q.rule == hop_rule::last && !q.disjoint && !g.several() ? group : 1;  // mini-batches sampled in one pass
  // Room is made for what fanouts allow, and where that was too little for what there was.
  std::vector<std::uint64_t> of_types;
  std::vector<sampled_size> of_relations;
  for (load_type const& t : g.types) of_types.push_back(t.vertices);
  for (load_relation const& r : g.relations) of_relations.push_back({r.info.edges, q.fanouts});
  block_options how;
  how.rule = q.rule, how.disjoint = q.disjoint;
  sampler_rooms const first = first_rooms(of_types, of_relations, how, whole(batch), whole(together));
  auto const made = [&](std::uint64_t at_first, double wanted) {
    return wanted > static_cast<double>(at_first) ? room * wanted : static_cast<double>(at_first);
  };
  double const items = made(first.items, widest * together);
  double wide = 0, slots = 0, a_batch = 0;  // per_batch: bytes of a sampled mini-batch
  for (std::size_t t = 0; t < types; ++t) {
    double const vertices = made(first.vertices[t], p.types[t].near_rows + p.types[t].far_rows);
    slots += static_cast<double>(std::bit_ceil(whole(2 * (vertices * together + items)) + 2)) * 16;
    wide = std::max(wide, vertices * together), a_batch += vertices * (q.disjoint ? 12 : 8);
  }
  for (std::size_t r = 0; r < relations; ++r) a_batch += made(first.edges[r], draws[r]) * (q.edge_ids ? 24 : 16);
  double const entries = n * together * 4;
  auto const beyond = static_cast<double>(places_beyond(q.where.kind == device_kind::cuda, q.near_limit));
  take("sampler: local numbers of vertices", q.disjoint || (together > 1 && entries > beyond) ? slots : entries);
  take("sampler: work of a window",
       items * (36 + (remote_adjacency && q.where.kind == device_kind::cuda ? 16 : 0) + (q.weighted ? 16 : 0)) +
           wide * (together > 1 ? 24 : 12));
  // Limited by the length of an epoch; a device samples the first of the next one too.
  double const ever = q.batches ? static_cast<double>(q.batches) * (q.where.kind == device_kind::cuda ? 2 : 1) : 3 * group;
  take("mini-batches drawn, of three windows and ahead", (std::min(3 * group, ever) + q.loader.prefetch + 2) * a_batch);
  for (std::size_t t = 0; t < types; ++t) {
    load_type const& of = g.types[t];
    double const vertices = p.types[t].near_rows + p.types[t].far_rows;
    auto const row_bytes = static_cast<double>(of.row_bytes);
    take(of_type("ring of rows", t),
         (q.loader.prefetch + 2) * 1.125 * vertices * (of.given_bytes ? static_cast<double>(of.given_bytes) : row_bytes));
    if (!windows[t]) continue;
    double const ids = room * vertices * window;
    double const wanted = std::min({room * 2 * vertices * window, static_cast<double>(of.vertices - std::min(of.vertices, of.rows_kept)),
                                    of.row_bytes ? most / row_bytes : 0});
    take(of_type("window: remote rows", t), wanted * row_bytes);
    take(of_type("window: which rows it has", t), static_cast<double>(of.vertices) * 4 + wanted * 21 + ids * 37);
  }
  if (host) return p;
  if (remote_adjacency) {  // a sector an edge: few stand in one
    double const far = q.lists_kept ? 1 - share_drawn_near(q, g.types[0].classes, drawn[0]) : 1;
    if (q.lists_kept) {
      take("lists kept", static_cast<double>(q.lists_kept));
      take("lists kept: where they are", static_cast<double>(kept_list_places(q.info, q.weighted)));
    }
    for (std::size_t r = 0; r < relations; ++r) {
      if (!g.relations[r].far) continue;
      p.sample.requests[0] += whole(far * draws[r]);
      p.sample.bytes_useful += whole(far * draws[r]) * g.relations[r].info.id_bytes;
      if (q.weighted) p.sample.requests[3] += whole(far * looked_at[r] * 4 / 128), p.sample.bytes_useful += whole(far * looked_at[r] * 4);
    }
  }
  for (std::size_t t = 0; t < types; ++t) p.rows += times(of_row(g.types[t].row_bytes), p.types[t].fetched_rows);
  return p;
}

}  // namespace garner
