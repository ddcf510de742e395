#include "models.hpp"

#include "comm/rank_group.hpp"
#include "core/fail.hpp"

namespace garner::cli {

bool layer_norm_of(std::string const& said, model_kind model) {
  if (said != "automatic" && said != "none" && said != "layer") fail(errc::usage, "--norm {}: say none, layer or automatic", said);
  return said == "layer" || (said == "automatic" && model == model_kind::gin);
}

std::vector<place> places_of(std::vector<std::uint32_t> const& devices, std::optional<std::uint32_t> ranks, place where, bool full) {
  std::vector<place> all;
  for (std::uint32_t const d : devices) all.push_back({place_kind::device, static_cast<int>(d)});
  if (all.empty()) all.assign(ranks.value_or(1), where);
  if (all.empty()) fail(errc::usage, "--ranks 0: say 1 or more");
  if (all.size() > rank_group::most_ranks) fail(errc::usage, "{} ranks: say 1 to {}", all.size(), rank_group::most_ranks);
  if (all.size() > 1 && full) fail(errc::usage, "--full and {} ranks: a step of the whole graph is not shared; say --fanout", all.size());
  return all;
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
    if (!t.features)
      fail(errc::input,
           "{}: '{}' has no features; name a table of a row a vertex in the manifest (as numbers drawn at random, where none are known)",
           file, t.name);
    row_array const rows = a.open_table(t.features->string(), where, together);
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
