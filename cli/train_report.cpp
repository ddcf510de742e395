// What garner train prints of a training, step by step and at its end.
#include <algorithm>
#include <thread>

#include "garner/handle.hpp"
#include "train.hpp"

namespace garner::cli {

namespace {

using json = nlohmann::ordered_json;

json of_part(evaluation::part const& p) {
  return {{"nodes", p.vertices}, {"accuracy", p.accuracy}, {"loss", p.loss}, {"auc", p.auc ? json(*p.auc) : json(nullptr)}};
}
double told(evaluation::part const& p) { return p.auc.value_or(p.accuracy); }
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
std::string end_of(training_options const& t, std::uint64_t validation_vertices) {
  std::string const epochs = fmt::format("{} epoch{}", grouped(*t.epochs), *t.epochs == 1 ? "" : "s");
  if (validation_vertices == 0) return fmt::format("after {}; the split has no validation part (2) for early stopping", epochs);
  if (*t.patience == 0) return fmt::format("after {}", epochs);
  std::uint64_t const patience = std::uint64_t{*t.patience} * t.evaluate_every;
  return fmt::format("when the validation loss has not fallen for {} epoch{}, after {} at most", grouped(patience),
                     patience == 1 ? "" : "s", grouped(*t.epochs));
}

}  // namespace

std::string ranks_line(train_arguments const& a, std::vector<execution_device> const& places, std::uint32_t all_ranks) {
  if (all_ranks == 1 || a.full) return "";
  std::vector<std::string> at;
  for (execution_device const p : places) at.push_back(to_string(p));
  return fmt::format("ranks   {}{}, {} seeds a step each\n", all_ranks,
                     a.group.empty() ? fmt::format(": {}", fmt::join(at, ", ")) : " processes", grouped(a.batch));
}
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
                         {"activations", !o.host_activations ? "device"
                                         : o.scratch.empty() ? "host"
                                                             : "file"},
                         {"imbalance", r.imbalance()},
                         {"cut_edges", r.cut()},
                         {"remote_rows", r.remote_rows()},
                         {"references", r.references()},
                         {"decided", a.decided ? json_of(*a.decided) : json(nullptr)},
                         {"transport", to_string(over.provider)},
                         {"over", over.about},
                         {"passed_over", over.passed_over}};
  what.lines.push_back(fmt::format(
      "shards  {}{} on {}{}; strategy {}, features as {}, reduction {}{}{}\n", o.shards, a.group.empty() ? "" : " processes",
      fmt::join(at, ", "), a.devices.size() > places.size() ? fmt::format(" (of {} requested)", a.devices.size()) : "",
      to_string(o.strategy), to_string(o.wire),
      o.strategy == shard_strategy::mgg ? "by atomics"
      : o.sums == shard_reduction::fast ? "fast"
                                        : "deterministic",
      o.compressed_adjacency ? fmt::format(", compressed adjacency{}", o.remote_adjacency ? " in host memory" : "") : "",
      fmt::format("{}{}", o.far_rows ? "; input features stay in their tier" : "",
                  !o.scratch.empty()
                      ? fmt::format("; activations in a file in {}{}", o.scratch, o.host_layers ? ", rows of layers in host memory" : "")
                  : o.host_layers      ? "; activations and rows of layers in host memory"
                  : o.host_activations ? "; activations in host memory"
                                       : "")));
  if (o.shards > 1)
    what.lines.push_back(fmt::format("over    {}: {}{}{}\n", to_string(over.provider), over.about,
                                     over.passed_over.empty() ? "" : "; not over ", fmt::join(over.passed_over, ", nor ")));
  what.lines.push_back(fmt::format(
      "split   the largest shard has {:.2f} times the mean number of edges; {} edges ({:.1f} %) cross to {} remote rows, {:.1f} per row\n",
      r.imbalance(), grouped(r.cut()), r.edges() ? 100 * static_cast<double>(r.cut()) / static_cast<double>(r.edges()) : 0.0,
      grouped(r.remote_rows()), r.references()));
  if (a.decided) what.lines.push_back(fmt::format("strategy {}\n", a.decided->why()));
}
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

}  // namespace garner::cli
