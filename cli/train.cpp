// garner train: seeds in, a trained model out.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <tuple>

#include "command/job_options.hpp"
#include "crew.hpp"
#include "garner/convert.hpp"
#include "nn/decide_shards.hpp"
#include "train.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using cli::grouped;

std::pair<model_options, training_options> options_of(cli::train_arguments const& a) {
  model_options m;
  m.kind = parse_model_kind(a.model);
  m.layers = a.depth(), m.hidden = a.hidden;
  cli::set_layers(m, a.norm, a.residual, 0);
  if (a.scaling != "automatic") m.scaling = parse_row_scaling(a.scaling);
  m.seed = a.seed;
  training_options t;
  t.fanouts = a.hops();
  t.side = a.lists();
  t.weighted = a.weighted;
  t.batch_size = a.batch;
  t.learning_rate = a.rate, t.weight_decay = a.decay, t.dropout = a.dropout, t.input_dropout = a.input_dropout;
  t.math = parse_dense_math(a.math);
  t.seed = a.seed;
  t.evaluate_every = a.evaluate_every, t.epochs = a.most_epochs, t.patience = a.patience;
  t.cuda_graph = !a.no_recording;
  t.load = a.loader();
  if (!(a.rate > 0 && a.rate < 1e6)) cli::fail(errc::usage, "--lr {}: use more than 0 and less than a million", a.rate);
  if (m.layers < 1 || m.layers > 64) cli::fail(errc::usage, "--layers {}: use 1 to 64", m.layers);
  if (a.most_epochs == 0) cli::fail(errc::usage, "--epochs 0: use 1 or more");
  if (a.patience.value_or(0) && !a.evaluate_every)
    cli::fail(errc::usage, "--patience {} and --evaluate-every 0: patience counts evaluations; use 1 or more", *a.patience);
  if (a.no_recording && !a.full) cli::fail(errc::usage, "--no-cuda-graphs: only --full captures its steps; leave it out, or add --full");
  return {m, t};
}
// The number of all ranks, or shards; this process has those on `places`, or with --group one.
std::uint32_t join_ranks(cli::train_arguments& a, std::vector<execution_device> const& places, training_options& t) {
  std::uint32_t all_ranks = static_cast<std::uint32_t>(places.size());
  if (!a.group.empty())
    t.rank = cli::train_arguments::of_environment("RANK"), all_ranks = cli::train_arguments::of_environment("WORLD_SIZE");
  if (a.sharded(places.size())) {
    bool const on_device = places[0].kind == device_kind::cuda;
    a.split_into.remote_adjacency = on_device && !cli::chooses_tier(a.tier) && parse_tier(a.tier) == tier::host;
    shard_asked o = a.split_into.options(all_ranks);
    if (shard_asked before = o; !a.group.empty() && a.split_into.decides() && !a.resume.empty()) {
      resume_split(a.resume, before);
      if (before.shards == o.shards) o = before;  // the way that it began with
    }
    double const late = a.split_into.late_seconds();
    t.shards = a.group.empty()
                   ? std::make_shared<shard_group>(o, late)
                   : std::make_shared<shard_group>(o, a.group, t.rank, late, a.measures_ways() ? ", its strategy measured first" : "");
    if (!a.group.empty()) a.together = t.shards->threads();
  } else if (!a.group.empty()) {
    a.together = t.ranks = ranks_of_processes(a.group, t.rank, all_ranks, 600);
  } else if (places.size() > 1) {
    t.ranks = ranks_of_threads(all_ranks, 3600);
  }
  return all_ranks;
}
void resume(cli::train_arguments const& a, training& run) {
  if (a.resume.empty()) return;
  try {
    run.load_checkpoint(a.resume);
  } catch (error const& e) {
    cli::fail(e.code(), "--resume {}: {}", a.resume, e.what());
  }
}
// A rank that says nothing.
void follow(cli::train_arguments const& a, training& run) {
  resume(a, run);
  try {
    while (!run.finished()) {
      run.next();
      if (!a.checkpoint.empty()) run.save_checkpoint(a.checkpoint);
    }
  } catch (error const& e) {
    if (e.code() == errc::interrupted && !a.checkpoint.empty()) run.save_checkpoint(a.checkpoint);
    throw;
  }
  if (!a.full) return;  // else all shards evaluate
  run.load_best();
  run.evaluate();
}
// --shard-strategy auto (the default): what is the fastest here; a resumed training keeps what it began with.
// Fewer devices, if one is faster.
// `files`: must be equal in all processes.
void decide(cli::train_arguments& a, model_options const& m, training_options& t, graph_handle const& g,
            std::vector<execution_device>& places) {
  if (!t.shards || !a.split_into.decides()) return;
  if (!a.group.empty()) {
    if (!a.measures_ways()) return;
    a.decided = decide_shards_of_processes(m, g, t, t.shards->options(), a.group, t.rank, places[0], a.split_into.late_seconds());
    t.shards->take_way(a.decided->options.strategy);
    return;
  }
  shard_options asked = a.split_into.options(static_cast<std::uint32_t>(places.size()));
  if (a.resume.empty()) {
    a.decided = decide_shards(m, g, t, asked, places, a.one_fits);
    asked = a.decided->options;
  } else {
    resume_split(a.resume, asked);
  }
  a.split_into.strategy = to_string(asked.strategy);
  places.resize(asked.shards);
  t.shards = shards_of_threads(asked, a.split_into.late_seconds());
}
// --- several types ---
// Rank 0 reads the files for all processes, so one that names others would learn from what it does not know. What this one names, a line
// each; of rows some are looked at.
std::string named_rows(std::string const& file) {
  row_array const table = is_row_file(file) ? open_rows(file) : map_rows(file);
  std::uint64_t mark = 0;
  std::uint64_t const looked_at = table.data ? std::min<std::uint64_t>(table.rows, 256) : 0;
  for (std::uint64_t k = 0; k < looked_at; ++k) {
    char const* const row = static_cast<char const*>(table.data) + table.rows * k / looked_at * table.row_bytes();
    mark = mark * 0x9e3779b97f4a7c15 + std::hash<std::string_view>{}({row, table.row_bytes()});
  }
  return fmt::format("rows of {} x {} {}, mark {:016x}", table.rows, table.width, to_string(table.kind), mark);
}
std::string named_files(cli::train_arguments const& a, graph_source const& from) {
  return fmt::format("a graph of {}\n{}\n", cli::describe(from.info()), named_rows(a.features));
}
std::string named_files(cli::train_arguments const& a, hetero_graph const& g) {
  std::string all;
  for (vertex_type const& t : g.types()) all += fmt::format("'{}' of {}\n", t.name, named_rows(cli::features_of(a.file, t)));
  for (edge_type const& e : g.edges()) all += fmt::format("'{} {} {}' of {} edges\n", e.from, e.relation, e.to, grouped(e.stored_edges));
  return all;
}

void train_types(cli::train_arguments& a) {
  for (auto const& [name, said] : {std::pair("--features", a.features), std::pair("--labels", a.labels), std::pair("--split", a.split)})
    if (!said.empty()) cli::fail(errc::usage, "{} {}: {} names features, labels and splits itself; leave it out", name, said, a.file);
  if (a.full) a.fanout = "1";  // nothing is sampled
  std::optional<std::uint64_t> const budget = cli::budget_of_types(a);
  a.features = "of the dataset file";  // for check()
  a.check();
  auto options = options_of(a);
  model_options& m = options.first;
  training_options& t = options.second;
  cli::check_outputs(a.file, {{"--out", a.out}, {"--checkpoint", a.checkpoint}});
  std::vector<execution_device> const places = a.places();
  a.split_into.refuse_types(a.file);
  if (a.sharded(places.size())) cli::fail(errc::usage, "shards: {} may have several types, which are not split; train without", a.file);
  execution_device const where = places[0];
  for (execution_device const p : places) a.budgets.apply(p);
  cli::warn_without_gpu(where, {{"--feature-cache", a.budget}, {"--graph-cache", a.keep_lists}});
  std::uint32_t const all_ranks = join_ranks(a, places, t);
  cli::pulled_lists const how{a.lists(), a.weighted, a.full};
  cli::opened_types on = cli::open_types(a.file, where, a.tier, how, budget, a, a.together.get());
  std::size_t const target = cli::target_of(on.g.types(), on.g.name(), a.target, true);
  vertex_type const& type = on.g.types()[target];
  labeled_nodes known;
  known.labels = read_labels(*type.labels);
  std::vector<std::uint8_t> split(type.count);
  std::uint8_t part = 0;
  for (auto const& file : {type.train, type.valid, type.test}) {
    ++part;
    if (!file) continue;
    row_array const vertices = read_labels(*file);  // checked when the dataset file was opened
    for (std::uint64_t k = 0; k < vertices.rows; ++k)
      split[static_cast<std::size_t>(static_cast<std::int64_t const*>(vertices.data)[k])] = part;
  }
  known.split = split;
  cli::set_classes(a.classes, known.labels, type.labels->string(), m);
  if (a.scaling == "automatic") m.scaling = scaling_of(on.tables[target]);
  model_types const types = types_of(on.g, target, on.features(), how.side);
  gnn_model model(where, m, types);
  std::vector<cli::opened_types> rooms;
  for (std::size_t k = 1; k < places.size(); ++k) {
    rooms.push_back({hetero_graph::open(a.file, cli::types_options(places[k], a.tier, how)), on.rows, {}});
    for (tiered_tensor const& table : on.tables) rooms.back().tables.push_back(table.for_device(places[k]));
  }
  std::vector<std::jthread> others;
  for (std::uint32_t k = 1; k < places.size(); ++k)
    others.emplace_back([&, k, m = m, t = t] {
      try {
        training_options mine = t;
        mine.rank = k;
        gnn_model copy(places[k], m, types);
        training run(copy, rooms[k - 1].g, rooms[k - 1].features(), known, mine);
        follow(a, run);
      } catch (std::exception const& e) {
        leave_ranks(*t.ranks, k, e.what());
      }
    });
  training run(model, on.g, on.features(), known, t);
  if (!a.group.empty()) a.together->require_same(t.rank, named_files(a, on.g));
  if (t.rank > 0) return follow(a, run);
  resume(a, run);
  std::uint64_t arcs = 0;
  for (edge_type const& e : on.g.edges()) arcs += e.stored_edges;
  cli::subject what;
  what.head = {{"file", a.file}, {"target", type.name},        {"nodes", type.count},
               {"edges", arcs},  {"device", to_string(where)}, {"ranks", all_ranks}};
  what.lines = {fmt::format("graph   {}: {} types, {} relations, {} edges; '{}' is the target\n", a.file, types.names.size(),
                            types.relations.size(), grouped(arcs), type.name),
                fmt::format("device  {}\n", to_string(where)), cli::ranks_line(a, places, all_ranks)};
  bool same = true;
  for (std::size_t k = 0; k < on.tables.size(); ++k) {
    tiered_tensor const& table = on.tables[k];
    same &= table.row_bytes() == on.tables[0].row_bytes();
    what.head["features"][types.names[k]] = table.about();
    what.lines.push_back(fmt::format("features '{}' {} x {} {}: {}\n", types.names[k], grouped(table.rows()), table.width(),
                                     to_string(table.kind()), table.about()));
  }
  for (std::uint8_t const p : split) ++what.parts[p];
  if (same) what.row_gb = static_cast<double>(on.tables[0].row_bytes()) / 1e9;
  what.predict = a.file;
  cli::learn(a, model, run, what);
}

bool fits_one(training_question const& q, graph_source const& from, std::string const& file, bool in, execution_device where) {
  try {
    cli::require_whole(q, nullptr, from, file, in, {where});
    return true;
  } catch (error const& e) {
    if (e.code() != errc::memory) throw;
    return false;
  }
}

void train_file(cli::train_arguments& a) {
  a.width.reset();
  if (a.said_group && a.said_group->empty())
    cli::fail(errc::usage, "--group '': use one name, the same in all processes (is a variable empty?), or leave it out");
  a.group = a.said_group.value_or("");
  if (a.file.ends_with(".json")) return train_types(a);
  for (auto const& [name, said, what] : {std::tuple("--features", a.features, "features"), std::tuple("--labels", a.labels, "labels"),
                                         std::tuple("--split", a.split, "parts of the split")})
    if (said.empty()) cli::fail(errc::usage, "{} is required: name an .npy file of {} (a dataset file names its own)", name, what);
  if (!a.target.empty()) cli::fail(errc::usage, "--target {}: {} has one node type; leave it out", a.target, a.file);
  if (a.full && !a.keep_lists.empty())
    cli::fail(errc::usage, "--graph-cache {} and --full: full-graph training reads all edges; leave it out", a.keep_lists);
  if (a.full) a.fanout = "1";  // nothing is sampled
  a.check();
  auto options = options_of(a);
  model_options& m = options.first;
  training_options& t = options.second;
  cli::check_outputs(a.file, {{"--out", a.out}, {"--checkpoint", a.checkpoint}});
  std::vector<execution_device> places = a.places();
  execution_device const where = places[0];
  bool const on_device = where.kind == device_kind::cuda;
  for (execution_device const p : places) a.budgets.apply(p);
  cli::warn_without_gpu(where, {{"--feature-cache", a.budget}, {"--graph-cache", a.keep_lists}});
  a.place = to_string(where);
  std::uint32_t all_ranks = join_ranks(a, places, t);
  bool const chooses = cli::chooses_tier(a.tier);

  graph_source from(a.file);
  std::uint64_t const n = from.info().vertices;
  cli::table_size const rows = cli::size_of(a.features);
  if (rows.rows < n) cli::fail(errc::input, "{}: {} rows, and {} has {} nodes; give each node one row", a.features, rows.rows, a.file, n);
  labeled_nodes known;
  known.labels = read_labels(a.labels);
  std::vector<std::uint8_t> const split = read_split(a.split);
  known.split = split;
  cli::set_classes(a.classes, known.labels, a.labels, m);
  auto const training_vertices =
      static_cast<std::uint64_t>(std::count(split.begin(), split.end(), static_cast<std::uint8_t>(split_part::train)));
  cli::set_layers(m, a.norm, a.residual, training_vertices);

  std::string const files = a.group.empty() ? "" : named_files(a, from);
  std::optional<tier> edges;
  std::optional<std::uint64_t> spare;  // of a whole graph's device memory, for rows of the table
  if (a.wants_in_lists()) from.want_in_lists();
  if (a.full) {
    training_question q;
    q.load = cli::question_of(a, from, rows, on_device ? cli::device_limit(where) : 0);
    q.load.fanouts.clear();
    q.model = m, q.model.inputs = open_rows(a.features).width;
    q.input_dropout = a.input_dropout.value_or(input_dropout_of(m, a.dropout.value_or(0.5)));
    q.training = static_cast<double>(training_vertices);
    if (places.size() > 1 && places[1] != where) q.gradients = training_question::exchange::peers;
    bool const in = t.side == edge_direction::in;
    if (!a.resume.empty() && places.size() == 1 && a.group.empty() && !t.shards) {  // one that shards began goes on as one shard
      shard_asked before = a.split_into.options(1);
      if (resume_split(a.resume, before)) a.split_into.shards = 1, all_ranks = join_ranks(a, places, t);
      else if (a.split_into.activations.value_or("automatic") == "automatic") a.split_into.activations = "device";  // as it was begun
    }
    if ((on_device || a.split_into.scratch) && a.group.empty()) {
      a.split_into.remote_adjacency = on_device && !chooses && parse_tier(a.tier) == tier::host;
      std::uint64_t const there = q.load.list_bytes + (n + 1) * 8 + a.host_bytes(a.features, rows.rows * rows.row_bytes),
                          free = std::min(host_memory_use().limit, host_memory_now().free()),
                          allowed = on_device ? cli::device_limit(where) : 0;
      auto const needed = [&] {
        shard_asked const asked = a.split_into.options(all_ranks);
        return cli::whole_bytes(q, a.sharded(places.size()) ? &asked : nullptr, from, a.file, in, places);
      };
      a.split_into.fit({free - std::min(free, there), allowed}, on_device, on_device && chooses, needed);
      spare = 0;
      if (a.split_into.rows == "tiered")  // plans are within 5 %
        spare = (allowed - std::min(allowed, needed().device / 20 * 21 + (16u << 20))) /
                static_cast<std::uint64_t>(std::count(places.begin(), places.end(), where));
      if (a.split_into.remote_adjacency && chooses) a.tier = "host";
      if (a.split_into.keeps_in_host()) join_ranks(a, places, t);
    }
    if (a.split_into.keeps_in_host() && a.split_into.decides()) a.split_into.strategy = "bulk";  // no room to measure others
    if (!t.shards) t.activations = activation_place::device;                                     // all fits
    shard_asked const asked = a.split_into.options(all_ranks);
    cli::require_whole(q, t.shards ? &asked : nullptr, from, a.file, in, places, a.group.empty() ? std::nullopt : std::optional(t.rank));
    if (places.size() > 1) a.one_fits = fits_one(q, from, a.file, in, where);
  }
  if (t.shards && on_device && cli::chooses_tier(a.tier)) a.tier = "host";  // each shard copies its own adjacency to its device
  std::uint64_t const needs =
      cli::near_bytes(cli::question_of(a, from, rows, on_device ? cli::device_limit(where) : 0)) + (on_device ? (n + 1) * 8 : 0);
  graph_handle const g = a.load_lists(from, edges, needs, a.host_bytes(a.features, rows.rows * rows.row_bytes));
  row_array const table = a.open_table(a.features, where, a.together.get());
  m.inputs = table.width;
  std::optional<std::uint64_t> kept = a.budget_bytes(rows.rows * rows.row_bytes);
  if (!kept) kept = spare;  // unset, a table takes half of what is free
  tiered_options tiers;
  tiers.device = where;
  std::vector<float> scored;
  auto const kept_lists = a.full ? 0 : a.kept_list_bytes(cli::drawn_list_bytes(from, a));
  bool const far = where.kind != device_kind::cpu;
  a.set_file_budgets(tiers, table);
  if (far) tiers.feature_cache = kept;
  if (far || table.file) {
    bool const some_rows = (far && kept && *kept > 0 && *kept < table.rows * table.row_bytes()) || table.file;
    if ((some_rows || kept_lists) && !a.full) {
      cli::training_vertices train;
      for (std::uint64_t v = 0; v < std::min<std::uint64_t>(n, split.size()); ++v)
        if (split[v] == static_cast<std::uint8_t>(split_part::train)) train.positions.push_back(static_cast<std::int64_t>(v));
      scored = a.scores_of(g, train, edges);
      scored.resize(table.rows, 0);  // a table may have more rows than there are vertices
    }
    if (some_rows && !scored.empty()) tiers.scores = scored;
    if (kept_lists) t.graph_cache = kept_lists, t.graph_scores = std::span<float const>(scored).first(n);
  }
  tiered_tensor features(table, tiers);

  if (a.scaling == "automatic") m.scaling = scaling_of(features);
  decide(a, m, t, g, places);
  gnn_model model(where, m);
  // Lists in host memory are read by all devices, others lie on each.
  std::vector<graph_handle> lists;
  std::vector<tiered_tensor> tables;
  for (std::size_t k = 1; k < places.size(); ++k) {
    tiers.device = places[k];
    tables.push_back(features.for_device(places[k]));
    if (*edges == tier::host || !on_device || t.shards) continue;  // a shard copies its own
    cli::train_arguments other = a;
    other.place = to_string(places[k]);
    graph_source again(a.file);
    if (a.wants_in_lists()) again.want_in_lists();
    std::optional<tier> there = edges;
    lists.push_back(other.load_lists(again, there, needs, 0));
    if (*there != *edges)
      cli::fail(errc::memory, "{}: its adjacency fits {} and not {}; use --tier host", a.file, to_string(where), to_string(places[k]));
  }
  cli::crew others;  // rank 0 reports their errors
  for (std::uint32_t k = 1; k < places.size(); ++k)
    others.start([&, k] {
      try {
        training_options mine = t;
        mine.rank = k;
        gnn_model copy(places[k], m);
        training run(copy, lists.empty() ? g : lists[k - 1], tables[k - 1], known, mine);
        follow(a, run);
      } catch (std::exception const& e) {
        if (t.shards) leave_shards(*t.shards, k, e.what());
        else leave_ranks(*t.ranks, k, e.what());
      }
    });
  try {
    training run(model, g, features, known, t);
    if (!a.group.empty()) a.together->require_same(t.rank, files);
    if (t.rank > 0) return follow(a, run);
    resume(a, run);
    cli::subject what;
    what.head = {{"file", a.file},     {"nodes", n},        {"edges", from.info().edges}, {"device", to_string(where)},
                 {"ranks", all_ranks}, {"shards", nullptr}, {"tier", to_string(*edges)},  {"features", features.about()}};
    what.lines = {
        fmt::format("graph   {}: {}\n", a.file, cli::describe(from.info())),
        fmt::format("device  {}; adjacency in tier {}\n", to_string(where), to_string(*edges)), cli::ranks_line(a, places, all_ranks),
        fmt::format("features {} x {} {}: {}\n", grouped(features.rows()), features.width(), to_string(features.kind()), features.about())};
    if (t.shards) cli::tell_shards(what, a, g, places, *t.shards);
    for (std::uint64_t v = 0; v < n; ++v) ++what.parts[split[v]];
    what.row_gb = static_cast<double>(features.row_bytes()) / 1e9;
    what.predict = fmt::format("{} --features {}", a.file, a.features);
    cli::learn(a, model, run, what);
  } catch (error const& e) {
    if (t.shards && !others.end_within(10)) {
      int const code = cli::complain(e);
      std::fflush(stdout);
      std::_Exit(code);
    }
    throw;
  }
}

}  // namespace

void add_train(cli::program& p) {
  auto const a = std::make_shared<cli::train_arguments>();
  a->fanout = "15,10";
  cli::verb& v = p.add("train", "train a GNN by mini-batches or on the full graph, with exact evaluation");
  a->add_file(v);
  v.add("--features", a->features);
  v.add("--labels", a->labels,
        "labels (.npy, by ascending id): one class per node, negative: none; or multi-label: a row of 0 and 1 per node");
  v.add("--split", a->split, "part of each node (.npy, by ascending id): 1 train, 2 validation, 3 test, 0 none");
  v.add("--target", a->target);
  v.add("--model", a->model, "gcn, sage (GraphSAGE, mean) or gin");
  v.add("--full", a->full).not_with("--fanout").not_with("--batch").not_with("--window").not_with("--window-bytes").not_with("--prefetch");
  v.add("--no-cuda-graphs", a->no_recording);
  v.add("--fanout", a->fanout, "mini-batches: neighbors sampled per node, for each layer; -1: all");
  v.add("--batch", a->batch);
  v.add("--epochs", a->most_epochs,
        "passes over the training set; with --full steps (default: until the validation loss has not fallen for 10 epochs or 50 steps, at "
        "most 100 epochs or 1,000 steps; without a validation part 10 epochs or 200 steps)");
  v.add("--layers", a->layers);
  v.add("--hidden", a->hidden);
  v.add("--dropout", a->dropout);
  v.add("--input-dropout", a->input_dropout);
  v.add("--lr", a->rate);
  v.add("--weight-decay", a->decay);
  v.add("--norm", a->norm);
  v.add("--residual", a->residual);
  v.add("--scaling", a->scaling);
  v.add("--classes", a->classes);
  v.add("--weighted", a->weighted, "use edge weights");
  v.add("--side", a->side);
  v.add("--seed", a->seed, "random seed of initialization, shuffling, sampling and dropout");
  v.add("--evaluate-every", a->evaluate_every);
  v.add("--patience", a->patience);
  v.add("-o,--out", a->out, "file to write the model to (safetensors)");
  v.add("--checkpoint", a->checkpoint);
  v.add("--resume", a->resume, "continue from this checkpoint, bit for bit");
  v.add("--devices", a->devices).not_with("--ranks").not_with("--group");
  v.add("--ranks", a->ranks).not_with("--group");
  v.add("--group", a->said_group);
  a->split_into.add(v, true);
  v.add("--feature-cache", a->budget);
  a->add_file_rows(v);
  v.add("--graph-cache", a->keep_lists);
  v.add("--score", a->score,
        "which features and adjacency are cached: degree, rpr, wrpr, expected, sampled (see garner score), or an .npy file by ascending "
        "id; with --feature-cache or "
        "--graph-cache");
  v.add("--gemm", a->math);
  a->add_loader(v);
  a->add_place(v);
  a->add_rest(v);
  v.ends_with("Example: garner train g.gnr --features x.npy --labels y.npy --split s.npy --model sage --fanout 15,10 -o model.safetensors");
  v.runs([a] { train_file(*a); });
}

}  // namespace garner
