#include "models.hpp"

#include <filesystem>
#include <utility>

#include "comm/rank_group.hpp"
#include "shard/parts.hpp"

namespace garner::cli {

void set_layers(model_options& m, std::string const& norm, bool residual, std::uint64_t training_vertices) {
  if (norm != "automatic" && norm != "none" && norm != "layer") fail(errc::usage, "--norm {}: use none, layer or automatic", norm);
  suit_layers(m, residual || norm != "automatic" ? 0 : training_vertices);
  if (norm != "automatic") m.layer_norm = norm == "layer";
  m.residual = m.residual || residual;
}

void shard_arguments::add(verb& v, bool trains) {
  option& parts = v.add("--shards", shards).not_with("--ranks");
  if (trains) parts.not_with("--devices");  // a plan of an algorithm takes both: all of them run
  v.add("--shard-strategy", strategy);
  v.add("--shard-reduction", sums);
  v.add("--shard-balance", balance);
  v.add("--shard-dtype", wire);
  v.add("--shard-adjacency", lists);
  v.add("--shard-features", rows);
  v.add("--shard-transport", provider);
  v.add("--mgg", mgg);
  if (trains) v.add("--shard-timeout", wait);
  v.add("--activations", activations).among("device host file automatic");
  v.add("--scratch", scratch);
}
bool shard_arguments::take_less(int way, bool tiers) {
  if (activations == "device" || strategy == "mgg" || sums == "fast") return false;
  if (way == 1) return !rows && (rows = "tiered", true);
  bool& of = way == 0 ? host_activations : way == 2 ? host_layers : remote_adjacency;
  return !(way == 0 && keeps_in_host()) && (way < 3 || tiers) && !std::exchange(of, true);
}
char const* shard_arguments::instead() const {
  if (!keeps_in_host()) return "keep activations in host memory (--activations host)";
  if (rows != "tiered") return "read features by tier (--shard-features tiered)";
  return "use more devices (--devices), fewer layers or mini-batches (--fanout)";
}
char const* shard_arguments::instead_of_host() const { return keeps_in_host() && !keeps_in_file() ? to_a_file : nullptr; }
void shard_arguments::refuse_types(std::string const& file) const {
  if (keeps_in_host() || scratch)
    fail(errc::usage, "{}: {} may have several types, whose activations stay on the device; leave it out",
         scratch ? "--scratch " + *scratch : "--activations " + *activations, file);
}
shard_asked shard_arguments::options(std::uint32_t n) const {
  shard_asked o;
  o.shards = n, o.remote_adjacency = remote_adjacency;
  if (!decides()) o.strategy = parse_shard_strategy(*strategy);
  if (!(late_seconds() > 0)) fail(errc::usage, "--shard-timeout {}: use seconds, more than 0", *wait);
  if (sums && *sums != "deterministic" && *sums != "fast") fail(errc::usage, "--shard-reduction {}: use deterministic or fast", *sums);
  if (sums) o.sums = *sums == "fast" ? shard_reduction::fast : shard_reduction::deterministic;
  if (balance) o.balance = parse_shard_balance(*balance);
  if (wire) o.wire = parse_element(*wire);
  if (lists && *lists != "plain" && *lists != "compressed") fail(errc::usage, "--shard-adjacency {}: use plain or compressed", *lists);
  o.compressed_adjacency = packs_lists();
  if (rows && *rows != "local" && *rows != "tiered") fail(errc::usage, "--shard-features {}: use local or tiered", *rows);
  o.far_rows = rows == "tiered", o.host_activations = keeps_in_host(), o.host_layers = host_layers;
  if (keeps_in_file()) o.scratch = *scratch;
  if (provider) o.provider = parse_shard_provider(*provider);
  if (o.strategy == shard_strategy::mgg) {
    if (sums && o.sums == shard_reduction::deterministic)
      fail(errc::usage,
           "--shard-strategy mgg and --shard-reduction deterministic: it sums with atomics, in no fixed order; use another strategy, or "
           "fast");
    o.sums = shard_reduction::fast;
  }
  if (mgg.empty()) return o;
  if (o.strategy != shard_strategy::mgg) fail(errc::usage, "--mgg goes with --shard-strategy mgg; add that, or leave it out");
  if (mgg.size() != 3)
    fail(errc::usage, "--mgg of {} numbers: use neighbors per partition, distance and warps per block, as 16,1,4", mgg.size());
  o.tuning = {mgg[0], mgg[1], mgg[2]};
  return o;
}

void shard_arguments::refuse_all(char const* why) const {
  for (auto const& [said, name] : {std::pair{strategy.has_value(), "--shard-strategy"}, std::pair{sums.has_value(), "--shard-reduction"},
                                   std::pair{balance.has_value(), "--shard-balance"}, std::pair{wire.has_value(), "--shard-dtype"},
                                   std::pair{lists.has_value(), "--shard-adjacency"}, std::pair{rows.has_value(), "--shard-features"},
                                   std::pair{provider.has_value(), "--shard-transport"}, std::pair{!mgg.empty(), "--mgg"},
                                   std::pair{wait.has_value(), "--shard-timeout"}})
    if (said) fail(errc::usage, "{} {}", name, why);
}

std::vector<execution_device> places_of(std::vector<std::uint32_t> const& devices, std::optional<std::uint32_t> ranks,
                                        shard_arguments const& split, execution_device where, bool full) {
  if (full && ranks && *ranks != 1)
    fail(errc::usage, "--full and {} ranks: full-graph training uses shards; use --shards {}", *ranks, *ranks);
  if (!full) {
    if (split.shards) fail(errc::usage, "--shards goes with --full; add it, or use --ranks for mini-batches");
    if (split.activations) fail(errc::usage, "--activations goes with --full; add it, or leave it out");
    split.refuse_all("goes with --full; add it, or use --ranks for mini-batches");
  }
  char const* const what = full ? "shards" : "ranks";
  std::uint32_t const n = full ? split.shards.value_or(1) : ranks.value_or(1);
  if (split.activations) parse_activation_place(*split.activations);
  if (split.scratch && (!full || split.activations == "device" || split.activations == "host"))
    fail(errc::usage, "--scratch {}: activations go there with --full, by themselves or with --activations file; leave it out",
         *split.scratch);
  if (split.activations == "file" && !split.scratch)
    fail(errc::usage, "--activations file: name a folder on a disk with room for them, with --scratch");
  if (std::error_code none; split.scratch && !std::filesystem::is_directory(*split.scratch, none))
    fail(errc::usage, "--scratch {}: is not a folder; name one on a disk with room for activations", *split.scratch);
  if (full && split.shards && !devices.empty()) fail(errc::usage, "--devices excludes --shards; leave --shards out");
  if (n == 0) fail(errc::usage, "--{} 0: use 1 to {}", what, rank_group::most_ranks);
  std::vector<execution_device> all;
  for (std::uint32_t const d : devices) all.push_back({device_kind::cuda, static_cast<int>(d)});
  if (all.empty()) all.assign(n, where);
  if (all.size() > rank_group::most_ranks) fail(errc::usage, "{} {}: use 1 to {}", all.size(), what, rank_group::most_ranks);
  return all;
}

std::string features_of(std::string const& file, vertex_type const& t) {
  if (!t.features)
    fail(errc::input,
         "{}: '{}' has no features; name a table with one row per node in the dataset file (of random numbers, if it has none)", file,
         t.name);
  return t.features->string();
}
std::size_t target_of(std::vector<vertex_type> const& types, std::string const& file, std::string const& said, bool labelled) {
  auto const fits = [&](vertex_type const& t) { return t.train && (t.labels || !labelled); };
  char const* const what = labelled ? "labels and training nodes (labels, train)" : "training nodes (train)";
  if (!said.empty()) {
    std::vector<std::string> all;
    for (vertex_type const& t : types) all.push_back(t.name);
    std::size_t const k = static_cast<std::size_t>(std::find(all.begin(), all.end(), said) - all.begin());
    if (k == all.size()) fail(errc::input, "{}: has no vertices '{}'; it has '{}'", file, said, fmt::join(all, "', '"));
    if (!fits(types[k]))
      fail(errc::input, "--target {}: {} has no {} of these; name some in it", said, file,
           types[k].labels || !labelled ? "training nodes (train)" : "labels");
    return k;
  }
  std::vector<std::string> names;
  std::size_t found = 0;
  for (std::size_t k = 0; k < types.size(); ++k)
    if (fits(types[k])) names.push_back(types[k].name), found = k;
  if (names.empty()) fail(errc::input, "{}: no type has {}; name some in it", file, what);
  if (names.size() > 1)
    fail(errc::usage, "{}: several types have {}: '{}'; choose one with --target", file, labelled ? "labels" : "training nodes",
         fmt::join(names, "', '"));
  return found;
}
std::optional<std::uint64_t> budget_of_types(load_arguments const& a) {
  if (!a.keep_lists.empty()) fail(errc::usage, "--graph-cache {}: {} may have several types; leave it out", a.keep_lists, a.file);
  if (a.budget.ends_with('%')) fail(errc::usage, "--feature-cache {}: there are several tables; use bytes per table, as 1GiB", a.budget);
  return a.budget_bytes(0);
}
void set_classes(std::optional<std::uint64_t> said, row_array const& labels, std::string const& file, model_options& m) {
  m.labels = labels.kind == element::i64 ? label_kind::single_label : label_kind::multi_label;
  m.classes = labels.width;
  if (m.labels == label_kind::single_label) {
    auto const* const label = static_cast<std::int64_t const*>(labels.data);
    std::int64_t highest = 0;
    for (std::uint64_t v = 0; v < labels.rows; ++v) {
      highest = std::max(highest, label[v]);
      if (!said && label[v] > 0 && static_cast<std::uint64_t>(label[v]) >= labels.rows)
        fail(errc::input, "{}: label {} of node {} would make more classes than there are nodes ({}); use -1 for an unknown label", file,
             label[v], v, labels.rows);
    }
    m.classes = said.value_or(static_cast<std::uint64_t>(highest + 1));
  } else if (said && *said != m.classes) {
    fail(errc::usage, "--classes {}, and {} has {} columns, one per class", *said, file, m.classes);
  }
}

open_options types_options(execution_device where, std::string const& tier, pulled_lists const& how) {
  open_options o;
  o.device = where, o.as_stored = true;
  if (!tier.empty() && tier != "automatic") o.edges = parse_tier(tier);
  o.in_edges = how.side == edge_direction::out || how.both, o.weights = how.weighted;
  return o;
}
opened_types open_types(std::string const& file, execution_device where, std::string const& tier, pulled_lists const& how,
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
    o.device = where;
    if (where.kind != device_kind::cpu) o.feature_cache = budget;
    a.set_file_budgets(o, rows);
    all.tables.emplace_back(rows, o);
    all.rows.push_back(rows);
  }
  return all;
}

}  // namespace garner::cli
