#include "plan_ground.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "command/job_options.hpp"
#include "command/link_times.hpp"
#include "core/scratch_file.hpp"
#include "features/stored_rows.hpp"
#include "files/npy.hpp"
#include "garner/memory.hpp"
#include "graph/source.hpp"
#include "models.hpp"
#include "nn/model.hpp"
#include "shard/parts.hpp"

namespace garner::cli {

namespace {

std::uint64_t window_limit(execution_device where, std::uint64_t device_allowed) {
  return where.kind == device_kind::cuda && device_allowed != unlimited_bytes ? device_allowed : std::uint64_t{4} << 30;
}

part_counts parts_in(std::string const& file, std::string const& graph, std::uint64_t vertices) {
  std::vector<std::uint8_t> const split = read_split(file);
  if (split.size() < vertices)
    fail(errc::input, "{}: a split of {}, and {} has {} vertices; give each vertex a part: 1 train, 2 validation, 3 test, 0 none", file,
         split.size(), graph, vertices);
  part_counts parts{};
  for (std::uint64_t v = 0; v < vertices; ++v) {
    if (split[v] > 3) fail(errc::input, "{}: part {} at position {}: use 1 train, 2 validation, 3 test, 0 none", file, split[v], v);
    ++parts[split[v]];
  }
  if (parts[1] == 0) fail(errc::input, "{}: no vertex is to train with: the split has no 1; mark some", file);
  return parts;
}

// The relation that holds the same edges the other way round, as `convert --undirected` names it; none: itself.
std::size_t twin_of(std::vector<edge_type> const& all, std::size_t r) {
  for (std::size_t k = 0; k < all.size(); ++k)
    if (all[k].from == all[r].to && all[k].to == all[r].from && all[k].stored_edges == all[r].stored_edges &&
        (all[k].relation == "rev_" + all[r].relation || all[r].relation == "rev_" + all[k].relation))
      return k;
  return r;
}

}  // namespace

load_question question_of(load_arguments const& a, graph_source const& from, table_size const& rows, std::uint64_t device_allowed) {
  execution_device const where = a.where();
  load_question q;
  q.info = from.info();
  q.where = where;
  q.fanouts = a.fanouts();
  q.rule = a.blocks().rule;
  q.disjoint = a.disjoint, q.edge_ids = a.edge_ids, q.weighted = a.weighted;
  q.row_bytes = rows.row_bytes;
  q.near_limit = window_limit(where, device_allowed);
  q.loader = a.loader();
  if (where.kind != device_kind::cpu && rows.row_bytes)
    q.rows_kept = std::min(rows.rows, a.budget_bytes(rows.rows * rows.row_bytes).value_or(0) / rows.row_bytes);
  if (a.in_file(a.features)) q.rows_at_home = a.file_shares_of(rows).host;
  q.list_bytes = drawn_list_bytes(from, a), q.lists_kept = a.kept_list_bytes(q.list_bytes);
  buffer<std::uint64_t> const known = from.offsets(a.lists() == edge_direction::in && from.info().directed, !a.no_check);
  if (!known.empty()) q.degrees = degree_classes(known.data(), from.info().vertices);
  return q;
}
std::uint64_t near_bytes(load_question const& q) {
  std::uint64_t all = q.rows_kept * q.row_bytes;
  for (load_array const& n : plan_load(q).near) all += n.bytes;
  return all;
}
planned_ground ground_of_one(load_arguments const& a, plan_train_arguments const* train, std::uint64_t device_allowed) {
  planned_ground g;
  execution_device const where = a.where();
  graph_source from(a.file);
  if (a.wants_in_lists()) from.want_in_lists();
  graph_info const& info = from.info();
  if (a.weighted && info.weights == weight_kind::none) fail(errc::input, "{}: --weighted, and this graph has no weights", a.file);
  table_size const rows = a.features.empty() ? table_size{info.vertices, *a.width * 4} : size_of(a.features);
  if (rows.rows < info.vertices)
    fail(errc::input, "{}: {} rows, and {} has {} nodes; give each node one row", a.features, rows.rows, a.file, info.vertices);
  g.told = describe(info), g.vertices = info.vertices, g.edges = info.edges;
  bool const on_device = where.kind == device_kind::cuda, both = a.wants_in_lists() && info.directed;
  stored const kept = stored_in(from.header());
  std::uint64_t const weights = a.weighted ? weight_bytes(info, kept) : 0;
  std::uint64_t const lists = target_bytes(info, kept) + weights + (both ? target_bytes(info, kept, true) + weights : 0);
  std::uint64_t const offsets = (info.vertices + 1) * 8;
  g.q = question_of(a, from, rows, device_allowed);
  g.inputs = rows.row_bytes / 4;
  if (train && !a.features.empty()) g.inputs = a.open_table(a.features, {}).width;
  if (train) g.q.given_bytes = g.inputs * 4;
  g.lists_in = tier::host;
  if (!chooses_tier(a.tier)) {
    g.lists_in = parse_tier(a.tier);
  } else if (on_device) {
    g.q.lists_far = false;  // as it would be there
    std::uint64_t const all = lists + offsets + near_bytes(g.q);
    if (device_allowed != unlimited_bytes && all < device_allowed - device_allowed / 16) g.lists_in = tier::device;
  }
  require_combination(where, g.lists_in, access_in(g.lists_in));
  g.q.lists_far = where.kind != device_kind::cpu && !in_device_memory(g.lists_in);
  if (train && train->split) {
    g.parts = parts_in(*train->split, a.file, info.vertices);
  } else {
    g.parts[1] = share_of(a.share, static_cast<std::uint64_t>(plan_load(g.q).training));
    g.parts[2] = info.vertices - g.parts[1];  // at the most
  }
  g.lists = {{"offsets", tier::host, offsets * (both ? 2 : 1)}, {"adjacency", on_device ? g.lists_in : tier::host, lists}};
  if (on_device) g.lists.push_back({"offsets, local", tier::device, offsets});
  if (from.makes()) g.lists.push_back({fmt::format("{}, being built", from.makes()), tier::host, from.making_bytes(on_device, both)});
  g.tables = {{"", a.features, rows, g.q.rows_kept, {}}};
  if (g.q.rows_at_home) g.tables[0].in_file = a.file_shares_of(rows);
  return g;
}

planned_ground ground_of_types(load_arguments& a, plan_load_arguments const& p, plan_train_arguments const* train,
                               std::uint64_t device_allowed) {
  for (auto const& [said, option] : {std::pair{p.features.has_value(), "--features"}, std::pair{p.width.has_value(), "--width"},
                                     std::pair{p.share.has_value(), "--share"}, std::pair{train && train->split, "--split"}})
    if (said) fail(errc::usage, "{}: {} names features and training vertices itself; leave it out", option, a.file);
  std::optional<std::uint64_t> const kept = budget_of_types(a);
  planned_ground g;
  execution_device const where = a.where();
  bool const on_device = where.kind == device_kind::cuda, host = where.kind == device_kind::cpu;
  edge_direction const side = a.lists();
  dataset_info const m = read_dataset(a.file);
  std::size_t const target = target_of(m.types, a.file, p.target.value_or(""), train != nullptr);
  vertex_type const& seeds = m.types[target];
  g.told = fmt::format("{} types, {} relations; '{}' is the target", m.types.size(), m.edges.size(), seeds.name);
  std::uint8_t part = 0;
  for (auto const& file : {seeds.train, seeds.valid, seeds.test})
    if (++part; file) g.parts[part] = npy_file(*file).rows();
  if (g.parts[1] == 0) fail(errc::input, "{}: '{}' has no training vertices; name some in it", a.file, seeds.name);
  if (train) {
    std::optional<std::uint64_t> const& said = train->classes;
    if (npy_file const head(*seeds.labels); said && head.row_bytes() == head.element_bytes()) g.labels.classes = *said;
    else set_classes(said, read_labels(*seeds.labels), seeds.labels->string(), g.labels);
  }

  load_question& q = g.q;
  q.where = where, q.seed_type = static_cast<std::uint32_t>(target), q.seeds = static_cast<double>(g.parts[1]);
  q.fanouts = a.fanouts(), q.rule = a.blocks().rule, q.disjoint = a.disjoint, q.weighted = a.weighted;
  q.edge_ids = a.edge_ids || (train && a.weighted);
  q.near_limit = window_limit(where, device_allowed), q.loader = a.loader();
  std::vector<std::uint64_t> widths;
  for (vertex_type const& t : m.types) {
    std::string const file = features_of(a.file, t);
    table_size const size = size_of(file);
    widths.push_back(a.open_table(file, {}).width);
    load_type of{t.name, t.count, size.row_bytes, 0, {}, {}, train ? widths.back() * 4 : 0};
    // Without scores the first rows of a table are kept.
    if (kept && !host) of.rows_kept = std::min(size.rows, *kept / std::max<std::uint64_t>(size.row_bytes, 1));
    planned_table table{t.name, file, size, of.rows_kept, {}};
    if (a.in_file(file)) table.in_file = a.file_shares_of(size), of.rows_at_home = table.in_file->host;
    q.types.push_back(std::move(of)), g.tables.push_back(std::move(table)), g.vertices += t.count;
  }
  g.types = types_of(m, a.file, target, std::move(widths), side);

  bool const in_edges = side == edge_direction::out || (train && train->full);
  std::vector<graph_source> sources;
  std::vector<buffer<std::uint64_t>> out, in;
  std::uint64_t near = 0, offsets = 0, making = 0;
  std::vector<std::pair<tier, std::uint64_t>> lists;  // of a relation
  for (std::size_t r = 0; r < m.edges.size(); ++r) {
    graph_source& from = sources.emplace_back(m.edges[r].adjacency, true);
    if (in_edges) from.want_in_lists();
    graph_info const& info = from.info();
    if (a.weighted && info.weights == weight_kind::none)
      fail(errc::input, "{}: --weighted, and this graph has no weights", m.edges[r].adjacency.string());
    load_options how;
    how.weights = a.weighted, how.in_edges = in_edges;
    std::uint64_t const bytes = list_bytes(from.header(), how), at = (info.vertices + 1) * 8 * (in_edges && info.directed ? 2 : 1);
    // Each part that still fits is local, as open_graph decides.
    tier where_it_lies = chooses_tier(a.tier) ? tier::host : parse_tier(a.tier);
    if (chooses_tier(a.tier) && on_device && device_allowed != unlimited_bytes) {
      std::uint64_t const free = device_allowed - std::min(device_allowed, near);
      if (bytes + state_allowance(info) <= free - free / 16) where_it_lies = tier::device;
    }
    require_combination(where, where_it_lies, access_in(where_it_lies));
    if (!on_device && where_it_lies != tier::file) where_it_lies = tier::host;
    near += (on_device ? at : 0) + (where_it_lies == tier::device ? bytes : 0), offsets += at, g.edges += info.edges;
    if (from.makes_in_lists()) making = std::max(making, from.making_bytes(on_device));
    lists.emplace_back(where_it_lies, bytes);
    load_relation of{info, g.types.relations[r].from, g.types.relations[r].to, !host && !in_device_memory(where_it_lies)};
    q.relations.push_back(of);
    if (r == 0 || !in_device_memory(where_it_lies)) g.lists_in = where_it_lies;
    out.push_back(from.offsets(false, !a.no_check));
    bool const there = !info.directed || (info.in_edges && !from.makes_in_lists());
    in.push_back(there ? from.offsets(info.directed, !a.no_check) : buffer<std::uint64_t>());
  }
  std::vector<relation_degrees> degrees;
  auto const at = [](buffer<std::uint64_t> const& b) { return b.empty() ? nullptr : b.data(); };
  auto const mean = [&](std::size_t r, std::uint32_t type) {
    return static_cast<double>(m.edges[r].stored_edges) / static_cast<double>(std::max<std::uint64_t>(m.types[type].count, 1));
  };
  for (std::size_t r = 0; r < m.edges.size(); ++r) {
    std::size_t const twin = twin_of(m.edges, r);
    bool const other_way = twin != r || m.edges[r].from == m.edges[r].to;
    std::uint64_t const *pulled = at(out[r]), *given = at(in[r]) ? at(in[r]) : other_way ? at(out[twin]) : nullptr;
    if (side == edge_direction::out) std::swap(pulled, given);
    load_relation const& of = q.relations[r];
    degrees.push_back({of.from, of.to, pulled, given, mean(r, of.to), mean(r, of.from)});
  }
  for (std::uint32_t t = 0; t < m.types.size(); ++t) q.types[t].classes = vertex_classes(t, m.types[t].count, degrees);

  g.lists = {{"offsets", tier::host, offsets}};
  if (on_device) g.lists.push_back({"offsets, local", tier::device, offsets});
  for (std::size_t r = 0; r < lists.size(); ++r)
    g.lists.push_back(
        {fmt::format("adjacency of '{} {} {}'", m.edges[r].from, m.edges[r].relation, m.edges[r].to), lists[r].first, lists[r].second});
  if (making) g.lists.push_back({"in-edges, being built", tier::host, making});
  return g;
}

nlohmann::ordered_json scratch_told(std::string const& folder, std::uint64_t bytes, std::string& refusal) {
  constexpr std::uint64_t piece = 4u << 20, most = 256u << 20;
  scratch_folder there(folder);
  std::optional<scratch_rates> rates;
  try {
    there.expect(bytes);
    rates = measure_scratch(there, std::clamp((bytes + piece - 1) / piece * piece, piece, most));
  } catch (error const& e) {
    if (refusal.empty() && there.peak() == 0) refusal = e.what();  // else it is the measurement that lacks room
  }
  auto const or_none = [&](double value) { return rates ? nlohmann::ordered_json(value) : nlohmann::ordered_json(); };
  scratch_rates const found = rates.value_or(scratch_rates());
  return {{"folder", folder},
          {"bytes", bytes},
          {"written_bytes_per_second", or_none(found.written)},
          {"read_bytes_per_second", or_none(found.read)},
          {"ms", or_none(static_cast<double>(bytes) * (1e3 / found.written + 1e3 / found.read))}};
}

}  // namespace garner::cli
