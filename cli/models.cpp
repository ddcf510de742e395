#include "models.hpp"

#include "comm/rank_group.hpp"
#include "core/fail.hpp"
#include "graph/hetero.hpp"

namespace garner::cli {

void set_layers(model_options& m, std::string const& norm, bool residual, std::uint64_t training_vertices) {
  if (norm != "automatic" && norm != "none" && norm != "layer") fail(errc::usage, "--norm {}: say none, layer or automatic", norm);
  suit_layers(m, residual || norm != "automatic" ? 0 : training_vertices);
  if (norm != "automatic") m.layer_norm = norm == "layer";
  m.residual = m.residual || residual;
}

void shard_arguments::add(verb& v, bool trains) {
  v.add("--shards", shards).not_with("--devices").not_with("--ranks");
  v.add("--shard-way", way);
  v.add("--shard-sums", sums);
  v.add("--shard-balance", balance);
  v.add("--shard-wire", wire);
  v.add("--shard-lists", lists);
  v.add("--shard-rows", rows);
  v.add("--shard-provider", provider);
  v.add("--mgg", mgg);
  if (trains) v.add("--shard-wait", wait);
}
shard_options shard_arguments::options(std::uint32_t n) const {
  shard_options o;
  o.shards = n, o.far_lists = far_lists;
  if (!decides()) try {
      o.way = parse_shard_way(*way);
    } catch (error const&) {
      fail(errc::usage, "--shard-way {}: say auto, bulk, collective or mgg", *way);
    }
  if (!(late_seconds() > 0)) fail(errc::usage, "--shard-wait {}: say seconds, more than 0", *wait);
  if (sums) o.sums = parse_shard_sums(*sums);
  if (balance) o.balance = parse_shard_balance(*balance);
  if (wire) o.wire = parse_element(*wire);
  if (lists && *lists != "plain" && *lists != "packed") fail(errc::usage, "--shard-lists {}: say plain or packed", *lists);
  o.packed_lists = packs_lists();
  if (rows && *rows != "near" && *rows != "tiers") fail(errc::usage, "--shard-rows {}: say near or tiers", *rows);
  o.far_rows = rows == "tiers";
  if (provider) o.provider = parse_shard_provider(*provider);
  if (o.way == shard_way::mgg) {
    if (sums && o.sums == shard_sums::exact)
      fail(errc::usage, "--shard-way mgg and --shard-sums exact: it adds by atomics, in no order; say another way, or quick");
    o.sums = shard_sums::quick;
  }
  if (mgg.empty()) return o;
  if (o.way != shard_way::mgg) fail(errc::usage, "--mgg is of --shard-way mgg; say that too, or leave it out");
  if (mgg.size() != 3)
    fail(errc::usage, "--mgg of {} numbers: say neighbours of a partition, distance and warps a block, as 16,1,4", mgg.size());
  o.mgg = {mgg[0], mgg[1], mgg[2]};
  return o;
}

void shard_arguments::refuse_all(char const* why) const {
  for (auto const& [said, name] :
       {std::pair{way.has_value(), "--shard-way"}, std::pair{sums.has_value(), "--shard-sums"},
        std::pair{balance.has_value(), "--shard-balance"}, std::pair{wire.has_value(), "--shard-wire"},
        std::pair{lists.has_value(), "--shard-lists"}, std::pair{rows.has_value(), "--shard-rows"},
        std::pair{provider.has_value(), "--shard-provider"}, std::pair{!mgg.empty(), "--mgg"}, std::pair{wait.has_value(), "--shard-wait"}})
    if (said) fail(errc::usage, "{} {}", name, why);
}

std::vector<place> places_of(std::vector<std::uint32_t> const& devices, std::optional<std::uint32_t> ranks, shard_arguments const& split,
                             place where, bool full) {
  if (full && ranks && *ranks != 1)
    fail(errc::usage, "--full and {} ranks: the whole graph is trained by shards; say --shards {}", *ranks, *ranks);
  if (!full) {
    if (split.shards) fail(errc::usage, "--shards is of the whole graph; say --full, or --ranks for mini-batches");
    split.refuse_all("is of the whole graph; say --full, or --ranks for mini-batches");
  }
  char const* const what = full ? "shards" : "ranks";
  std::uint32_t const n = full ? split.shards.value_or(1) : ranks.value_or(1);
  if (n == 0) fail(errc::usage, "--{} 0: say 1 to {}", what, rank_group::most_ranks);
  std::vector<place> all;
  for (std::uint32_t const d : devices) all.push_back({place_kind::device, static_cast<int>(d)});
  if (all.empty()) all.assign(n, where);
  if (all.size() > rank_group::most_ranks) fail(errc::usage, "{} {}: say 1 to {}", all.size(), what, rank_group::most_ranks);
  return all;
}

std::string features_of(std::string const& file, vertex_type const& t) {
  if (!t.features)
    fail(errc::input,
         "{}: '{}' has no features; name a table of a row a vertex in the manifest (as numbers drawn at random, where none are known)",
         file, t.name);
  return t.features->string();
}
std::size_t target_of(std::vector<vertex_type> const& types, std::string const& file, std::string const& said, bool labelled) {
  auto const fits = [&](vertex_type const& t) { return t.train && (t.labels || !labelled); };
  char const* const what = labelled ? "labels and training vertices (labels, train)" : "training vertices (train)";
  if (!said.empty()) {
    std::size_t const k = type_named(types, said, file);
    if (!fits(types[k]))
      fail(errc::input, "--target {}: {} has no {} of these; name some in it", said, file,
           types[k].labels || !labelled ? "training vertices (train)" : "labels");
    return k;
  }
  std::vector<std::string> names;
  std::size_t found = 0;
  for (std::size_t k = 0; k < types.size(); ++k)
    if (fits(types[k])) names.push_back(types[k].name), found = k;
  if (names.empty()) fail(errc::input, "{}: no type has {}; name some in it", file, what);
  if (names.size() > 1)
    fail(errc::usage, "{}: several types have {}: '{}'; say which with --target", file, labelled ? "labels" : "training vertices",
         fmt::join(names, "', '"));
  return found;
}
std::optional<std::uint64_t> budget_of_types(load_arguments const& a) {
  if (!a.keep_lists.empty()) fail(errc::usage, "--keep-lists {}: {} may have several types; leave it out", a.keep_lists, a.file);
  if (a.budget.ends_with('%')) fail(errc::usage, "--budget {}: of several tables; say bytes of each, as 1GiB", a.budget);
  return a.budget_bytes(0);
}
void set_classes(std::optional<std::uint64_t> said, row_array const& labels, std::string const& file, model_options& m) {
  m.labels = labels.kind == element::i64 ? label_kind::one_class : label_kind::yes_or_no;
  m.classes = labels.width;
  if (m.labels == label_kind::one_class) {
    auto const* const label = static_cast<std::int64_t const*>(labels.data);
    std::int64_t highest = 0;
    for (std::uint64_t v = 0; v < labels.rows; ++v) {
      highest = std::max(highest, label[v]);
      if (!said && label[v] > 0 && static_cast<std::uint64_t>(label[v]) >= labels.rows)
        fail(errc::input, "{}: label {} of vertex {} would make more classes than there are vertices ({}); say -1 where none is known",
             file, label[v], v, labels.rows);
    }
    m.classes = said.value_or(static_cast<std::uint64_t>(highest + 1));
  } else if (said && *said != m.classes) {
    fail(errc::usage, "--classes {}, and {} has {} columns, one a class", *said, file, m.classes);
  }
}

open_options types_options(place where, std::string const& tier, pulled_lists const& how) {
  open_options o;
  o.where = where;
  if (!tier.empty() && tier != "automatic") o.edges = parse_tier(tier);
  o.in_lists = how.side == list_side::out || how.both, o.weights = how.weighted;
  return o;
}
opened_types open_types(std::string const& file, place where, std::string const& tier, pulled_lists const& how,
                        std::optional<std::uint64_t> budget, row_arguments const& a, rank_group* together) {
  open_options const lists = types_options(where, tier, how);
  opened_types all{
      hetero_graph::open(
          file, [&](std::filesystem::path const& of) { return together ? open_graph(of, lists, *together) : open_graph(of, lists); }),
      {},
      {}};
  for (vertex_type const& t : all.g.types()) {
    row_array const rows = a.open_table(features_of(file, t), where, together);
    tiered_options o;
    o.where = where;
    if (where.kind != place_kind::host) o.device_budget = budget;
    a.set_file_budgets(o, rows);
    all.tables.emplace_back(rows, o);
    all.rows.push_back(rows);
  }
  return all;
}

}  // namespace garner::cli
