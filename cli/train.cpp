// garner train: seeds in, a trained model out.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <tuple>

#include "command/common.hpp"
#include "command/job_options.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "crew.hpp"
#include "features/row_file.hpp"
#include "garner/gnn.hpp"
#include "graph/handle.hpp"
#include "load_options.hpp"
#include "memory/budget.hpp"
#include "models.hpp"
#include "nn/decide_shards.hpp"
#include "plan_load.hpp"
#include "shard/group.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using cli::grouped;
using json = nlohmann::ordered_json;

struct train_arguments : cli::load_arguments {
  std::string model = "sage", split, scaling = "automatic", norm = "automatic", math = "tf32", out, checkpoint, resume;
  bool residual = false, no_recording = false;
  std::optional<std::uint32_t> layers, classes;
  std::uint32_t hidden = 64, evaluate_every = 1;
  double rate = 0.01;
  std::optional<double> dropout, input_dropout, decay;
  std::optional<std::uint64_t> most_epochs;
  std::optional<std::uint32_t> patience;
  std::vector<std::uint32_t> devices;
  std::optional<std::uint32_t> ranks;
  std::optional<std::string> said_group;
  std::string group, target;  // of said_group; empty: none
  cli::shard_arguments split_into;
  std::optional<shard_decision> decided;
  bool one_fits = true;  // the whole graph at the first place

  // Which of how many ranks this process is, with --group.
  static std::uint32_t of_environment(char const* name) {
    char const* const said = std::getenv(name);
    std::uint32_t value = 0;
    if (!said || !cli::set_value(std::string(said), value).empty())
      fail(errc::usage, "--group: {} is {} in the environment, and should be a number; start with torchrun, or set RANK and WORLD_SIZE",
           name, said ? fmt::format("'{}'", said) : "not set");
    return value;
  }
  // The ranks of this process, and where each of them learns.
  std::vector<garner::execution_device> places() const {
    if (!devices.empty() && place != "cpu") fail(errc::usage, "--devices and --device {}: use one of them", place);
    cli::shard_arguments here = split_into;
    if (full && group.empty() && devices.empty() && !here.shards) here.refuse_all("goes with shards; add --shards, --devices or --group");
    if (!group.empty() && full) {
      if (here.shards && *here.shards != of_environment("WORLD_SIZE"))
        fail(errc::usage, "--shards {} and --group: each shard is a process, and WORLD_SIZE is {}; use --shards {}, or leave it out",
             *here.shards, of_environment("WORLD_SIZE"), of_environment("WORLD_SIZE"));
      here.shards.reset();
    }
    std::vector<garner::execution_device> all = cli::places_of(devices, ranks, here, where(), full);
    if (!group.empty() && place == "cuda" && std::getenv("LOCAL_RANK")) all[0].index = static_cast<int>(of_environment("LOCAL_RANK"));
    return all;
  }

  bool measures_ways() const { return split_into.decides() && resume.empty(); }  // a training that goes on keeps its way
  bool sharded(std::size_t places) const { return full && (places > 1 || split_into.shards || !group.empty()); }
  std::vector<std::int64_t> hops() const { return full ? std::vector<std::int64_t>() : fanouts(); }
  std::uint32_t depth() const {
    std::uint32_t const hops_or_two = full ? 2 : static_cast<std::uint32_t>(fanouts().size());
    if (layers && !full && *layers != hops_or_two)
      fail(errc::usage, "--layers {} and --fanout {}: use one fanout per layer", *layers, fanout);
    return layers.value_or(hops_or_two);
  }
};

json of_part(evaluation::part const& p) {
  return {{"nodes", p.vertices}, {"accuracy", p.accuracy}, {"loss", p.loss}, {"auc", p.auc ? json(*p.auc) : json(nullptr)}};
}
double told(evaluation::part const& p) { return p.auc.value_or(p.accuracy); }

std::pair<model_options, training_options> options_of(train_arguments const& a) {
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
  if (!(a.rate > 0 && a.rate < 1e6)) fail(errc::usage, "--lr {}: use more than 0 and less than a million", a.rate);
  if (m.layers < 1 || m.layers > 64) fail(errc::usage, "--layers {}: use 1 to 64", m.layers);
  if (a.most_epochs == 0) fail(errc::usage, "--epochs 0: use 1 or more");
  if (a.patience.value_or(0) && !a.evaluate_every)
    fail(errc::usage, "--patience {} and --evaluate-every 0: patience counts evaluations; use 1 or more", *a.patience);
  if (a.no_recording && !a.full) fail(errc::usage, "--no-cuda-graphs: only --full captures its steps; leave it out, or add --full");
  return {m, t};
}
// The number of all ranks, or shards; this process has those on `places`, or with --group one.
std::uint32_t join_ranks(train_arguments& a, std::vector<execution_device> const& places, training_options& t) {
  std::uint32_t all_ranks = static_cast<std::uint32_t>(places.size());
  if (!a.group.empty()) t.rank = train_arguments::of_environment("RANK"), all_ranks = train_arguments::of_environment("WORLD_SIZE");
  if (a.sharded(places.size())) {
    bool const on_device = places[0].kind == device_kind::cuda;
    a.split_into.remote_adjacency = on_device && !cli::chooses_tier(a.tier) && parse_tier(a.tier) == tier::host;
    shard_options o = a.split_into.options(all_ranks);
    if (shard_options before = o; !a.group.empty() && a.split_into.decides() && !a.resume.empty()) {
      resume_split(a.resume, before);
      if (before.shards == o.shards) o = before;  // the way that it began with
    }
    double const late = a.split_into.late_seconds();
    t.shards = a.group.empty()
                   ? shards_of_threads(o, late)
                   : std::make_shared<shard_group>(o, a.group, t.rank, late, a.measures_ways() ? ", its strategy measured first" : "");
    if (!a.group.empty()) a.together = t.shards->threads();
  } else if (!a.group.empty()) {
    a.together = t.ranks = ranks_of_processes(a.group, t.rank, all_ranks, 600);
  } else if (places.size() > 1) {
    t.ranks = ranks_of_threads(all_ranks, 3600);
  }
  return all_ranks;
}
void resume(train_arguments const& a, training& run) {
  if (a.resume.empty()) return;
  try {
    run.load_checkpoint(a.resume);
  } catch (error const& e) {
    fail(e.code(), "--resume {}: {}", a.resume, e.what());
  }
}
// A rank that says nothing.
void follow(train_arguments const& a, training& run) {
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
// What is printed of a training in addition to its steps.
struct subject {
  json head;
  std::vector<std::string> lines;
  std::array<std::uint64_t, 4> parts{};  // vertices of a split_part
  std::optional<double> row_gb;          // unset: of several widths
  std::string predict;
};
std::string ranks_line(train_arguments const& a, std::vector<execution_device> const& places, std::uint32_t all_ranks) {
  if (all_ranks == 1 || a.full) return "";
  std::vector<std::string> at;
  for (execution_device const p : places) at.push_back(to_string(p));
  return fmt::format("ranks   {}{}, {} seeds a step each\n", all_ranks,
                     a.group.empty() ? fmt::format(": {}", fmt::join(at, ", ")) : " processes", grouped(a.batch));
}
json json_of(shard_decision const& d) {
  json all{{"why", d.why()}, {"rates_measured", d.rates_measured}, {"strategies", json::array()}};
  for (auto const& w : d.strategies)
    all["strategies"].push_back({{"strategy", to_string(w.strategy)},
                                 {"shards", w.shards},
                                 {"predicted_ms", w.predicted_ms},
                                 {"floor_ms", w.floor_ms},
                                 {"bound", w.bound},
                                 {"measured_ms", w.measured_ms ? json(*w.measured_ms) : json(nullptr)},
                                 {"refused", w.refused.empty() ? json(nullptr) : json(w.refused)}});
  return all;
}
// --shard-strategy auto (the default): what is the fastest here; a resumed training keeps what it began with.
// Fewer devices, if one is faster.
// `files`: must be equal in all processes.
void decide(train_arguments& a, model_options const& m, training_options& t, graph_handle const& g, std::vector<execution_device>& places) {
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
// What the split came to.
void tell_shards(subject& what, train_arguments const& a, graph_handle const& g, std::vector<execution_device> const& places,
                 shard_group const& shards) {
  shard_options const& o = shards.options();
  shard_link const over = link_of(shards);
  shard_report const r = split_report(g, a.lists(), o);
  std::vector<std::string> at;
  for (execution_device const p : places)
    if (std::find(at.begin(), at.end(), to_string(p)) == at.end()) at.push_back(to_string(p));
  what.head["ranks"] = 1;
  what.head["shards"] = {{"count", o.shards},
                         {"strategy", to_string(o.strategy)},
                         {"reduction", o.sums == shard_reduction::fast ? "fast" : "deterministic"},
                         {"balance", to_string(o.balance)},
                         {"dtype", to_string(o.wire)},
                         {"adjacency", o.compressed_adjacency ? "compressed" : "plain"},
                         {"features", o.far_rows ? "tiered" : "local"},
                         {"imbalance", r.imbalance()},
                         {"cut_edges", r.cut()},
                         {"remote_rows", r.remote_rows()},
                         {"references", r.references()},
                         {"decided", a.decided ? json_of(*a.decided) : json(nullptr)},
                         {"transport", to_string(over.provider)},
                         {"over", over.about},
                         {"passed_over", over.passed_over}};
  what.lines.push_back(
      fmt::format("shards  {}{} on {}{}; strategy {}, features as {}, reduction {}{}{}\n", o.shards, a.group.empty() ? "" : " processes",
                  fmt::join(at, ", "), a.devices.size() > places.size() ? fmt::format(" (of {} requested)", a.devices.size()) : "",
                  to_string(o.strategy), to_string(o.wire),
                  o.strategy == shard_strategy::mgg ? "by atomics"
                  : o.sums == shard_reduction::fast ? "fast"
                                                    : "deterministic",
                  o.compressed_adjacency ? fmt::format(", compressed adjacency{}", o.remote_adjacency ? " in host memory" : "") : "",
                  o.far_rows ? "; input features stay in their tier" : ""));
  if (o.shards > 1)
    what.lines.push_back(fmt::format("over    {}: {}{}{}\n", to_string(over.provider), over.about,
                                     over.passed_over.empty() ? "" : "; not over ", fmt::join(over.passed_over, ", nor ")));
  what.lines.push_back(fmt::format(
      "split   the largest shard has {:.2f} times the mean number of edges; {} edges ({:.1f} %) cross to {} remote rows, {:.1f} per row\n",
      r.imbalance(), grouped(r.cut()), r.edges() ? 100 * static_cast<double>(r.cut()) / static_cast<double>(r.edges()) : 0.0,
      grouped(r.remote_rows()), r.references()));
  if (a.decided) what.lines.push_back(fmt::format("strategy {}\n", a.decided->why()));
}
std::string end_of(training_options const& t, std::uint64_t validation_vertices) {
  std::string const epochs = fmt::format("{} epoch{}", grouped(*t.epochs), *t.epochs == 1 ? "" : "s");
  if (validation_vertices == 0) return fmt::format("after {}; the split has no validation part (2) for early stopping", epochs);
  if (*t.patience == 0) return fmt::format("after {}", epochs);
  std::uint64_t const patience = std::uint64_t{*t.patience} * t.evaluate_every;
  return fmt::format("when the validation loss has not fallen for {} epoch{}, after {} at most", grouped(patience),
                     patience == 1 ? "" : "s", grouped(*t.epochs));
}
// Rank 0, or the only one: to the end.
void learn(train_arguments const& a, gnn_model& model, training& run, subject const& what) {
  training_options const& t = run.options();
  execution_device const where = model.device();
  model_options const& m = model.options();
  auto const& parts = what.parts;
  bool const of_auc = m.classes == (m.labels == label_kind::single_label ? 2u : 1u);
  char const* const measure = of_auc ? "ROC AUC" : "accuracy";
  json out = what.head;
  out.update(json{{"model", a.model},
                  {"layers", m.layers},
                  {"hidden", m.hidden},
                  {"inputs", m.inputs},
                  {"classes", m.classes},
                  {"parameters", model.parameters()},
                  {"labels", m.labels == label_kind::single_label ? "single-label" : "multi-label"},
                  {"fanouts", a.full ? json(nullptr) : json(t.fanouts)},
                  {"batch", a.full ? json(nullptr) : json(a.batch)},
                  {"lr", a.rate},
                  {"weight_decay", *t.weight_decay},
                  {"scaling", to_string(m.scaling)},
                  {"dropout", *t.dropout},
                  {"layer_norm", m.layer_norm},
                  {"residual", m.residual},
                  {"most_epochs", *t.epochs},
                  {"patience", *t.patience},
                  {"seed", a.seed},
                  {"training_nodes", parts[1]},
                  {"validation_nodes", parts[2]},
                  {"test_nodes", parts[3]},
                  {"not_captured", nullptr},
                  {"epochs", json::array()}});
  if (!a.json) {
    for (std::string const& line : what.lines) cli::say("{}", line);
    cli::say("model   {} of {} layers, {} hidden, {} classes{}{}: {} parameters\n", a.model, m.layers, m.hidden, m.classes,
             m.residual ? ", residual" : "", m.layer_norm ? ", layer norm" : "", grouped(model.parameters()));
    cli::say(
        "seeds   {} to train, {} to validate, {} to test; {}\n", grouped(parts[1]), grouped(parts[2]), grouped(parts[3]),
        a.full ? std::string("the whole graph at every step") : fmt::format("fanouts {}, mini-batches of {}", a.fanout, grouped(a.batch)));
    cli::say("ends    {}\n", end_of(t, parts[2]));
    if (run.epochs() || run.step()) cli::say("continues after epoch {}, step {}\n", run.epochs(), run.step());
    cli::say("{:>32} | {:^28} | {:>9} | {:^17} | {:^25}\n", "", fmt::format("exact {}", measure), "", "ms waited", "GB of features");
    cli::say("{:>5} {:>8} {:>9} {:>7} | {:>8} {:>10} {:>8} | {:>9} | {:>8} {:>8} | {:>7} {:>8} {:>8}\n", "epoch", "steps", "loss",
             "correct", "train", "validation", "test", "ms", "caller", "loader", "local", "peers", "remote");
    cli::flush_out();
  }
  auto const keep = [&] {
    if (!a.checkpoint.empty()) run.save_checkpoint(a.checkpoint);
  };
  bool recorded = false;
  try {
    while (!run.finished()) {
      epoch_report const e = run.next();
      json row{{"epoch", e.epoch}, {"steps", e.steps}, {"loss", e.loss}, {"accuracy", e.accuracy}};
      json const none(nullptr);
      row["train_accuracy"] = e.exact ? json(e.exact->train.accuracy) : none;
      row["validation_accuracy"] = e.exact ? json(e.exact->validation.accuracy) : none;
      row["test_accuracy"] = e.exact ? json(e.exact->test.accuracy) : none;
      row["validation_auc"] = e.exact && e.exact->validation.auc ? json(*e.exact->validation.auc) : none;
      row["test_auc"] = e.exact && e.exact->test.auc ? json(*e.exact->test.auc) : none;
      row["ms"] = e.ms;
      row["evaluation_ms"] = e.exact ? json(e.exact->ms) : none;
      row["sample_ms"] = e.load.sample_ms, row["fetch_ms"] = e.load.fetch_ms, row["gather_ms"] = e.load.gather_ms;
      row["model_ms"] = e.model_ms;
      row["caller_waited_ms"] = e.load.caller_waited_ms, row["loader_waited_ms"] = e.load.loader_waited_ms;
      row["local_rows"] = e.load.rows[tier::device] + (where.kind == device_kind::cpu ? e.load.rows[tier::host] : 0);
      row["peer_rows"] = e.load.rows[tier::peer];
      row["remote_rows"] = where.kind == device_kind::cpu ? 0 : e.load.rows[tier::host];
      row["remote_bytes"] = e.load.remote_bytes;
      row["window"] = a.full ? none : json(e.load.window);
      row["captured"] = e.captured;
      if (!e.not_captured.empty()) out["not_captured"] = e.not_captured;
      row["file_rows"] = e.load.rows[tier::file], row["file_reads"] = e.load.file_reads, row["file_bytes"] = e.load.file_bytes;
      row["file_waited_ms"] = e.load.file_waited_ms;
      row["best"] = e.best;
      if (!a.json) {
        auto const share = [&](evaluation::part const* p) { return p && p->vertices ? fmt::format("{:.2f} %", 100 * told(*p)) : "-"; };
        auto const gb = [&](char const* key) { return what.row_gb ? fmt::format("{:.2f}", row[key].get<double>() * *what.row_gb) : "-"; };
        evaluation const* const x = e.exact ? &*e.exact : nullptr;
        std::string const of_file =
            e.load.rows[tier::file]
                ? fmt::format("; from the file {} rows, {} read ({:.2f} GB), waited {:.1f} ms", grouped(e.load.rows[tier::file]),
                              grouped(e.load.file_reads), static_cast<double>(e.load.file_bytes) / 1e9, e.load.file_waited_ms)
                : "";
        cli::say("{:>5} {:>8} {:>9.4f} {:>5.1f} % | {:>8} {:>10} {:>8} | {:>9.1f} | {:>8.1f} {:>8.1f} | {:>7} {:>8} {:>8}{}{}\n", e.epoch,
                 grouped(e.steps), e.loss, 100 * e.accuracy, share(x ? &x->train : nullptr), share(x ? &x->validation : nullptr),
                 share(x ? &x->test : nullptr), e.ms, e.load.caller_waited_ms, e.load.loader_waited_ms, gb("local_rows"), gb("peer_rows"),
                 gb("remote_rows"), e.best ? " *" : "", of_file);
        cli::flush_out();
      }
      if (!a.json && e.captured && !std::exchange(recorded, true))
        cli::say("CUDA graph: the {} kernels and copies of a step are launched at once\n", e.captured);
      if (!a.json && !e.not_captured.empty()) cli::say("no CUDA graph, so a step is launched kernel by kernel: {}\n", e.not_captured);
      out["epochs"].push_back(std::move(row));
      keep();
    }
  } catch (error const& e) {
    if (e.code() == errc::interrupted) {
      clear_interrupt();  // which would stop the writing too
      keep();
      if (!a.checkpoint.empty())
        fail(errc::interrupted, "interrupted in epoch {}, after step {}; continue from {} with --resume {}", run.epochs() + 1, run.step(),
             a.checkpoint, a.checkpoint);
    }
    throw;
  }
  std::optional<std::uint64_t> const best = run.best_epoch();
  run.load_best();
  evaluation const last = run.evaluate();
  if (!a.out.empty()) model.save(a.out);
  bool const early = run.finished() && run.epochs() < *t.epochs;
  out["stopped_early"] = early;
  out["best_epoch"] = best ? json(*best) : json(nullptr);
  out["train"] = of_part(last.train), out["validation"] = of_part(last.validation), out["test"] = of_part(last.test);
  out["validation_accuracy"] = last.validation.accuracy;
  out["test_accuracy"] = last.test.accuracy;
  out["test_auc"] = last.test.auc ? json(*last.test.auc) : json(nullptr);
  out["local_bytes"] = run.bytes();
  out["model_file"] = a.out.empty() ? json(nullptr) : json(a.out);
  if (a.json) {
    cli::say("{}\n", out.dump(2));
    return;
  }
  cli::say("{}{}: {} of train {:.2f} %, validation {:.2f} %, test {:.2f} % (all neighbors)\n",
           early ? fmt::format("no better validation in {} evaluations; ", *t.patience) : "",
           best ? fmt::format("epoch {}, the best", *best) : "at the end", measure, 100 * told(last.train), 100 * told(last.validation),
           100 * told(last.test));
  if (!a.out.empty()) cli::say("{}: the model; garner predict {} --model {} -o scores.npy\n", a.out, what.predict, a.out);
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
std::string named_files(train_arguments const& a, graph_source const& from) {
  return fmt::format("a graph of {}\n{}\n", cli::describe(from.info()), named_rows(a.features));
}
std::string named_files(train_arguments const& a, hetero_graph const& g) {
  std::string all;
  for (vertex_type const& t : g.types()) all += fmt::format("'{}' of {}\n", t.name, named_rows(cli::features_of(a.file, t)));
  for (edge_type const& e : g.edges()) all += fmt::format("'{} {} {}' of {} edges\n", e.from, e.relation, e.to, grouped(e.stored_edges));
  return all;
}

void train_types(train_arguments& a) {
  for (auto const& [name, said] : {std::pair("--features", a.features), std::pair("--labels", a.labels), std::pair("--split", a.split)})
    if (!said.empty()) fail(errc::usage, "{} {}: {} names features, labels and splits itself; leave it out", name, said, a.file);
  if (a.full) a.fanout = "1";  // nothing is sampled
  std::optional<std::uint64_t> const budget = cli::budget_of_types(a);
  a.features = "of the dataset file";  // for check()
  a.check();
  auto options = options_of(a);
  model_options& m = options.first;
  training_options& t = options.second;
  cli::check_outputs(a.file, {{"--out", a.out}, {"--checkpoint", a.checkpoint}});
  std::vector<execution_device> const places = a.places();
  if (a.sharded(places.size())) fail(errc::usage, "shards: {} may have several types, which are not split; train without", a.file);
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
  subject what;
  what.head = {{"file", a.file}, {"target", type.name},        {"nodes", type.count},
               {"edges", arcs},  {"device", to_string(where)}, {"ranks", all_ranks}};
  what.lines = {fmt::format("graph   {}: {} types, {} relations, {} edges; '{}' is the target\n", a.file, types.names.size(),
                            types.relations.size(), grouped(arcs), type.name),
                fmt::format("device  {}\n", to_string(where)), ranks_line(a, places, all_ranks)};
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
  learn(a, model, run, what);
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

void train_file(train_arguments& a) {
  a.width.reset();
  if (a.said_group && a.said_group->empty())
    fail(errc::usage, "--group '': use one name, the same in all processes (is a variable empty?), or leave it out");
  a.group = a.said_group.value_or("");
  if (a.file.ends_with(".json")) return train_types(a);
  for (auto const& [name, said, what] : {std::tuple("--features", a.features, "features"), std::tuple("--labels", a.labels, "labels"),
                                         std::tuple("--split", a.split, "parts of the split")})
    if (said.empty()) fail(errc::usage, "{} is required: name an .npy file of {} (a dataset file names its own)", name, what);
  if (!a.target.empty()) fail(errc::usage, "--target {}: {} has one node type; leave it out", a.target, a.file);
  if (a.full && !a.keep_lists.empty())
    fail(errc::usage, "--graph-cache {} and --full: full-graph training reads all edges; leave it out", a.keep_lists);
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
  std::uint32_t const all_ranks = join_ranks(a, places, t);

  graph_source from(a.file);
  std::uint64_t const n = from.info().vertices;
  cli::table_size const rows = cli::size_of(a.features);
  if (rows.rows < n) fail(errc::input, "{}: {} rows, and {} has {} nodes; give each node one row", a.features, rows.rows, a.file, n);
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
  if (t.shards && on_device && cli::chooses_tier(a.tier)) a.tier = "host";  // each shard copies its own adjacency to its device
  if (a.wants_in_lists()) from.want_in_lists();
  std::uint64_t const needs =
      cli::near_bytes(cli::question_of(a, from, rows, on_device ? cli::device_limit(where) : 0)) + (on_device ? (n + 1) * 8 : 0);
  if (a.full) {
    training_question q;
    q.load = cli::question_of(a, from, rows, on_device ? cli::device_limit(where) : 0);
    q.load.fanouts.clear();
    q.model = m, q.model.inputs = open_rows(a.features).width;
    q.input_dropout = a.input_dropout.value_or(input_dropout_of(m, a.dropout.value_or(0.5)));
    q.training = static_cast<double>(training_vertices);
    if (places.size() > 1 && places[1] != where) q.gradients = training_question::exchange::peers;
    shard_options const asked = a.split_into.options(all_ranks);
    cli::require_whole(q, t.shards ? &asked : nullptr, from, a.file, t.side == edge_direction::in, places,
                       a.group.empty() ? std::nullopt : std::optional(t.rank));
    if (places.size() > 1) a.one_fits = fits_one(q, from, a.file, t.side == edge_direction::in, where);
  }
  graph_handle const g = a.load_lists(from, edges, needs, a.host_bytes(a.features, rows.rows * rows.row_bytes));
  row_array const table = a.open_table(a.features, where, a.together.get());
  m.inputs = table.width;
  std::optional<std::uint64_t> const kept = a.budget_bytes(rows.rows * rows.row_bytes);
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
    train_arguments other = a;
    other.place = to_string(places[k]);
    graph_source again(a.file);
    if (a.wants_in_lists()) again.want_in_lists();
    std::optional<tier> there = edges;
    lists.push_back(other.load_lists(again, there, needs, 0));
    if (*there != *edges)
      fail(errc::memory, "{}: its adjacency fits {} and not {}; use --tier host", a.file, to_string(where), to_string(places[k]));
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
    subject what;
    what.head = {{"file", a.file},     {"nodes", n},        {"edges", from.info().edges}, {"device", to_string(where)},
                 {"ranks", all_ranks}, {"shards", nullptr}, {"tier", to_string(*edges)},  {"features", features.about()}};
    what.lines = {
        fmt::format("graph   {}: {}\n", a.file, cli::describe(from.info())),
        fmt::format("device  {}; adjacency in tier {}\n", to_string(where), to_string(*edges)), ranks_line(a, places, all_ranks),
        fmt::format("features {} x {} {}: {}\n", grouped(features.rows()), features.width(), to_string(features.kind()), features.about())};
    if (t.shards) tell_shards(what, a, g, places, *t.shards);
    for (std::uint64_t v = 0; v < n; ++v) ++what.parts[split[v]];
    what.row_gb = static_cast<double>(features.row_bytes()) / 1e9;
    what.predict = fmt::format("{} --features {}", a.file, a.features);
    learn(a, model, run, what);
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
  auto const a = std::make_shared<train_arguments>();
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
