// garner load: a training without a model. Mini-batches with features are delivered as to a training, and each stage's time is printed.
#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "command/common.hpp"
#include "command/dry_training.hpp"
#include "command/made_rows.hpp"
#include "garner/files.hpp"
#include "garner/link.hpp"
#include "load_options.hpp"
#include "plan_load.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using cli::grouped;
using json = nlohmann::ordered_json;

struct run_arguments : cli::load_arguments {
  double compute_ms = 0;
  std::string state, resume;
};

load_state state_of(std::string const& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) cli::fail(errc::io, "--resume {}: cannot be read; use the file that --state wrote", file);
  std::ostringstream text;
  text << in.rdbuf();
  try {
    return load_state::parse(text.str());
  } catch (error const& e) {
    cli::fail(e.code(), "--resume {}: {}", file, e.what());
  }
}

// The rate of the link that rows come over, where it is known.
std::optional<double> link_gbs(execution_device where) {
  if (where.kind != device_kind::cuda) return std::nullopt;
  auto const link = known_link(where.index);
  return link ? std::optional(link->zero_copy_gbs) : std::nullopt;
}

// The figures of one epoch, or of all.
json figures(cli::dry_epoch const& e, std::optional<double> link, bool timed) {
  auto const time = [&](double ms) { return timed ? json(ms) : json(nullptr); };
  return {{"batches", e.batches},
          {"seeds", e.seeds},
          {"ms", time(e.ms)},
          {"ms_per_batch", time(e.each_ms())},
          {"sample_ms", time(e.sample_ms)},
          {"fetch_ms", time(e.fetch_ms)},
          {"gather_ms", time(e.gather_ms)},
          {"caller_waited_ms", time(e.caller_waited_ms)},
          {"loader_waited_ms", time(e.loader_waited_ms)},
          {"nodes", e.vertices},
          {"edges", e.edges},
          {"local_rows", e.near_rows},
          {"peer_rows", e.peer_rows},
          {"remote_rows", e.far_rows},
          {"window_rows", e.window_rows},
          {"fetched_rows", e.fetched_rows},
          {"window_hits", e.window_rows + e.fetched_rows > 0 ? json(e.hits()) : json(nullptr)},
          {"remote_bytes", e.remote_bytes},
          {"remote_gbs", time(e.far_gbs())},
          {"fetch_gbs", time(e.fetch_gbs())},
          {"file_rows", e.file_rows},
          {"file_reads", e.file_reads},
          {"file_hits", e.file_rows > 0 ? json(e.file_hits()) : json(nullptr)},
          {"file_gbs", time(e.file_gbs())},
          {"file_waited_ms", time(e.file_waited_ms)},
          {"of_link", link ? json(e.far_gbs() / *link) : json(nullptr)}};
}

void say_epoch(json const& row, std::string const& name, bool of_file) {
  auto const number = [&](char const* key, int digits = 3) {
    return row[key].is_null() ? std::string("-") : fmt::format("{:.{}f}", row[key].get<double>(), digits);
  };
  auto const rows = [&](char const* key) { return grouped(static_cast<std::uint64_t>(row[key].get<double>() + 0.5)); };
  cli::say("{:>5} {:>12} {:>9} | {:>8} {:>8} {:>8} | {:>8} {:>8} | {:>10} {:>10} {:>10} {:>6} | {:>6} {:>5}\n", name,
           grouped(row["batches"].get<std::uint64_t>()), number("ms_per_batch"), number("sample_ms"), number("fetch_ms"),
           number("gather_ms"), number("caller_waited_ms"), number("loader_waited_ms"), rows("local_rows"), rows("peer_rows"),
           rows("remote_rows"), row["window_hits"].is_null() ? "-" : fmt::format("{:.1f} %", 100 * row["window_hits"].get<double>()),
           number("remote_gbs", 2), row["of_link"].is_null() ? "-" : fmt::format("{:.0f} %", 100 * row["of_link"].get<double>()));
  if (of_file)
    cli::say("{:>5} from the file {:>10}, {:>5} of them cached; read {:>10}, {} GB/s, waited {} ms\n", "", rows("file_rows"),
             row["file_hits"].is_null() ? "-" : fmt::format("{:.1f} %", 100 * row["file_hits"].get<double>()), rows("file_reads"),
             number("file_gbs", 2), number("file_waited_ms"));
  cli::flush_out();
}

void load_file(run_arguments& a) {
  a.check();
  if (!(a.compute_ms >= 0 && a.compute_ms <= 1e6)) cli::fail(errc::usage, "--compute-ms {}: use 0 to 1,000,000", a.compute_ms);
  execution_device const where = a.where();
  bool const on_device = where.kind == device_kind::cuda, simulated = where.kind == device_kind::simulated;
  if (!a.state.empty()) cli::check_outputs(a.file, {{"--state", a.state}});
  std::optional<load_state> const from_state = a.resume.empty() ? std::nullopt : std::optional(state_of(a.resume));
  if (from_state && from_state->epoch >= a.epochs)
    cli::fail(errc::usage, "--resume {}: stopped in epoch {} (counted from 0), and --epochs {} are over; use more", a.resume,
              from_state->epoch, a.epochs);
  a.budgets.apply(where);
  cli::warn_without_gpu(where, {{"--feature-cache", a.budget}, {"--graph-cache", a.keep_lists}});
  graph_source from(a.file);
  std::uint64_t const n = from.info().vertices;
  cli::table_size const rows = a.features.empty() ? cli::table_size{n, *a.width * 4} : cli::size_of(a.features);
  if (rows.rows < n) cli::fail(errc::input, "{}: {} rows, and {} has {} nodes; give each node one row", a.features, rows.rows, a.file, n);
  cli::table_size const label = a.labels.empty() ? cli::table_size{} : cli::size_of(a.labels);
  if (!a.labels.empty() && label.rows < n)
    cli::fail(errc::input, "{}: {} rows, and {} has {} nodes; give each node one row", a.labels, label.rows, a.file, n);
  std::optional<std::uint64_t> const kept = a.budget_bytes(rows.rows * rows.row_bytes);
  std::optional<tier> edges;
  if (a.lists() == edge_direction::in) from.want_in_lists();
  std::uint64_t const needs =
      cli::near_bytes(cli::question_of(a, from, rows, on_device ? cli::device_limit(where) : 0)) + (on_device ? (n + 1) * 8 : 0);
  graph_handle const g =
      a.load_lists(from, edges, needs, a.host_bytes(a.features, rows.rows * rows.row_bytes) + label.rows * label.row_bytes);
  cli::training_vertices const train = cli::training_of(g, a);

  // Rows: the user's, or made here.
  memory_block made;
  row_array table;
  if (a.features.empty()) {
    made = cli::make_rows(n, rows.row_bytes, on_device ? where.index : -1);
    table = {made.data(), n, *a.width, element::f32, {}};
  } else {
    table = a.open_table(a.features, where);
  }
  tiered_options t;
  t.device = where;
  if (where.kind != device_kind::cpu) t.feature_cache = kept;
  std::vector<float> scored;
  auto const kept_lists = a.kept_list_bytes(cli::drawn_list_bytes(from, a));
  a.set_file_budgets(t, table);
  bool const by_score = (kept && *kept > 0 && *kept < rows.rows * rows.row_bytes && where.kind != device_kind::cpu) || table.file;
  if (by_score || kept_lists) scored = a.scores_of(g, train, edges);
  block_options drawing = a.blocks();
  if (kept_lists) drawing.graph_cache = kept_lists, drawing.scores = std::span<float const>(scored).first(n);
  block_sampler sampler(where, g, a.fanouts(), drawing, a.lists());
  if (by_score) {
    scored.resize(rows.rows, 0);  // a table may have more rows than there are vertices
    t.scores = scored;
  }
  tiered_tensor features(table, t);
  row_array label_rows;
  std::optional<tiered_tensor> labels;
  if (!a.labels.empty()) {
    label_rows = on_device ? read_rows(a.labels) : map_rows(a.labels);
    tiered_options o;
    o.device = where;
    if (simulated) o.feature_cache = 0;
    labels.emplace(label_rows, o);
  }
  std::vector<loaded_table> tables{{&features, 0, false, {}}};
  if (labels) tables.push_back({&*labels, 0, true, {}});
  loader l(sampler, std::move(tables), train.positions, a.loader());
  if (from_state) {
    try {
      l.resume(*from_state);
    } catch (error const& e) {
      cli::fail(e.code(), "--resume {}: {}", a.resume, e.what());
    }
  }

  std::optional<double> const link = link_gbs(where);
  json out = cli::sampling_json(from, a, *edges, train, l.batches());
  out["row_bytes"] = features.row_bytes();
  out["dtype"] = to_string(features.kind());
  out["features"] = features.about();
  out["labels"] = labels ? json(labels->about()) : json(nullptr);
  out["adjacency"] = sampler.about();
  out["score"] = scored.empty() ? json(nullptr) : json(a.score);
  out["strategy"] = a.strategy, out["window"] = nullptr, out["prefetch"] = a.ahead, out["multiprocessors"] = a.multiprocessors;
  out["cache_policy"] = table.file ? json(a.cache) : json(nullptr);
  out["compute_ms"] = a.compute_ms;
  out["link_gbs"] = link ? json(*link) : json(nullptr);
  out["epochs"] = json::array();
  if (!a.json) {
    cli::say_sampling(from, a, *edges, train, l.batches());
    if (kept_lists) cli::say("graph cache {}\n", sampler.about());
    cli::say("features {} x {} {} ({}), {} B each: {}\n", grouped(features.rows()), features.width(), to_string(features.kind()),
             a.features.empty() ? "made in memory" : a.features, features.row_bytes(), features.about());
    cli::say("loader  strategy {}, window {}, prefetch {}{}{}{}\n", a.strategy, a.window ? std::to_string(*a.window) : "automatic", a.ahead,
             table.file ? fmt::format(", cache policy {}", a.cache) : "",
             a.compute_ms > 0 ? fmt::format(", each used for {} ms", a.compute_ms) : "",
             from_state ? fmt::format("; continues at mini-batch {} of epoch {}", from_state->next, from_state->epoch) : "");
    cli::say("per mini-batch; stages overlap{}\n", a.verify ? "; times are with the checks" : "");
    cli::say("{:>28} | {:^26} | {:^17} | {:^39} | {:>8}\n", "", "ms of", "ms waited", "feature rows", "remote");
    cli::say("{:>5} {:>12} {:>9} | {:>8} {:>8} {:>8} | {:>8} {:>8} | {:>10} {:>10} {:>10} {:>6} | {:>6} {:>5}\n", "epoch", "mini-batches",
             "ms", "sample", "fetch", "gather", "caller", "loader", "local", "peers", "remote", "window", "GB/s", "link");
    cli::flush_out();
  }
  std::optional<cli::batch_check> check;
  if (a.verify) check.emplace(g, a.lists(), a.fanouts(), a.blocks());
  row_array const known = a.verify && table.file ? map_rows(a.features) : table;
  std::vector<cli::batch_check::rows_source> const sources{{a.features.empty() ? nullptr : known.data, rows.row_bytes},
                                                           {label_rows.data, label.row_bytes}};
  cli::dry_options o;
  o.epochs = a.epochs;
  o.batches = a.batches;
  o.stretch = a.window.value_or(first_window);
  o.compute_ms = a.compute_ms;
  if (check)
    o.each = [&](mini_batch const& b, executor& x) { check->batch(x, b, train.positions, std::span(sources).first(labels ? 2 : 1)); };
  o.told = [&](cli::dry_epoch const& e) {
    json row{{"epoch", e.epoch}};
    row.update(figures(e, link, !simulated));
    if (!a.json) say_epoch(row, std::to_string(e.epoch), table.file != nullptr);
    out["epochs"].push_back(std::move(row));
  };
  auto const keep_state = [&] {
    if (!a.state.empty()) write_file(a.state, l.state().text() + "\n");
  };
  cli::dry_result r;
  try {
    r = cli::train_dry(l, where, o);
  } catch (...) {
    clear_interrupt();  // which would stop the writing too
    keep_state();
    throw;
  }
  keep_state();
  out["batches"] = r.batches;
  out["timed_batches"] = r.timed;
  out["ms_mean"] = simulated ? json(nullptr) : json(r.mean_ms);
  out["ms_median"] = simulated ? json(nullptr) : json(r.median_ms);
  out["all"] = figures(r.all, link, !simulated);
  out["window"] = l.report().window;
  out["local_bytes"] = l.bytes();
  out["state"] = l.state().text();
  out["verified"] = a.verify ? json(r.batches) : json(nullptr);
  if (a.json) {
    cli::say("{}\n", out.dump(2));
    return;
  }
  if (!simulated)
    cli::say("ms per mini-batch: mean {:.3f}, median {:.3f} (of stretches of {}), over {}{}\n", r.mean_ms, r.median_ms, o.stretch,
             grouped(r.timed), r.warm ? ", without the warm-up" : "; too few for a warm-up of two windows");
  cli::say("memory  {} of sampler, ring and window, of {} mini-batches\n", cli::format_bytes(l.bytes()), l.report().window);
  if (a.verify) cli::say("verified {} mini-batches: nodes, edges, counts and features\n", grouped(r.batches));
  if (!a.state.empty()) cli::say("{}: {}; continue with --resume {}\n", a.state, l.state().text(), a.state);
}

}  // namespace

void add_load(cli::program& p) {
  auto const a = std::make_shared<run_arguments>();
  cli::verb& v = p.add("load", "the data loading of a training without its model: each stage timed");
  a->add_sampling(v,
                  "which features and adjacency are cached: degree, rpr, wrpr, expected, sampled (see garner score), or an .npy file by "
                  "ascending id; with "
                  "--feature-cache or --graph-cache");
  a->add_rows(v);
  a->add_loader(v);
  v.add("--compute-ms", a->compute_ms);
  a->add_run(v);
  v.add("--state", a->state);
  v.add("--resume", a->resume);
  a->add_place(v);
  a->add_rest(v);
  v.ends_with(
      "Examples: garner load kron:16 --width 128 --share 10% --epochs 3 --verify\n"
      "          garner load kron:26 --width 128 --device cuda --tier host --feature-cache 10% --epochs 3 --compute-ms 1.7");
  v.runs([a] { load_file(*a); });
}

}  // namespace garner
