// garner bench traversal, gather, tiering, load, train, storage, shards: the figures of the papers on this machine, measured in one run,
// into a file that `garner report` draws.
#include <memory>

#include "bench_storage.hpp"
#include "bench_tiering.hpp"
#include "common.hpp"
#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/publish.hpp"
#include "features/choose.hpp"
#include "graph/convert.hpp"
#include "graph/generate.hpp"
#include "lab/gather.hpp"
#include "lab/load.hpp"
#include "lab/shards.hpp"
#include "lab/train.hpp"
#include "lab/traversal.hpp"
#include "loading.hpp"
#include "memory/budget.hpp"
#include "memory/link.hpp"
#include "shard/parts.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using cli::grouped;

struct bench_arguments {
  std::string what, out, place, protocol = "short";
  std::vector<std::string> kinds, files, jobs{"bfs", "sssp", "components", "pagerank"}, strategies;
  std::optional<std::uint64_t> sources, trials, iterations;
  lab::traversal_options how;
  std::string pattern_bytes = "256MiB";
  cli::tiering_arguments tiering;
  cli::budget_arguments budgets;
  lab::gather_bench_options rows;
  std::string table;
  bool explain = false;
  // load and train.
  std::string share = "1%", load_score = "degree";
  std::optional<std::uint64_t> batches;
  std::vector<std::uint64_t> peers;
  double compute_ms = 0;
  // train.
  lab::train_bench_options train;
  cli::storage_arguments storage;
  // shards.
  lab::shards_bench_options shards;
  std::string provider;
  std::uint32_t parts = 2;
  std::vector<std::uint32_t> devices;
};

void write(std::string const& file, std::string const& text) {
  pending_file out(file);
  out.write(text);
  out.commit();
  cli::say("{}: written; garner report {} draws it\n", file, file);
}

void say_pattern(lab::pattern_row const& p) {
  if (!p.skipped.empty()) return cli::say("read {:<11} -  {}\n", p.pattern, cli::with_flags(p.skipped));
  cli::say("read {:<11} {:>9}", p.pattern, p.gbs ? fmt::format("{:.2f} GB/s", *p.gbs) : "simulated");
  if (p.link && !p.link->pages)
    cli::say("  requests of 32 B {}, 64 B {}, 96 B {}, 128 B {}", grouped(p.link->requests[0]), grouped(p.link->requests[1]),
             grouped(p.link->requests[2]), grouped(p.link->requests[3]));
  cli::say("\n");
  cli::flush_out();
}

void say_job(lab::job_row const& j) {
  std::string const head = fmt::format("{:<10} {:<11} {:<16} {} B", j.graph, j.job, j.label, j.id_bytes);
  if (!j.skipped.empty()) cli::say("{}  not measured: {}\n", head, cli::with_flags(j.skipped));
  else
    cli::say("{} {:>12} {:>7}{}\n", head, j.ms_statistic ? fmt::format("{:.3f} ms", *j.ms_statistic) : "simulated",
             j.link ? fmt::format("{:.3f}", j.link->amplification(j.data_bytes) / j.runs()) : "-", j.verified ? "  verified" : "");
  cli::flush_out();
}

void say_row(lab::gather_row const& r) {
  std::string const head = fmt::format("{:<10} {:<44} {:>9} ids", r.figure, r.label, grouped(r.ids * r.batches));
  if (!r.skipped.empty()) cli::say("{}  not measured: {}\n", head, cli::with_flags(r.skipped));
  else if (!r.ms) cli::say("{}  {} requests\n", head, grouped(r.requests));
  else
    cli::say("{} {:>10.3f} ms {:>7.2f} GB/s {:>6}  {}, {}\n", head, *r.ms, *r.gbs,
             r.of_link ? fmt::format("{:.0f} %", 100 * *r.of_link) : "-", r.strategy, r.order);
  if (auto const& b = r.beside)
    cli::say(
        "{:<10} {}; alone {:.2f} GB/s; arithmetic {:.1f} % slower than on the whole device, {:.1f} % than alone on {} multiprocessors\n",
        "", r.why, b->gather_alone_gbs, 100 * b->slower(), 100 * b->slower_than_alone(), b->rest);
  cli::flush_out();
}

void measure_gathers(bench_arguments& a) {
  lab::gather_bench_options& o = a.rows;
  o.where = a.place.empty() ? execution_device{device::count() ? device_kind::cuda : device_kind::cpu, 0} : parse_device(a.place);
  std::uint64_t const room = host_memory_now().free() / 2;
  o.table_bytes = !a.table.empty()                    ? parse_bytes(a.table)
                  : o.where.kind == device_kind::cuda ? std::min<std::uint64_t>(32ull << 30, room)
                                                      : std::min<std::uint64_t>(256ull << 20, room);
  if (a.trials) o.trials = *a.trials;
  o.seed = a.how.seed;
  o.command = cli::command_line();
  check_target(a.out);
  a.budgets.apply(o.where);
  cli::say("device {}, a table of {} in host memory, medians of {}; each way's rows compared first; percent of {}\n", to_string(o.where),
           format_bytes(o.table_bytes), o.trials,
           o.where.kind == device_kind::cuda ? "what the link carries" : "one memcpy per row, where measured");
  cli::flush_out();
  lab::gather_file const run = lab::measure_gathers(o, say_row);
  write(a.out, lab::to_json(run));
}

// What way automatic and order automatic would be for such gathers, and why; nothing is measured or taken.
void explain_gathers(bench_arguments const& a) {
  execution_device const where = a.place.empty() ? execution_device{device_kind::cuda, 0} : parse_device(a.place);
  auto const link = where.kind == device_kind::cuda && where.index < device::count() ? known_link(where.index) : std::nullopt;
  gather_figures const figures = link ? gather_figures::of(*link) : gather_figures::shipped();
  std::uint64_t const table = a.table.empty() ? std::uint64_t{32} << 30 : parse_bytes(a.table);
  if (table < 4096) fail(errc::usage, "--table-bytes {}: use 4 KiB or more", a.table);
  cli::say("device {}, a table of {} in host memory, random ids, by {}\n", to_string(where), format_bytes(table),
           figures.measured ? "this machine's link" : "the shipped figures (an H200 over PCIe 5)");
  static constexpr std::uint64_t rows[] = {128, 512, 1024, 2048, 4096}, windows[] = {1, 8};
  for (std::uint64_t const row : rows)
    for (std::uint64_t const ids : a.rows.ids)
      for (std::uint64_t const batches : windows) {
        gather_question const q{where, ids * batches, row, table / row, table / row, true, batches > 1, false};
        gather_run const run = choose(q, {}, figures);
        cli::say("{:>5} B {:>10} ids{:<13} {}, {}, duplicates {}: {}\n", row, grouped(ids * batches),
                 batches > 1 ? fmt::format(" in {} batches", batches) : "", to_string(run.strategy), to_string(run.order),
                 to_string(run.duplicates), run.why);
      }
}

std::vector<generator> generators_of(std::vector<std::string> const& names) {
  std::vector<generator> kinds;
  for (std::string const& name : names)
    if (name != "none") kinds.push_back(parse_generator(name));
  return kinds;
}

// Which graphs, and where.
template <class Options>
Options of_graphs(bench_arguments const& a, execution_device where) {
  Options o;
  o.where = where;
  if (!a.kinds.empty()) o.kinds = generators_of(a.kinds);
  for (std::string const& file : a.files) o.files.emplace_back(file);
  o.scale = a.how.scale;
  o.edge_factor = a.how.edge_factor;
  return o;
}

void measure_tiering(bench_arguments const& a, execution_device where) {
  auto o = of_graphs<lab::tiering_options>(a, where);
  o.command = cli::command_line();
  check_target(a.out);
  a.budgets.apply(where);
  a.tiering.measure(std::move(o), a.how.seed, a.out);
}

void say_load(lab::load_file const& f, lab::load_row const& r) {
  if (f.rows.size() == 1)
    cli::say("{:<10} {:<7} {:<7} {:<10} {:>6} {:>4} {:>6} {:>5} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7}\n", "graph", "figure", "lists", "way",
             "kept", "dev.", "window", "SMs", "ms", "sample", "fetch", "gather", "hits", "MB far");
  std::string const head = fmt::format("{:<10} {:<7} {:<7} {:<10} {:>4.0f} % {:>4} {:>6} {:>5}", r.graph, r.figure, r.lists, r.strategy,
                                       100 * r.kept, r.devices, r.window, r.multiprocessors ? std::to_string(r.multiprocessors) : "all");
  auto const ms = [](std::optional<double> t) { return t ? fmt::format("{:.3f}", *t) : std::string("-"); };
  if (!r.skipped.empty()) cli::say("{}  not measured: {}\n", head, cli::with_flags(r.skipped));
  else
    cli::say("{} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7.2f}\n", head, ms(r.ms), ms(r.sample_ms), ms(r.fetch_ms), ms(r.gather_ms),
             r.hits() ? fmt::format("{:.1f} %", 100 * *r.hits()) : "-", r.remote_bytes / 1e6);
  cli::flush_out();
}

// --figures; empty: it is not set.
std::vector<std::string> figures_of(bench_arguments const& a) {
  return a.rows.figures != lab::gather_bench_options{}.figures ? a.rows.figures : std::vector<std::string>();
}

std::function<std::vector<std::int64_t>(graph_handle const&)> drawn_training(bench_arguments const& a) {
  cli::share_of(a.share, 1);
  cli::loading_arguments train;
  train.share = a.share, train.seed = a.how.seed;
  return [train](graph_handle const& g) {
    cli::loading_arguments of = train;
    of.file = g.name();
    return cli::training_of(g, of).positions;
  };
}

// Which vertices train, which rows are kept and on which devices, which figures.
template <class Options>
void set_training(bench_arguments const& a, Options& o) {
  o.score = parse_score(a.load_score);
  for (std::uint64_t const k : a.peers) o.peers.push_back(static_cast<int>(std::min<std::uint64_t>(k, 1u << 16)));
  o.figures = figures_of(a);
  o.share = a.share;
  o.training = drawn_training(a);
}

void measure_loads(bench_arguments const& a, execution_device where) {
  auto o = of_graphs<lab::load_bench_options>(a, where);
  sample_options const s = a.tiering.training.sampling();
  o.fanouts.assign(s.fanouts.begin(), s.fanouts.end());
  o.rule = s.rule, o.batch = s.batch, o.seed = a.how.seed;
  o.row_bytes = a.tiering.row_bytes;
  if (o.row_bytes < 1) fail(errc::usage, "--feature-bytes 0: use 1 or more");
  if (a.batches) {
    if (*a.batches < 1) fail(errc::usage, "--batches 0: use 1 or more");
    o.batches = *a.batches;
  }
  if (!(a.compute_ms >= 0 && a.compute_ms <= 1e6)) fail(errc::usage, "--compute-ms {}: use 0 to 1,000,000", a.compute_ms);
  o.compute_ms = a.compute_ms;
  set_training(a, o);
  o.command = cli::command_line();
  check_target(a.out);
  a.budgets.apply(where);
  cli::say("device {}, fanouts {}, mini-batches of {}, rows of {} B; each setting's first mini-batches are checked; ms per mini-batch\n",
           to_string(where), a.tiering.training.fanout, o.batch, o.row_bytes);
  cli::flush_out();
  lab::load_file const run = lab::measure_loads(o, say_load);
  write(a.out, lab::to_json(run));
}

void say_training(lab::train_file const& f, lab::train_row const& r) {
  if (f.rows.size() == 1)
    cli::say("{:<10} {:<9} {:<7} {:<10} {:>5} {:>7} {:<9} {:>4} {:>10} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8}\n", "graph", "figure", "lists",
             "way", "width", "kept", "by", "dev.", "ms", "sample", "fetch", "gather", "model", "MB far", "loss");
  std::string const head = fmt::format("{:<10} {:<9} {:<7} {:<10} {:>5} {:>5.0f} % {:<9} {:>4}", r.graph, r.figure, r.lists, r.strategy,
                                       r.width, 100 * r.kept, r.score.empty() ? "-" : r.score, r.devices);
  auto const ms = [](std::optional<double> t) { return t ? fmt::format("{:.2f}", *t) : std::string("-"); };
  if (!r.skipped.empty()) cli::say("{}  not measured: {}\n", head, cli::with_flags(r.skipped));
  else
    cli::say("{} {:>10} {:>9} {:>9} {:>9} {:>9} {:>8.2f} {:>8.4f}\n", head, ms(r.times.ms), ms(r.times.sample_ms), ms(r.times.fetch_ms),
             ms(r.times.gather_ms), ms(r.times.model_ms), r.rows.remote_bytes / 1e6, r.loss);
  cli::flush_out();
}

void say_trainable(lab::train_file const& f, lab::trainable_row const& r) {
  if (f.trainable.size() == 1)
    cli::say("{:<9} {:>12} {:>6} {:>9} {:>7} {:>10} {:>10} {:>10} {:>8}\n", "learned", "of rows", "width", "a step", "kept", "gather ms",
             "update ms", "MB far", "of floor");
  std::string const head =
      fmt::format("{:<9} {:>12} {:>6} {:>9} {:>5.0f} %", r.optimizer, grouped(r.rows), r.width, grouped(r.step_rows), 100 * r.kept);
  auto const ms = [](std::optional<double> t) { return t ? fmt::format("{:.3f}", *t) : std::string("-"); };
  if (!r.skipped.empty()) cli::say("{}  not measured: {}\n", head, cli::with_flags(r.skipped));
  else
    cli::say("{} {:>10} {:>10} {:>10.2f} {:>8}\n", head, ms(r.gather_ms), ms(r.update_ms), r.remote_bytes / 1e6,
             r.of_floor() ? fmt::format("{:.0f} %", 100 * *r.of_floor()) : "-");
  cli::flush_out();
}

void measure_trainings(bench_arguments const& a, execution_device where) {
  auto o = of_graphs<lab::train_bench_options>(a, where);
  o.hidden = a.train.hidden, o.classes = a.train.classes, o.widths = a.train.widths;
  o.step_rows = a.train.step_rows;
  sample_options const s = a.tiering.training.sampling();
  o.fanouts.assign(s.fanouts.begin(), s.fanouts.end());
  o.batch = s.batch, o.seed = a.how.seed;
  if (a.tiering.row_bytes < 4 || a.tiering.row_bytes % 4)
    fail(errc::usage, "--feature-bytes {}: rows of floats; use a multiple of 4", a.tiering.row_bytes);
  o.width = a.tiering.row_bytes / 4;
  if (a.tiering.epochs) o.epochs = *a.tiering.epochs;
  if (a.batches) o.batches = *a.batches;
  o.communities.seed = a.how.seed;
  set_training(a, o);
  o.command = cli::command_line();
  check_target(a.out);
  a.budgets.apply(where);
  cli::say("device {}, GraphSAGE, fanouts {}, mini-batches of {}, {} hidden, {} classes; what is learned is compared; ms per epoch\n",
           to_string(where), a.tiering.training.fanout, o.batch, o.hidden, o.classes);
  cli::flush_out();
  lab::train_told told;
  told.row = say_training;
  told.trainable = say_trainable;
  told.epoch = [](lab::train_course const& c, lab::train_epoch const& e) {
    auto const share = [](std::optional<double> x) { return x ? fmt::format("{:.2f} %", 100 * *x) : std::string("-"); };
    cli::say("{}: epoch {}, loss {:.4f}, validation {}, test {}\n", c.name, e.epoch, e.loss, share(e.validation_accuracy),
             share(e.test_accuracy));
    cli::flush_out();
  };
  lab::train_file const run = lab::measure_trainings(o, told);
  write(a.out, lab::to_json(run));
}

void measure_storage(bench_arguments const& a, execution_device where) {
  lab::storage_bench_options o;
  o.where = where;
  if (a.kinds.size() > 1) fail(errc::usage, "--kinds: storage measures one kind of graph; use kron, uniform or web");
  if (!a.kinds.empty()) o.kind = parse_generator(a.kinds.front());
  if (!a.files.empty()) fail(errc::usage, "--graph {}: storage makes graphs like the paper's; leave it out", a.files.front());
  o.scale = a.how.scale;
  sample_options const s = a.tiering.training.sampling();
  o.fanouts.assign(s.fanouts.begin(), s.fanouts.end());
  o.batch = s.batch, o.seed = a.how.seed;
  if (a.batches) o.batches = *a.batches;
  o.warm = std::min(o.warm, o.batches / 4);
  if (!(a.compute_ms >= 0 && a.compute_ms <= 1e6)) fail(errc::usage, "--compute-ms {}: use 0 to 1,000,000", a.compute_ms);
  o.compute_ms = a.compute_ms;
  o.figures = figures_of(a);
  o.share = a.share;
  o.training = drawn_training(a);
  o.command = cli::command_line();
  check_target(a.out);
  a.budgets.apply(where);
  a.storage.measure(std::move(o), a.out);
}

void say_shards(lab::shards_file const& f, lab::shard_row const& r) {
  if (f.rows.size() == 1)
    cli::say("{:<8} {:<8} {:>6} {:<11} {:<6} {:<5} {:<11} {:>9} {:>7} {:>10} {:>8} {:>5} {:>8} {:>10}\n", "graph", "study", "shards", "way",
             "sums", "rows", "ps,dist,wpb", "ms", "to one", "bytes", "floor ms", "%", "measured", "forward ms");
  bool const mgg = r.how.strategy == shard_strategy::mgg;
  std::string shape =
      fmt::format("{},{},{}", r.how.tuning.whole_lists ? "-" : std::to_string(r.how.tuning.ps), r.how.tuning.dist, r.how.tuning.wpb);
  if (r.how.tuning.apart) shape += " /";
  if (r.how.tuning.plain_reads) shape += " w";
  cli::say("{:<8} {:<8} {:>6} {:<11} {:<6} {:<5} {:<11} {:>9.3f} {:>7} {:>10} {:>8} {:>5} {:>8} {:>10}\n", r.graph, r.study, r.how.shards,
           r.strategy(), mgg ? "-" : to_string(r.how.sums), to_string(r.how.wire), mgg ? shape : "-", r.ms,
           r.against_one ? fmt::format("{:.2f}", *r.against_one) : "-", format_bytes(r.bytes),
           r.floor_ms ? fmt::format("{:.3f}", *r.floor_ms) : "-", r.floor_ms ? fmt::format("{:.0f}", 100 * *r.floor_ms / r.ms) : "-",
           r.steps.empty() ? "-" : std::to_string(r.steps.size()), r.forward ? fmt::format("{:.3f}", r.forward->ms) : "-");
  cli::flush_out();
}
void measure_shards(bench_arguments& a) {
  lab::shards_bench_options& o = a.shards;
  execution_device const where =
      a.place.empty() ? execution_device{device::count() ? device_kind::cuda : device_kind::cpu, 0} : parse_device(a.place);
  if (!a.devices.empty() && !a.place.empty()) fail(errc::usage, "--devices and --device {}: use one of them", a.place);
  for (std::uint32_t const d : a.devices) o.places.push_back({device_kind::cuda, static_cast<int>(d)});
  if (o.places.empty() && a.parts == 0) fail(errc::usage, "--shards 0: use 1 to {}", shard_parts::most);
  if (o.places.empty()) o.places.assign(a.parts, where);
  for (std::string const& name : a.kinds)
    if (name != "none") o.graphs.push_back(name);
  for (std::string const& file : a.files) o.files.emplace_back(file);
  if (a.trials) o.trials = *a.trials;
  if (!a.provider.empty()) o.provider = parse_shard_provider(a.provider);
  o.seed = a.how.seed;
  o.command = cli::command_line();
  check_target(a.out);
  for (execution_device const p : o.places) a.budgets.apply(p);
  cli::say("{} shards at {}, rows of {} f32; each way's sums compared with f64 first; medians of {}, of the slowest shard\n",
           o.places.size(), to_string(o.places[0]), o.width, o.trials);
  cli::flush_out();
  o.figures = figures_of(a);
  lab::shards_file const run = lab::measure_shards(o, say_shards);
  cli::say("floors are of {:.0f} GB/s of memory, {:.0f} of what a cache holds, {:.0f} of a link{}\n", run.rates.memory_gbs,
           run.rates.cache_gbs, run.rates.link_gbs, run.rates.measured ? "" : ", none measured");
  if (!run.over.empty()) cli::say("rows of other shards came over {}\n", run.over);
  if (!run.no_uvm.empty()) cli::say("left out, rows in managed memory: {}\n", run.no_uvm);
  write(a.out, lab::to_json(run));
}

void measure(bench_arguments& a) {
  if (a.explain && a.what != "gather") fail(errc::usage, "--explain goes with gather; leave it out");
  if (a.explain) return explain_gathers(a);
  if (a.out.empty()) fail(errc::usage, "--out is required; see garner bench --help");
  if (a.what == "gather") return measure_gathers(a);
  if (a.what == "shards") return measure_shards(a);
  if (a.what != "traversal" && a.what != "tiering" && a.what != "load" && a.what != "train" && a.what != "storage")
    fail(errc::usage, "'{}' is nothing to bench; use traversal, gather, tiering, load, train, storage or shards", a.what);
  lab::traversal_options& o = a.how;
  o.where = a.place.empty() ? execution_device{device::count() ? device_kind::cuda : device_kind::cpu, 0} : parse_device(a.place);
  if (a.what == "tiering") return measure_tiering(a, o.where);
  if (a.what == "load") return measure_loads(a, o.where);
  if (a.what == "train") return measure_trainings(a, o.where);
  if (a.what == "storage") return measure_storage(a, o.where);
  if (a.protocol != "paper" && a.protocol != "short") fail(errc::usage, "--protocol {}: use paper or short", a.protocol);
  o.paper_protocol = a.protocol == "paper";
  o.sources = a.sources.value_or(o.paper_protocol ? 64 : 8);
  o.trials = a.trials.value_or(o.paper_protocol ? 5 : 3);
  o.iterations = a.iterations.value_or(o.paper_protocol ? 20 : 5);
  o.pattern_bytes = parse_bytes(a.pattern_bytes);
  if (o.pattern_bytes < 65536) fail(errc::usage, "--pattern-bytes {}: use 64KiB or more", a.pattern_bytes);
  if (!a.kinds.empty()) o.kinds = generators_of(a.kinds);
  for (std::string const& file : a.files) o.files.emplace_back(file);
  o.jobs = a.jobs;
  o.strategies = a.strategies;
  o.command = cli::command_line();
  check_target(a.out);
  a.budgets.apply(o.where);

  cli::say("device {}, {} protocol: {} of {} sources; edges in host memory{}, each run verified\n", to_string(o.where), a.protocol,
           o.paper_protocol ? "mean" : "median", o.sources, o.where.kind == device_kind::cuda ? " (\"near\": in the device's)" : "");
  cli::flush_out();
  lab::run_file const run = lab::measure_traversal(o, say_pattern, say_job);
  write(a.out, lab::to_json(run));
}

}  // namespace

void add_bench(cli::program& p) {
  auto const a = std::make_shared<bench_arguments>();
  cli::verb& v = p.add("bench", "reproduce the measurements of the papers, into a file");
  v.add("WHAT", a->what,
        "traversal: access patterns, and every algorithm with every strategy on three kinds of graph; gather: feature rows, with every "
        "strategy and order; tiering: which score caches what a training reads; load: mini-batches with features, with every strategy; "
        "train: "
        "whole trainings; storage: trainings with features on drives, simulated and real; shards: aggregation over parts of a graph")
      .required();
  v.add("--out", a->out, "file to write, for garner report; required but for --explain");
  v.add("--device", a->place, "cuda, cuda:N, cpu, or simulated (default: cuda if there is a GPU)");
  v.add("--scale", a->how.scale, "2^SCALE vertices, 4 to 31");
  v.add("--edge-factor", a->how.edge_factor);
  v.add("--kinds", a->kinds, "some of kron,uniform,web; shards: of RDD,ENWIKI,PROD,PROT,ORKT; or none (default: all; tiering: kron,web)");
  v.add("--graph", a->files).repeats();
  v.add("--algorithms", a->jobs);
  v.add("--strategies", a->strategies);
  v.add("--protocol", a->protocol);
  v.add("--sources", a->sources, "sources of bfs and sssp, the same for all strategies (default: by --protocol)");
  v.add("--trials", a->trials, "runs of components and pagerank (default: paper 5, short 3); of shards (default: 5)");
  v.add("--iterations", a->iterations, "number of pagerank iterations (default: paper 20, short 5)");
  v.add("--seed", a->how.seed, "random seed of graphs, weights and sources");
  v.add("--strategy-seconds", a->how.way_seconds);
  v.add("--link", a->how.links);
  v.add("--pattern-bytes", a->pattern_bytes);
  a->tiering.add(v);
  v.add("--table-bytes", a->table, "gather: size of the table (default: 256MiB, on a GPU 32GiB, at most half of what is free)");
  v.add("--ids", a->rows.ids);
  v.add("--figures", a->rows.figures);
  v.add("--share", a->share, "load, train, storage: training nodes, a random share of those with neighbors");
  v.add("--batches", a->batches,
        "load: mini-batches per setting, the first ones as warm-up (default: 96); train: per epoch, at most (default: 64); storage: per "
        "setting, the first quarter, at most 10, as warm-up (default: 40)");
  v.add("--score", a->load_score, "load, train: which features are cached: degree, rpr, wrpr, expected, sampled");
  v.add("--compute-ms", a->compute_ms);
  v.add("--peers", a->peers);
  v.add("--hidden", a->train.hidden, "train: hidden units per layer");
  v.add("--classes", a->train.classes, "train: number of classes").in(cli::option_group::basic);
  v.add("--widths", a->train.widths);
  v.add("--step-rows", a->train.step_rows);
  a->storage.add(v);
  v.add("--shards", a->parts, "shards: parts, one thread each on one device");
  v.add("--devices", a->devices, "shards: GPUs, one shard each, as 0,1");
  v.add("--width", a->shards.width, "shards: elements per feature row");
  v.add("--shrink", a->shards.shrink);
  v.add("--shard-transport", a->provider);
  v.add("--explain", a->explain);
  a->budgets.add(v, true);
  v.ends_with(
      "Examples: garner bench traversal --scale 26 --protocol paper --out run.json\n"
      "          garner bench tiering --scale 20 --fanout 12,12,12 --train 1% --out tiering.json\n"
      "          garner bench load --scale 26 --fanout 15,10,5 --rule last --batch 1024 --compute-ms 1.7 --out load.json\n"
      "          garner bench train --scale 24 --fanout 15,10,5 --batch 1024 --share 1% --out train.json\n"
      "          garner bench storage --scale 18 --fanout 10,5,5 --batch 256 --share 10% --compute-ms 5 --out storage.json\n"
      "          garner bench shards --devices 0,1 --shrink 1 --out shards.json");
  v.runs([a] { measure(*a); });
}

}  // namespace garner
