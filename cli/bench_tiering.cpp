#include "bench_tiering.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "common.hpp"
#include "core/fail.hpp"
#include "core/publish.hpp"

namespace garner::cli {

void tiering_arguments::add(verb& v) {
  training.add_training(v, false);
  v.add("--presample", presample,
        "tiering: epochs that the score sampled counts in advance; the figures show the first, the tables all (at the depths of "
        "4.10: one epoch)");
  v.add("--epochs", epochs,
        "of tiering: the training set so many times (default: 1); train: of a setting, the first to get warm (default: 3)");
  v.add("--feature-bytes", row_bytes);
  v.add("--ceiling", ceiling);
  v.add("--deeper-epochs", deeper_epochs);
  v.add("--no-gathers", no_gathers);
  v.add("--no-deeper", no_deeper);
}

namespace {
// One line per score: ms, or bytes if nothing is timed, for each share that is cached.
void say_gathers(lab::tiering_run const& r, lab::tiering_graph const& g) {
  lab::tier_trace const& t = g.traces.front();
  if (!t.no_gathers.empty()) return say("{:<12} no gathers: {}\n", g.name, with_flags(t.no_gathers));
  bool told = false;
  for (lab::tier_curve const& c : t.curves) {
    if (c.gathers.empty()) continue;
    bool const timed = c.gathers.front().ms.has_value();
    if (!std::exchange(told, true)) {
      say("{:<12} {}, mean of {} mini-batches, rows of {} B; kept", g.name, timed ? "ms a gather" : "MB over the link a gather", t.gathered,
          r.row_bytes);
      for (lab::tier_gather const& m : c.gathers) say(" {:.0f} %", 100 * m.kept);
      say("{}\n", r.place == "cpu" ? " (on the CPU all rows are local)" : "");
    }
    say("{:<12} {:<16}", g.name, c.score);
    for (lab::tier_gather const& m : c.gathers) say(" {:>8.3f}", m.ms ? *m.ms : m.link_bytes / 1e6);
    say("\n");
    if (r.place == "cpu") return;
  }
}
}  // namespace

void tiering_arguments::measure(lab::tiering_options o, std::uint64_t seed, std::string const& out) const {
  o.sampling = training.sampling();
  o.sampling.seed = seed;
  if (deeper_epochs < 1 || deeper_epochs > 1u << 20) fail(errc::usage, "--deeper-epochs {}: use 1 to 1,048,576", deeper_epochs);
  if (epochs.value_or(1) < 1 || epochs.value_or(1) > 1u << 20) fail(errc::usage, "--epochs {}: use 1 to 1,048,576", *epochs);
  if (ceiling > 1u << 20) fail(errc::usage, "--ceiling {}: use 0 to 1,048,576", ceiling);
  for (std::size_t i = 0; i < presample.size(); ++i) {
    std::uint64_t const k = presample[i];
    if (k < 1 || k > 1u << 16) fail(errc::usage, "--presample {}: use 1 to 65,536 epochs", k);
    if (std::count(presample.begin(), presample.begin() + static_cast<std::ptrdiff_t>(i), k))
      fail(errc::usage, "--presample: {} stands twice; use each number of epochs once", k);
  }
  if (row_bytes < 1) fail(errc::usage, "--feature-bytes 0: use 1 or more");
  o.epochs = epochs.value_or(1);
  o.deeper_epochs = deeper_epochs;
  o.row_bytes = row_bytes;
  o.deeper = !no_deeper;
  o.gathers = !no_gathers;
  o.ceiling = ceiling;
  o.presample = presample;
  o.train = training.train;
  o.training = [&](graph_handle const& g) { return training_set(g, training.train, seed); };
  say("device {}, fanouts {}, training vertices {}, mini-batches of {}\n", to_string(o.where), training.fanout, training.train,
      training.batch);
  say("{:<12} {:<16} {:>8} {:>8} {:>8} {:>8} {:>10} {:>10}\n", "graph", "score", "1 %", "5 %", "10 %", "25 %", "of oracle", "ms");
  flush_out();
  lab::tiering_run const run = lab::measure_tiering(o, [](lab::tiering_run const& r, lab::tiering_graph const& g) {
    lab::tier_trace const& t = g.traces.front();
    for (lab::tier_curve const& c : t.curves) {
      say("{:<12} {:<16}", g.name, c.score);
      for (double const share : {0.01, 0.05, 0.1, 0.25}) say(" {:>6.2f} %", 100 * c.hits[r.at(share)]);
      say(" {:>8.2f} %", 100 * r.of_oracle(t, c));
      std::optional<double> ms;
      if (c.score == "oracle") ms = t.ms;
      for (lab::score_cost const& s : g.scores)
        if (s.score == c.score) ms = s.ms;
      say(" {:>10}\n", ms ? fmt::format("{:.1f}", *ms) : "-");
    }
    say_gathers(r, g);
    flush_out();
  });
  pending_file file(out);
  file.write(lab::to_json(run));
  file.commit();
  say("{}: written; garner report {} draws it\n", out, out);
}

}  // namespace garner::cli
