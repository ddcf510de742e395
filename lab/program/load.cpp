// garner-lab load: mini-batches with features, with every strategy.
#include <memory>

#include "bench.hpp"
#include "lab/load.hpp"
#include "verbs.hpp"

namespace garner::lab {

namespace {

void say_load(load_file const& f, load_row const& r) {
  if (f.rows.size() == 1)
    cli::say("{:<10} {:<7} {:<7} {:<10} {:>6} {:>4} {:>6} {:>5} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7}\n", "graph", "figure", "lists", "way",
             "kept", "dev.", "window", "SMs", "ms", "sample", "fetch", "gather", "hits", "MB far");
  std::string const head = fmt::format("{:<10} {:<7} {:<7} {:<10} {:>4.0f} % {:>4} {:>6} {:>5}", r.graph, r.figure, r.lists, r.strategy,
                                       100 * r.kept, r.devices, r.window, r.multiprocessors ? std::to_string(r.multiprocessors) : "all");
  tell_row(head, r.skipped,
           fmt::format("{:>9} {:>9} {:>9} {:>9} {:>7} {:>7.2f}", or_dash(r.ms), or_dash(r.sample_ms), or_dash(r.fetch_ms),
                       or_dash(r.gather_ms), r.hits() ? fmt::format("{:.1f} %", 100 * *r.hits()) : "-", r.remote_bytes / 1e6));
}

void measure(bench_arguments const& a) {
  load_bench_options o;
  a.set_graphs(o), a.set_training(o);
  o.rule = parse_hop_rule(a.training.rule), o.row_bytes = a.row_bytes, o.compute_ms = a.compute_ms;
  if (o.row_bytes < 1) fail(errc::usage, "--feature-bytes 0: use 1 or more");
  a.begin(o.where);
  tell("device {}, fanouts {}, mini-batches of {}, rows of {} B; each setting's first mini-batches are checked; ms per mini-batch\n",
       to_string(o.where), a.training.fanout, o.batch, o.row_bytes);
  a.write(to_json(measure_loads(o, say_load)));
}

}  // namespace

void add_load(cli::program& p) {
  auto const a = std::make_shared<bench_arguments>();
  cli::verb& v = p.add("load", "mini-batches with features, with every strategy");
  a->add(v, "ways,window,share,kept");
  a->add_graphs(v, "some of kron,uniform,web; or none (default: kron)");
  a->add_training(v, "mini-batches per setting, the first ones as warm-up (default: 96)");
  v.add("--rule", a->training.rule);
  v.add("--feature-bytes", a->row_bytes);
  v.add("--score", a->score, "which features are cached: degree, rpr, wrpr, expected, sampled");
  v.add("--peers", a->peers);
  v.add("--compute-ms", a->compute_ms);
  v.ends_with("Example: garner-lab load --scale 26 --fanout 15,10,5 --rule last --batch 1024 --compute-ms 1.7 --out load.json");
  v.runs([a] { measure(*a); });
}

}  // namespace garner::lab
