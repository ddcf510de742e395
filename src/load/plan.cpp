#include "load/plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

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

// The share of what is drawn that stands in lists that are kept: those of which most is drawn a byte.
double share_drawn_near(load_question const& q, std::vector<degree_class> const& degrees, std::vector<double> const& drawn) {
  std::vector<std::size_t> order;
  double all = 0, near = 0, left = static_cast<double>(q.lists_kept);
  for (std::size_t k = 0; k < degrees.size(); ++k)
    if (degrees[k].degree > 0) order.push_back(k), all += drawn[k];
  auto const entries = [&](std::size_t k) { return degrees[k].degree * degrees[k].vertices; };
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
    if (w * need.each + std::min(w * need.rows_each, need.rows_most) <= free / 8) return w;
  return first_window;
}

load_plan plan_load(load_question const& q) {
  load_plan p;
  auto const n = static_cast<double>(q.info.vertices), arcs = static_cast<double>(q.info.edges);
  std::vector<degree_class> const degrees = q.degrees.empty() ? std::vector<degree_class>{{q.info.vertices ? arcs / n : 0, n}} : q.degrees;
  for (degree_class const& d : degrees)
    if (d.degree > 0) p.training += d.vertices;
  auto const batch = std::min(static_cast<double>(q.loader.batch), p.training);
  double const seed = p.training > 0 ? batch / p.training : 0;  // the chance to be one
  // The chance that a vertex of this degree is in no mini-batch of so many draws.
  auto const missed = [&](degree_class const& d, double draws) {
    return d.degree > 0 ? (1 - seed) * std::exp(-draws * d.degree / arcs) : 1.0;
  };
  double draws = 0, before = 0, widest = 0, looked_at = 0;
  std::vector<double> drawn(degrees.size());  // of each class
  double drawing = batch;
  for (std::size_t h = 0; h < q.fanouts.size(); ++h) {
    // Who draws: seeds at first, then those that the last hop reached, or all.
    double sum = 0, who = 0, whole_lists = 0;
    std::vector<double> here(degrees.size());
    for (std::size_t k = 0; k < degrees.size(); ++k) {
      degree_class const& d = degrees[k];
      double const weight = d.vertices * (h == 0                                  ? (d.degree > 0 ? seed : 0)
                                          : q.rule == hop_rule::all || q.disjoint ? 1 - missed(d, draws)
                                                                                  : missed(d, before) - missed(d, draws));
      who += weight, whole_lists += weight * d.degree;
      here[k] = weight * (q.fanouts[h] < 0 ? d.degree : std::min(d.degree, static_cast<double>(q.fanouts[h])));
      sum += here[k];
    }
    if (q.disjoint) {  // trees: what two seeds reach is two vertices
      drawing = h == 0 ? batch : q.rule == hop_rule::all ? batch + draws : draws - before;
    } else {
      drawing = who;
    }
    double const edges = who > 0 ? drawing * sum / who : 0;
    if (who > 0) looked_at += drawing * whole_lists / who;
    for (std::size_t k = 0; k < degrees.size(); ++k) drawn[k] += who > 0 ? drawing / who * here[k] : 0;
    widest = std::max(widest, edges);
    before = draws, draws += edges;
    double reached = 0;
    for (degree_class const& d : degrees) reached += d.vertices * (1 - missed(d, draws));
    p.vertices_by_hop.push_back(q.disjoint ? batch + draws : reached), p.edges_by_hop.push_back(edges);
  }
  p.edges = draws;
  p.list_bytes = 32 * whole(draws) + (q.weighted ? 128 * whole(looked_at * 4 / 128) : 0);
  double kept = static_cast<double>(q.rows_kept), far_of_window = 0, far_rows = 0;
  for (degree_class const& d : degrees) {
    double const here = std::min(kept, d.vertices);
    kept -= here, p.vertices += d.vertices * (1 - missed(d, draws)), far_rows += (d.vertices - here) * (1 - missed(d, draws));
  }
  kept = static_cast<double>(q.rows_kept);
  bool const host = q.where.kind == place_kind::host;
  bool const from_file = q.rows_at_home.has_value();
  bool const windows = !host && !from_file && far_rows > 0.5 && (q.loader.way == load_way::automatic || q.loader.way == load_way::window);
  constexpr double room = 1.25;  // what grows to what mini-batches take has a quarter more
  p.window = q.loader.window ? q.loader.window : first_window;
  bool const waits = windows || (q.lists_far && !host);
  if (waits && q.loader.window == 0) {
    double const all = room * (q.disjoint ? batch + draws : p.vertices), free = static_cast<double>(q.near_limit);
    double const sampler = (q.disjoint ? 0 : 4 * n) + room * widest * 52 + 24 * all;
    double const most = static_cast<double>(q.loader.window_bytes.value_or(q.near_limit / 4));
    p.window = choose_window(need_of_window(sampler, all, room * draws, windows ? all : 0, static_cast<double>(q.row_bytes), most), free);
  }
  auto const window = static_cast<double>(q.batches ? std::min<std::uint64_t>(p.window, q.batches) : p.window);
  double at_home = from_file ? static_cast<double>(*q.rows_at_home) : n;
  for (degree_class const& d : degrees) {
    double const here = std::min(kept, d.vertices), there = d.vertices - here;
    kept -= here;
    double const gone = missed(d, draws);
    p.near_rows += here * (1 - gone), p.far_rows += there * (1 - gone);
    far_of_window += there * (1 - std::pow(gone, window));
    double const of_file = there - std::min(at_home, there);
    at_home -= there - of_file;
    p.file_rows += of_file * (1 - gone), p.file_reads += of_file * (1 - std::pow(gone, window)) / window;
  }
  p.vertices = p.near_rows + p.far_rows;
  if (q.disjoint) {
    double const all = batch + draws, scale = p.vertices > 0 ? all / p.vertices : 0;
    p.near_rows *= scale, p.far_rows *= scale, p.file_rows *= scale, p.vertices = all;
  }
  p.file_reads = std::min(p.file_reads, p.file_rows);
  if (host) p.near_rows += p.far_rows, p.far_rows = 0;
  double const group = waits || from_file ? window : std::min<double>(window, near_window(q.where.kind == place_kind::device));
  p.fetched_rows = windows ? std::min(p.far_rows, far_of_window / window) : p.far_rows;
  p.window_rows = p.far_rows - p.fetched_rows;

  // Near memory.
  auto const take = [&](char const* what, double bytes) {
    if (bytes >= 1) p.near.push_back({what, whole(bytes)});
  };
  double const together = q.rule == hop_rule::last && !q.disjoint ? group : 1;  // mini-batches that are drawn in one pass
  double const items = room * widest * together, all_vertices = room * p.vertices * together;
  double const entries = n * together * 4, slots = static_cast<double>(std::bit_ceil(whole(2 * (all_vertices + items)) + 2)) * 12;
  auto const beyond = static_cast<double>(places_beyond(q.where.kind == place_kind::device, q.near_limit));
  take("sampler: local numbers of vertices", q.disjoint || (together > 1 && entries > beyond) ? slots : entries);
  take("sampler: work of a window", items * (36 + (q.lists_far && q.where.kind == place_kind::device ? 16 : 0)) + all_vertices * 24);
  // Of an epoch no more than it has; a device draws the first of the next one too.
  double const ever = q.batches ? static_cast<double>(q.batches) * (q.where.kind == place_kind::device ? 2 : 1) : 3 * group;
  take("mini-batches drawn, of three windows and ahead",
       (std::min(3 * group, ever) + q.loader.ahead + 2) * room * (p.vertices * 8 + p.edges * (q.edge_ids ? 24 : 16)));
  take("ring of rows", (q.loader.ahead + 2) * 1.125 * p.vertices * static_cast<double>(q.row_bytes));
  if (windows) {
    double const ids = room * p.vertices * window, most = static_cast<double>(q.loader.window_bytes.value_or(q.near_limit / 4));
    double const wanted = std::min(
        {room * 2 * p.vertices * window, n - static_cast<double>(q.rows_kept), q.row_bytes ? most / static_cast<double>(q.row_bytes) : 0});
    take("window: far rows", wanted * static_cast<double>(q.row_bytes));
    take("window: which rows it has", n * 4 + wanted * 21 + ids * 37);
  }
  if (host) return p;
  if (q.lists_far) {  // a sector an edge: few stand in one
    double const far = 1 - share_drawn_near(q, degrees, drawn), edges = far * p.edges;
    if (q.lists_kept) {
      take("lists kept", static_cast<double>(q.lists_kept));
      take("lists kept: where they are", static_cast<double>(kept_list_places(q.info, q.weighted)));
    }
    p.sample.requests[0] = whole(edges);
    p.sample.bytes_useful = whole(edges) * q.info.id_bytes;
    if (q.weighted) p.sample.requests[3] += whole(far * looked_at * 4 / 128), p.sample.bytes_useful += whole(far * looked_at * 4);
  }
  p.rows = times(of_row(q.row_bytes), p.fetched_rows);
  return p;
}

}  // namespace garner
