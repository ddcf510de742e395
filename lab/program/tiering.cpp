// garner-lab tiering: which score caches what a training reads.
#include <algorithm>
#include <memory>
#include <utility>

#include "bench.hpp"
#include "lab/tiering.hpp"
#include "verbs.hpp"

namespace garner::lab {

namespace {

struct tiering_arguments : bench_arguments {
  tiering_options o;
  bool no_deeper = false, no_gathers = false;
};

// One line per score: ms, or bytes if nothing is timed, for each share that is cached.
void say_gathers(tiering_run const& r, tiering_graph const& g) {
  tier_trace const& t = g.traces.front();
  if (!t.no_gathers.empty()) return cli::say("{:<12} no gathers: {}\n", g.name, cli::with_flags(t.no_gathers));
  bool told = false;
  for (tier_curve const& c : t.curves) {
    if (c.gathers.empty()) continue;
    bool const timed = c.gathers.front().ms.has_value();
    if (!std::exchange(told, true)) {
      cli::say("{:<12} {}, mean of {} mini-batches, rows of {} B; kept", g.name, timed ? "ms a gather" : "MB over the link a gather",
               t.gathered, r.row_bytes);
      for (tier_gather const& m : c.gathers) cli::say(" {:.0f} %", 100 * m.kept);
      cli::say("{}\n", r.place == "cpu" ? " (on the CPU all rows are local)" : "");
    }
    cli::say("{:<12} {:<16}", g.name, c.score);
    for (tier_gather const& m : c.gathers) cli::say(" {:>8.3f}", m.ms ? *m.ms : m.link_bytes / 1e6);
    cli::say("\n");
    if (r.place == "cpu") return;
  }
}

void measure(tiering_arguments& a) {
  tiering_options& o = a.o;
  a.set_graphs(o);
  o.sampling = a.training.sampling();
  o.sampling.seed = a.seed;
  if (o.deeper_epochs < 1 || o.deeper_epochs > 1u << 20) fail(errc::usage, "--deeper-epochs {}: use 1 to 1,048,576", o.deeper_epochs);
  if (o.epochs < 1 || o.epochs > 1u << 20) fail(errc::usage, "--epochs {}: use 1 to 1,048,576", o.epochs);
  if (o.ceiling > 1u << 20) fail(errc::usage, "--ceiling {}: use 0 to 1,048,576", o.ceiling);
  for (auto k = o.presample.begin(); k != o.presample.end(); ++k) {
    if (*k < 1 || *k > 1u << 16) fail(errc::usage, "--presample {}: use 1 to 65,536 epochs", *k);
    if (std::count(o.presample.begin(), k, *k)) fail(errc::usage, "--presample: {} stands twice; use each number of epochs once", *k);
  }
  if (o.row_bytes < 1) fail(errc::usage, "--feature-bytes 0: use 1 or more");
  o.deeper = !a.no_deeper, o.gathers = !a.no_gathers;
  o.train = a.training.train;
  o.training = [&](graph_handle const& g) { return cli::training_set(g, a.training.train, a.seed); };
  a.begin(o.where);
  cli::say("device {}, fanouts {}, training vertices {}, mini-batches of {}\n", to_string(o.where), a.training.fanout, a.training.train,
           a.training.batch);
  tell("{:<12} {:<16} {:>8} {:>8} {:>8} {:>8} {:>10} {:>10}\n", "graph", "score", "1 %", "5 %", "10 %", "25 %", "of oracle", "ms");
  a.write(to_json(measure_tiering(o, [](tiering_run const& r, tiering_graph const& g) {
    tier_trace const& t = g.traces.front();
    for (tier_curve const& c : t.curves) {
      cli::say("{:<12} {:<16}", g.name, c.score);
      for (double const share : {0.01, 0.05, 0.1, 0.25}) cli::say(" {:>6.2f} %", 100 * c.hits[r.at(share)]);
      cli::say(" {:>8.2f} %", 100 * r.of_oracle(t, c));
      std::optional<double> ms;
      if (c.score == "oracle") ms = t.ms;
      for (score_cost const& s : g.scores)
        if (s.score == c.score) ms = s.ms;
      cli::say(" {:>10}\n", ms ? fmt::format("{:.1f}", *ms) : "-");
    }
    say_gathers(r, g);
    cli::flush_out();
  })));
}

}  // namespace

void add_tiering(cli::program& p) {
  auto const a = std::make_shared<tiering_arguments>();
  cli::verb& v = p.add("tiering", "which score caches what a training reads");
  a->add(v);
  a->add_graphs(v, "some of kron,uniform,web; or none (default: kron,web)");
  a->training.add_training(v, false);
  v.add("--presample", a->o.presample,
        "epochs that the score sampled counts in advance; the figures show the first, the tables all (at the depths of 4.10: one epoch)");
  v.add("--epochs", a->o.epochs, "the training set so many times");
  v.add("--feature-bytes", a->o.row_bytes);
  v.add("--ceiling", a->o.ceiling);
  v.add("--deeper-epochs", a->o.deeper_epochs);
  v.add("--no-gathers", a->no_gathers);
  v.add("--no-deeper", a->no_deeper);
  v.ends_with("Example: garner-lab tiering --scale 20 --fanout 12,12,12 --train 1% --out tiering.json");
  v.runs([a] { measure(*a); });
}

}  // namespace garner::lab
