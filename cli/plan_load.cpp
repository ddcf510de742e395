#include "plan_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "command/job_options.hpp"
#include "command/link_times.hpp"
#include "core/device.hpp"
#include "features/stored_rows.hpp"
#include "garner/memory.hpp"
#include "graph/source.hpp"
#include "models.hpp"
#include "nn/decide_shards.hpp"
#include "nn/part_rows.hpp"
#include "plan_ground.hpp"
#include "shard/lists.hpp"
#include "shard/parts.hpp"
#include "shard/rates.hpp"

namespace garner::cli {

using json = nlohmann::ordered_json;

void plan_load_arguments::add(verb& v) {
  v.add("--fanout", fanout, "load: neighbors sampled per node, for each hop (default: 15,10,5)");
  v.add("--batch", batch, "load: training nodes per mini-batch (default: 1024)");
  v.add("--share", share, "load: training nodes, a share of those with neighbors (default: 1%)");
  v.add("--rule", rule, "load: nodes that sample at a hop, all or last (default: last)");
  v.add("--side", side, "load: neighbors to sample, in or out (default: in)");
  v.add("--disjoint", disjoint, "load: one tree per training node");
  v.add("--weighted", weighted,
        "pagerank: use edge weights; load: sample in proportion to edge weights, which reads whole adjacency lists");
  v.add("--features", features, "load: feature table (.npy); only its header is read").not_with("--width");
  v.add("--width", width, "load: feature rows of this many f32");
  v.add("--target", target, "load: target node type of a dataset with several types (default: the one with training nodes)");
  v.add("--feature-cache", budget, "load: GPU memory that caches features, as 8GiB, or a share of all, as 10% (default: 0)");
  v.add("--strategy", strategy, "load: window, tiered, automatic (default: automatic)");
  v.add("--window", window,
        "load: prefetch window: mini-batches whose remote features are fetched together (default: 8 to 32, in a quarter of free memory)");
  v.add("--prefetch", ahead, "load: mini-batches that are ready in advance (default: 2)");
  v.add("--window-bytes", window_bytes);
  v.add("--feature-tier", rows);
  v.add("--host-cache", host_rows);
  v.add("--file-cache", file_cache);
  v.add("--drive-reads", drive_reads);
}
void plan_load_arguments::require_unset(std::string const& job, bool may_be_weighted) const {
  auto const refuse = [&](bool said, char const* option) {
    if (said) fail(errc::usage, "{} goes with --algorithm load and --algorithm train, not {}; leave it out", option, job);
  };
  refuse(fanout.has_value(), "--fanout"), refuse(batch.has_value(), "--batch"), refuse(share.has_value(), "--share");
  refuse(rule.has_value(), "--rule"), refuse(side.has_value(), "--side"), refuse(disjoint, "--disjoint"),
      refuse(weighted && !may_be_weighted, "--weighted");
  refuse(features.has_value(), "--features"), refuse(width.has_value(), "--width"), refuse(budget.has_value(), "--feature-cache");
  refuse(strategy.has_value(), "--strategy"), refuse(window.has_value(), "--window"), refuse(ahead.has_value(), "--prefetch");
  refuse(window_bytes.has_value(), "--window-bytes"), refuse(rows.has_value(), "--feature-tier"),
      refuse(host_rows.has_value(), "--host-cache");
  refuse(file_cache.has_value(), "--file-cache"), refuse(drive_reads.has_value(), "--drive-reads"), refuse(target.has_value(), "--target");
}

void plan_train_arguments::add(verb& v) {
  v.add("--model", model, "train: gcn, sage or gin (default: sage)");
  v.add("--classes", classes, "train: number of classes (default for a dataset file: from its labels)");
  v.add("--split", split, "train: part of each node (.npy), which gives the sizes of training, validation and test sets")
      .not_with("--share");
  v.add("--full", full, "train: full-graph training").not_with("--fanout");
  v.add("--layers", layers, "train: number of layers (default: one per hop of --fanout, with --full 2)");
  v.add("--hidden", hidden, "train: hidden units per layer (default: 64)");
  v.add("--norm", norm, "train: none, layer or automatic, as `garner train` has it (default: automatic)");
  v.add("--residual", residual, "train: residual connections, with a GEMM before and after the layers");
  v.add("--devices", devices,
        "as 0,1: train: GPUs for data-parallel training; bfs, components, pagerank: each GPU takes a part of the vertices")
      .not_with("--ranks");
  v.add("--ranks", ranks, "train: data-parallel training by this many threads on one device");
  split_into.add(v, false);
}
void plan_train_arguments::require_unset(std::string const& job, bool shards_too) const {
  for (auto const& [said, option] :
       {std::pair{model.has_value(), "--model"}, std::pair{classes.has_value(), "--classes"}, std::pair{split.has_value(), "--split"},
        std::pair{full, "--full"}, std::pair{layers.has_value(), "--layers"}, std::pair{hidden.has_value(), "--hidden"},
        std::pair{norm.has_value(), "--norm"}, std::pair{residual, "--residual"}, std::pair{shards_too && !devices.empty(), "--devices"},
        std::pair{ranks.has_value(), "--ranks"}, std::pair{shards_too && split_into.shards.has_value(), "--shards"},
        std::pair{split_into.activations.has_value(), "--activations"}, std::pair{split_into.scratch.has_value(), "--scratch"}})
    if (said)
      fail(errc::usage, "{} goes with --algorithm train{}, not {}; leave it out", option,
           shards_too && (option == std::string_view("--devices") || option == std::string_view("--shards"))
               ? ", bfs, components and pagerank"
               : "",
           job);
}

namespace {
// Rows a second that the drive of a file gives, where it is worth the look.
std::optional<double> drive_of(std::string const& table) {
  row_array const rows = open_rows(table);
  if (rows.file->stored_bytes() < worth_measuring) return std::nullopt;
  drive_rate const rate = rows.file->measured();
  return rate.requests_a_second * rate.drives;
}
// How the gradients of ranks at these places reach each other. Devices that are not here are taken for such as read each other.
training_question::exchange gradients_of(std::vector<execution_device> const& places) {
  bool apart = false;
  for (execution_device const a : places)
    for (execution_device const b : places) {
      if (a == b) continue;
      apart = true;
      if (std::max(a.index, b.index) < device::count() && !device::peer_of(a.index, b.index).can) return training_question::exchange::host;
    }
  return apart ? training_question::exchange::peers : training_question::exchange::near;
}
training_question question_of(plan_train_arguments const& t, std::vector<execution_device> const& places, planned_ground const& g,
                              std::uint64_t near_free) {
  training_question all;
  load_question const& q = g.q;
  all.load = q, all.types = g.types;
  all.ranks = t.full ? 1 : static_cast<std::uint32_t>(places.size()), all.gradients = gradients_of(places);
  all.lists_on_peer = g.lists_in == tier::peer;
  if (t.full) all.load.fanouts.clear();
  model_options& m = all.model;
  if (g.several()) m = g.labels;
  else if (!t.classes) fail(errc::usage, "how many classes? Use --classes N");
  else m.classes = *t.classes;
  m.kind = parse_model_kind(t.model.value_or("sage"));
  m.inputs = g.inputs;
  std::uint64_t const hops = t.full ? 2 : q.fanouts.size(), layers = t.layers.value_or(hops), hidden = t.hidden.value_or(64);
  if (!t.full && layers != hops) fail(errc::usage, "--layers {} and {} fanouts: use a fanout for each layer", layers, hops);
  auto const range = [](char const* what, std::uint64_t value, std::uint64_t most) {
    if (value < 1 || value > most) fail(errc::usage, "{} {}: use 1 to {}", what, value, most);
  };
  range("--layers", layers, 64), range("--hidden", hidden, 1u << 20), range("--classes", m.classes, 1u << 24);
  m.layers = static_cast<std::uint32_t>(layers), m.hidden = static_cast<std::uint32_t>(hidden);
  set_layers(m, t.norm.value_or("automatic"), t.residual, g.several() ? 0 : g.parts[1]);
  all.input_dropout = input_dropout_of(m, 0.5);
  all.training = static_cast<double>(g.parts[1]), all.validation = g.parts[2], all.test = g.parts[3], all.evaluation_near = near_free;
  return all;
}

// For each shard its local data and what it reads, by the offsets if they are known: at most, for rows of others.
struct planned_shard {
  std::uint64_t first = 0;
  training_question::part part;
  training_plan plan;
};
struct planned_split {
  std::vector<planned_shard> shards;
  std::vector<shard_decision::considered> strategies;  // predicted as if edges led anywhere
  std::uint64_t list_bytes = 0;                        // of all, both directions
};
planned_split plan_shards(training_question q, shard_asked const& o, graph_source const& from, std::string const& file, bool in,
                          std::vector<execution_device> const& places) {
  std::uint64_t const n = q.load.info.vertices, edges = q.load.info.edges;
  buffer<std::uint64_t> const known = from.offsets(in && q.load.info.directed, true);
  std::vector<std::uint64_t> even;
  if (known.empty()) {  // by the mean degree
    for (std::uint64_t v = 0; v <= n; ++v)
      even.push_back(static_cast<std::uint64_t>(static_cast<double>(edges) * static_cast<double>(v) /
                                                static_cast<double>(std::max<std::uint64_t>(n, 1))));
  }
  std::uint64_t const* const offsets = known.empty() ? even.data() : known.data();
  shard_parts const parts(offsets, n, o, file);
  planned_split split;
  std::vector<planned_shard>& all = split.shards;
  std::vector<shard_sizes::part> sizes;
  bool const several = std::any_of(places.begin(), places.end(), [&](execution_device p) { return p.index != places[0].index; }),
             may_be_whole = several && places[0].kind == device_kind::cuda;
  for (std::uint32_t s = 0; s < parts.shards(); ++s) {
    std::uint64_t const first = parts.first(s), own = parts.count(s), arcs = offsets[first + own] - offsets[first];
    q.shard = {static_cast<double>(own),
               static_cast<double>(arcs),
               static_cast<double>(o.shards > 1 ? std::min(arcs, n - own) : 0),
               static_cast<std::uint32_t>(parts.blocks(s).size() - 1),
               static_cast<double>(part_rows::largest(parts.blocks(s))),
               s == 0,
               o};
    all.push_back({first, *q.shard, plan_training(q)});
    split.list_bytes += static_cast<std::uint64_t>((q.load.info.directed ? 2 : 1) * shard_list_bytes(q));
    double const others = static_cast<double>(n - own), crossing = static_cast<double>(arcs) * others / static_cast<double>(n);
    auto const needed = static_cast<std::uint64_t>(distinct_targets(crossing, others));
    sizes.push_back({own, arcs, static_cast<std::uint64_t>(crossing), rows_that_come(needed, n - own, may_be_whole)});
  }
  shard_sizes of(n, std::move(sizes));
  of.one_place = !several;
  std::vector<shard_pass> const passes = costs_of(passes_of(q.model, q.input_dropout));
  shard_rates const rates = known_rates(places[0]);
  split.strategies = ways_of(of, o, q.load.weighted, passes, rates, several);
  return split;
}
// Whether what shards share is copied, and lies near then: between processes, and where a library brings it.
bool windows_near(shard_options const& o, bool device, bool processes) {
  bool const host = o.provider == shard_provider::host;
  if (!device) return host || processes;
  return !host && (processes || o.provider == shard_provider::nccl || o.provider == shard_provider::nvshmem);
}
// The arrays of several shards on one device: what all of them have there.
std::vector<load_array> sum_of(std::vector<planned_shard> const& shards) {
  std::vector<load_array> all;
  for (planned_shard const& s : shards)
    for (load_array const& a : s.plan.near) {
      auto const at = std::find_if(all.begin(), all.end(), [&](load_array const& b) { return b.what == a.what; });
      if (at == all.end()) all.push_back(a);
      else at->bytes += a.bytes;
    }
  return all;
}
}  // namespace

bytes_needed whole_bytes(training_question q, shard_asked const* split, graph_source const& from, std::string const& file, bool in,
                         std::vector<execution_device> const& places, std::optional<std::uint32_t> process, bool least) {
  bool const on_device = places[0].kind == device_kind::cuda;
  bytes_needed needed;
  auto const take = [&](training_plan const& plan, std::uint64_t& there) {
    for (load_array const& a : plan.near)
      if (!least || !a.at_most) there += a.bytes;
    for (load_array const& a : plan.host) needed.host += a.bytes;
    needed.device = std::max(needed.device, there);
  };
  if (!split) {
    std::uint64_t all = 0;
    take(plan_training(q), all);
    return needed;
  }
  q.shard_windows = windows_near(*split, on_device, process.has_value());
  std::vector<planned_shard> const shards = plan_shards(q, *split, from, file, in, places).shards;
  std::vector<std::uint64_t> there(places.size());
  for (std::size_t k = 0; k < shards.size(); ++k) {
    if (process && on_device && k != *process) continue;
    q.shard = shards[k].part;
    double const all = static_cast<double>(q.load.info.vertices), others = all - q.shard->vertices;
    // As if edges led anywhere, where a plan prints the most.
    q.shard->remote_rows = least || others <= 0 ? 0 : distinct_targets(q.shard->edges * others / all, others);
    auto const at =
        static_cast<std::size_t>(std::find(places.begin(), places.end(), places[std::min(k, places.size() - 1)]) - places.begin());
    take(plan_training(q), there[at]);
  }
  return needed;
}

void require_whole(training_question q, shard_asked const* split, graph_source const& from, std::string const& file, bool in,
                   std::vector<execution_device> const& places, std::optional<std::uint32_t> process) {
  bool const on_device = places[0].kind == device_kind::cuda;
  bytes_needed const needed = whole_bytes(q, split, from, file, in, places, process, true);
  auto const least = static_cast<std::uint64_t>(static_cast<double>(needed.device) / 1.25);
  require_memory(file, needed.host + (on_device ? 0 : least + q.load.list_bytes), on_device ? least : 0, places[0],
                 split && !split->host_activations ? "use more devices, --activations host, --tier host or --shard-adjacency compressed"
                 : split                           ? "use more devices, fewer layers, a smaller --hidden or mini-batches (--fanout)"
                                                   : "use --activations host, --devices or mini-batches (--fanout)",
                 split && split->host_activations && split->scratch.empty() ? shard_arguments::to_a_file : nullptr);
}

json plan_of_load(plan_load_arguments const& p, plan_train_arguments const* train, std::string const& file, execution_device where,
                  std::string const& tier_said, std::uint64_t host_allowed, std::uint64_t device_allowed) {
  load_arguments a;
  a.file = file, a.tier = tier_said, a.place = to_string(where);
  auto const take = [](auto& to, auto const& said) {
    if (said) to = static_cast<std::remove_reference_t<decltype(to)>>(*said);
  };
  take(a.fanout, p.fanout), take(a.share, p.share), take(a.rule, p.rule), take(a.side, p.side), take(a.budget, p.budget),
      take(a.keep_lists, p.keep_lists), take(a.strategy, p.strategy);
  take(a.features, p.features), take(a.window_bytes, p.window_bytes), take(a.batch, p.batch);
  take(a.rows, p.rows), take(a.host_rows, p.host_rows), take(a.file_cache, p.file_cache);
  if (p.window && *p.window <= 64) a.window = static_cast<std::uint32_t>(*p.window);
  else if (p.window) a.window = 65;  // refused below
  if (p.ahead && *p.ahead <= 64) a.ahead = static_cast<std::uint32_t>(*p.ahead);
  else if (p.ahead) a.ahead = 65;
  if (train && !p.fanout) a.fanout = "15,10";
  a.width = p.width, a.disjoint = p.disjoint, a.weighted = p.weighted, a.full = train && train->full;
  bool const several = file.ends_with(".json");
  if (several && !p.features) a.features = "of the dataset file";  // for check()
  if (!several && p.target) fail(errc::usage, "--target {}: {} has one type of vertices; leave it out", *p.target, file);
  a.check();

  bool const on_device = where.kind == device_kind::cuda, host = where.kind == device_kind::cpu;
  planned_ground g = several ? ground_of_types(a, p, train, device_allowed) : ground_of_one(a, train, device_allowed);
  load_question& q = g.q;
  std::uint64_t const share = g.parts[1];
  q.batches = std::max<std::uint64_t>(1, (share + a.batch - 1) / a.batch);
  load_plan plan = train ? load_plan() : plan_load(q);
  std::optional<training_plan> learns;
  planned_split split_up;
  std::vector<planned_shard>& shards = split_up.shards;
  std::vector<execution_device> const places =
      train ? places_of(train->devices, train->ranks, train->split_into, where, train->full) : std::vector<execution_device>{where};
  shard_arguments split_into = train ? train->split_into : shard_arguments();
  bool const in = a.lists() == edge_direction::in;
  std::optional<graph_source> source;
  if (train && train->full && !several) {
    source.emplace(file);
    if (a.wants_in_lists()) source->want_in_lists();
  }
  auto const is_split = [&] { return train && train->full && (places.size() > 1 || split_into.shards || split_into.keeps_in_host()); };
  if (source && (on_device || split_into.scratch)) {
    split_into.remote_adjacency = on_device && !chooses_tier(tier_said) && parse_tier(tier_said) == tier::host;
    std::uint64_t const there =
        q.list_bytes + (g.vertices + 1) * 8 + a.host_bytes(a.features, g.tables[0].size.rows * g.tables[0].size.row_bytes);
    split_into.fit({host_allowed - std::min(host_allowed, there), device_allowed}, on_device, on_device && chooses_tier(tier_said), [&] {
      shard_asked const into = split_into.options(static_cast<std::uint32_t>(places.size()));
      return whole_bytes(question_of(*train, places, g, device_allowed), is_split() ? &into : nullptr, *source, file, in, places);
    });
  }
  bool const split = is_split();
  split_into.remote_adjacency = split && split_into.remote_adjacency;
  if (several) split_into.refuse_types(file);
  if (split && several)
    fail(errc::usage, "{} shards: {} may have several types, which are not split; plan without --shards", places.size(), file);
  if (split && split_into.options(static_cast<std::uint32_t>(places.size())).provider == shard_provider::peer &&
      gradients_of(places) == training_question::exchange::host)
    fail(errc::device, "--shard-transport peer: these devices cannot read each other's memory; use others, or leave it out");
  if (split && on_device) {  // each shard copies its own
    if (chooses_tier(tier_said)) g.lists_in = tier::host;
    else split_into.remote_adjacency = parse_tier(tier_said) == tier::host;
    std::erase_if(g.lists, [](plan_row const& r) { return r.what == "offsets, local"; });
    for (plan_row& r : g.lists)
      if (r.what == "adjacency") r.where = g.lists_in;
  }
  std::uint64_t const ranks = split ? 1 : places.size();
  bool const through_host = gradients_of(places) == training_question::exchange::host;
  std::uint64_t together = 1;  // ranks on a place
  for (execution_device const p : places)
    together = std::max(together, static_cast<std::uint64_t>(std::count(places.begin(), places.end(), p)));
  std::uint64_t rows_near = 0, rows_kept = 0, all_rows = 0;  // bytes, rows, bytes
  for (planned_table const& t : g.tables)
    rows_near += t.kept * t.size.row_bytes, rows_kept += t.kept, all_rows += t.size.rows * t.size.row_bytes;
  if (train) {
    std::uint64_t const allowed = on_device ? device_allowed : host_allowed;
    std::uint64_t const lists_there = on_device ? g.near_lists() : g.lists[0].bytes;
    auto const planned = [&](std::uint64_t free) { return plan_training(question_of(*train, places, g, free)); };
    learns = planned(allowed);
    if (split) {
      shard_asked const into = split_into.options(static_cast<std::uint32_t>(places.size()));
      training_question q = question_of(*train, places, g, allowed);
      q.shard_windows = windows_near(into, on_device, false);
      split_up = plan_shards(q, into, *source, file, in, places);
      auto const largest = std::max_element(shards.begin(), shards.end(),
                                            [](planned_shard const& x, planned_shard const& y) { return x.plan.bytes() < y.plan.bytes(); });
      learns = largest->plan;
      if (together > 1) learns->near = sum_of(shards);
      together = 1;
    }
    if (allowed != unlimited_bytes && !train->full) {  // evaluation has what a training leaves
      std::uint64_t const others = together * (learns->bytes() + rows_near) + lists_there + (host ? all_rows : 0);
      if (others < allowed) learns = planned(allowed - others);
    }
    if (train->full) plan.training = static_cast<double>(share);
    else plan = learns->load;
  }

  tier const near = on_device ? tier::device : tier::host;
  // Each rank has its own local data; adjacency in host memory and the table are shared.
  std::vector<plan_row> memory = g.lists;
  for (plan_row& r : memory)
    if (r.where == tier::device) r.bytes *= together;
  for (planned_table const& t : g.tables) {
    std::uint64_t const bytes = t.size.row_bytes;
    if (t.in_file) {
      std::uint64_t const home = std::min(t.in_file->host, t.size.rows - t.kept);
      memory.push_back({t.named("features in host memory"), tier::host, home * bytes});
      memory.push_back({t.named("features of the file, cached"), tier::host, t.in_file->cache_bytes * ranks});
      memory.push_back({t.named("features that stay in the file"), tier::file, (t.size.rows - t.kept - home) * bytes});
    } else {
      memory.push_back({t.named("features"), tier::host, t.size.rows * bytes});
    }
    if (!t.kept) continue;
    memory.push_back({t.named("feature cache"), near, t.kept * bytes * together});
    memory.push_back({t.named("index of the feature cache"), near, t.size.rows * 4 * together});
  }
  if (split_into.remote_adjacency)
    memory.push_back(
        {split_into.packs_lists() ? "compressed adjacency of shards, at most" : "adjacency of shards", tier::host, split_up.list_bytes});
  for (load_array const& n : plan.near) memory.push_back({n.what, near, n.bytes * together});
  if (learns) {
    for (load_array const& n : learns->near) memory.push_back({n.what, near, n.bytes * together});
    for (planned_shard const& s : shards)
      for (auto const& [where_to, arrays] : {std::pair{tier::host, &s.plan.host}, std::pair{tier::file, &s.plan.file}})
        for (load_array const& h : *arrays) memory.push_back({h.what, where_to, h.bytes});
    if (through_host) memory.push_back({"gradients of ranks", tier::host, learns->parameters * 4 * ranks});
    if (learns->evaluation.near_bytes) memory.push_back({"exact evaluation, at most", near, learns->evaluation.near_bytes});
  }
  bytes_needed needed;
  for (plan_row const& r : memory)
    if (r.where != tier::file)
      (r.where == tier::device ? needed.device
       : r.where == tier::peer ? needed.device
                               : needed.host) += r.where == tier::peer ? 0 : r.bytes;
  std::string refusal = why_not(file, needed, {host_allowed, device_allowed}, to_string(where),
                                train && train->full && !several ? split_into.instead()
                                : g.lists_in == tier::device     ? "leave the edges in host memory (--tier host)"
                                                                 : "use a smaller --feature-cache",
                                split_into.instead_of_host());

  json all{{"file", file},
           {"graph", g.told},
           {"nodes", g.vertices},
           {"edges", g.edges},
           {"algorithm", learns ? "train" : "load"},
           {"device", to_string(where)},
           {"tier", to_string(g.lists_in)},
           {"tier_chosen", chooses_tier(tier_said)},
           {"access", a.access()},
           {"fanouts", learns && train->full ? json() : json(q.fanouts)},
           {"rule", a.rule},
           {"batch", a.batch},
           {"target", several ? json(g.types.names[g.types.target]) : json()},
           {"row_bytes", several ? json() : json(g.tables[0].size.row_bytes)},
           {"feature_cache_rows", rows_kept},
           {"graph_cache_bytes", q.lists_far ? q.lists_kept : 0},
           {"strategy", a.strategy},
           {"window", plan.window ? json(plan.window) : json()},
           {"from_offsets", g.from_offsets()},
           {"training_nodes", share},
           {"activations", learns && train->full ? json(split_into.activations_are()) : json()},
           {"shards", json::array()},
           {"batches_per_epoch", ((share + ranks - 1) / ranks + a.batch - 1) / a.batch},
           {"nodes_per_batch", plan.vertices},
           {"edges_per_batch", plan.edges},
           {"local_rows", plan.near_rows},
           {"remote_rows", plan.far_rows},
           {"window_rows", plan.window_rows},
           {"fetched_rows", plan.fetched_rows}};
  for (planned_shard const& s : shards)
    all["shards"].push_back({{"first", s.first},
                             {"nodes", s.part.vertices},
                             {"edges", s.part.edges},
                             {"remote_rows_at_most", s.part.remote_rows},
                             {"bytes", s.plan.bytes()}});
  all["strategies"] = json::array();
  for (shard_decision::considered const& w : split_up.strategies)
    all["strategies"].push_back({{"strategy", to_string(w.strategy)},
                                 {"shards", w.shards},
                                 {"predicted_ms", w.predicted_ms},
                                 {"floor_ms", w.floor_ms},
                                 {"bound", w.bound}});
  all["types"] = several ? json::array() : json();
  for (std::size_t t = 0; several && t < g.tables.size(); ++t) {
    type_plan const of = plan.types.empty() ? type_plan() : plan.types[t];
    all["types"].push_back({{"type", g.types.names[t]},
                            {"nodes", q.types[t].vertices},
                            {"row_bytes", q.types[t].row_bytes},
                            {"feature_cache_rows", q.types[t].rows_kept},
                            {"local_rows", of.near_rows},
                            {"remote_rows", of.far_rows},
                            {"window_rows", of.window_rows},
                            {"fetched_rows", of.fetched_rows}});
  }
  all["memory"] = json::array();
  for (plan_row const& r : memory) all["memory"].push_back({{"array", r.what}, {"tier", to_string(r.where)}, {"bytes", r.bytes}});
  auto const or_none = [](std::uint64_t bytes) { return bytes == unlimited_bytes ? json() : json(bytes); };
  all["host_bytes"] = needed.host;
  all["host_allowed"] = or_none(host_allowed);
  all["device_bytes"] = needed.device;
  all["device_allowed"] = on_device ? or_none(device_allowed) : json();
  std::optional<link_rates> const here = host ? std::nullopt : link_here(where, true);
  auto const stage = [&](traffic const& t) {
    return json{{"bytes_link", t.bytes_link()},
                {"ms", times_of(here, [&](link_rates const& r) { return std::optional(host ? 0.0 : predicted_ms(t, r)); })}};
  };
  traffic both_stages = plan.sample;
  both_stages += plan.rows;
  if (learns && train->full && !host) {  // kept activations go and come at once, each their own way
    std::uint64_t one_way = learns->link_bytes > 0 ? static_cast<std::uint64_t>(learns->link_bytes) : 0;
    for (auto const* of : {&learns->host, &learns->file})
      for (load_array const& kept : *of) one_way -= kept.what == "activations" ? std::min(one_way, kept.bytes) : 0;
    both_stages.requests[3] += one_way / 128;
  }
  if (learns && through_host) both_stages.requests[3] += learns->parameters * 8 / 128;
  all["sample"] = stage(plan.sample);
  all["fetch"] = stage(plan.rows);
  all["together"] = stage(both_stages);
  if (!host && !here) all["not_here"] = why_no_link(where);
  std::optional<double> a_second, drive_ms;  // rows; of a mini-batch
  bool known = true;
  for (std::size_t t = 0; t < g.tables.size(); ++t) {
    if (!g.tables[t].in_file) continue;
    auto const of = p.drive_reads ? std::optional(static_cast<double>(*p.drive_reads)) : drive_of(g.tables[t].file);
    double const reads = plan.types.empty() ? 0 : plan.types[t].file_reads;
    known &= of || reads == 0;
    if (of) a_second = std::min(a_second.value_or(*of), *of), drive_ms = drive_ms.value_or(0) + reads / *of * 1e3;
  }
  if (!known) a_second.reset(), drive_ms.reset();
  all["drive"] = {{"file_rows", plan.file_rows},
                  {"file_reads", plan.file_reads},
                  {"bytes", std::llround(plan.file_bytes)},
                  {"reads_per_second", a_second ? json(*a_second) : json()},
                  {"ms", drive_ms ? json(*drive_ms) : json()},
                  {"epoch_ms", drive_ms ? json(*drive_ms * all["batches_per_epoch"].get<double>() * static_cast<double>(ranks)) : json()}};
  double scratch_ms = 0;  // a step, of all shards
  if (learns) all["scratch"] = json();
  if (split && split_into.keeps_in_file()) {
    std::uint64_t bytes = 0;
    for (planned_shard const& s : shards)
      for (load_array const& kept : s.plan.file) bytes += kept.bytes;
    all["scratch"] = scratch_told(*split_into.scratch, bytes, refusal);
    if (!all["scratch"]["ms"].is_null()) scratch_ms = all["scratch"]["ms"];
  }
  if (learns) {
    // What a device of a known kind would take; here nothing of it is measured, but the drive of --scratch.
    auto const steps = static_cast<double>(learns->steps),
               on_it = static_cast<double>(together);  // ranks on one device wait for each other
    double const of_products = on_it * learns->flops / assumed_flops * 1e3, of_rows = on_it * learns->near_bytes / assumed_near_bytes * 1e3;
    json const crosses = all["together"]["ms"];
    json epochs = json::object(), bounds = json::object();
    for (auto const& [link, ms] : crosses.items()) {
      bool const known = on_device && !ms.is_null();
      double const crossing = known ? ms.get<double>() * steps * on_it : 0, computing = of_products + of_rows;
      double const reading = drive_ms.value_or(0) * steps * static_cast<double>(ranks) + scratch_ms * steps;  // all ranks read one drive
      epochs[link] = known ? json(std::max({crossing, computing, reading})) : json();
      bounds[link] = !known                                    ? json()
                     : reading > std::max(crossing, computing) ? json("drive")
                     : crossing > computing                    ? json("link")
                     : of_products > of_rows                   ? json("gemm")
                                                               : json("aggregation");
    }
    json reads = json::array();
    for (read_by_tier const& r : learns->reads) {
      auto const tiers = [&](double times) {
        return json{{"local_bytes", std::llround(r.near * times)},
                    {"peer_bytes", std::llround(r.peer * times)},
                    {"remote_bytes", std::llround(r.far * times)},
                    {"file_bytes", std::llround(r.file * times)}};
      };
      reads.push_back({{"what", r.what}, {"batch", tiers(1)}, {"epoch", tiers(steps)}});
    }
    all["training"] = {{"model", to_string(parse_model_kind(train->model.value_or("sage")))},
                       {"full", train->full},
                       {"parameters", learns->parameters},
                       {"steps", learns->steps},
                       {"flops", learns->flops},
                       {"local_bytes_moved", learns->near_bytes},
                       {"link_bytes", learns->link_bytes},
                       {"evaluation_link_bytes", train->full || host ? 0 : learns->evaluation.bytes()},
                       {"ranks", ranks},
                       {"reads", reads},
                       {"assumed_flops", assumed_flops},
                       {"assumed_local_bytes", assumed_near_bytes},
                       {"gemm_ms", on_device ? json(of_products) : json()},
                       {"aggregation_ms", on_device ? json(of_rows) : json()},
                       {"epoch_ms", epochs},
                       {"bound_by", bounds}};
  }
  all["fits"] = refusal.empty();
  all["why_not"] = refusal.empty() ? json() : json(with_flags(refusal));
  return all;
}

}  // namespace garner::cli
