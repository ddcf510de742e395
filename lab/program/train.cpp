// garner-lab train: whole trainings.
#include <memory>

#include "bench.hpp"
#include "lab/train.hpp"
#include "verbs.hpp"

namespace garner::lab {

namespace {

using cli::grouped;

struct train_arguments : bench_arguments {
  train_bench_options o;
};

void say_training(train_file const& f, train_row const& r) {
  if (f.rows.size() == 1)
    cli::say("{:<10} {:<9} {:<7} {:<10} {:>5} {:>7} {:<9} {:>4} {:>10} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8}\n", "graph", "figure", "lists",
             "way", "width", "kept", "by", "dev.", "ms", "sample", "fetch", "gather", "model", "MB far", "loss");
  std::string const head = fmt::format("{:<10} {:<9} {:<7} {:<10} {:>5} {:>5.0f} % {:<9} {:>4}", r.graph, r.figure, r.lists, r.strategy,
                                       r.width, 100 * r.kept, r.score.empty() ? "-" : r.score, r.devices);
  auto const ms = [](std::optional<double> t) { return or_dash(t, "{:.2f}"); };
  tell_row(head, r.skipped,
           fmt::format("{:>10} {:>9} {:>9} {:>9} {:>9} {:>8.2f} {:>8.4f}", ms(r.times.ms), ms(r.times.sample_ms), ms(r.times.fetch_ms),
                       ms(r.times.gather_ms), ms(r.times.model_ms), r.rows.remote_bytes / 1e6, r.loss));
}

void say_trainable(train_file const& f, trainable_row const& r) {
  if (f.trainable.size() == 1)
    cli::say("{:<9} {:>12} {:>6} {:>9} {:>7} {:>10} {:>10} {:>10} {:>8}\n", "learned", "of rows", "width", "a step", "kept", "gather ms",
             "update ms", "MB far", "of floor");
  std::string const head =
      fmt::format("{:<9} {:>12} {:>6} {:>9} {:>5.0f} %", r.optimizer, grouped(r.rows), r.width, grouped(r.step_rows), 100 * r.kept);
  tell_row(head, r.skipped,
           fmt::format("{:>10} {:>10} {:>10.2f} {:>8}", or_dash(r.gather_ms), or_dash(r.update_ms), r.remote_bytes / 1e6,
                       r.of_floor() ? fmt::format("{:.0f} %", 100 * *r.of_floor()) : "-"));
}

void measure(train_arguments& a) {
  train_bench_options& o = a.o;
  a.set_graphs(o), a.set_training(o);
  if (a.row_bytes < 4 || a.row_bytes % 4) fail(errc::usage, "--feature-bytes {}: rows of floats; use a multiple of 4", a.row_bytes);
  o.width = a.row_bytes / 4, o.communities.seed = a.seed;
  a.begin(o.where);
  tell("device {}, GraphSAGE, fanouts {}, mini-batches of {}, {} hidden, {} classes; what is learned is compared; ms per epoch\n",
       to_string(o.where), a.training.fanout, o.batch, o.hidden, o.classes);
  train_told told;
  told.row = say_training;
  told.trainable = say_trainable;
  told.epoch = [](train_course const& c, train_epoch const& e) {
    auto const share = [](std::optional<double> x) { return x ? fmt::format("{:.2f} %", 100 * *x) : std::string("-"); };
    tell("{}: epoch {}, loss {:.4f}, validation {}, test {}\n", c.name, e.epoch, e.loss, share(e.validation_accuracy),
         share(e.test_accuracy));
  };
  a.write(to_json(measure_trainings(o, told)));
}

}  // namespace

void add_train(cli::program& p) {
  auto const a = std::make_shared<train_arguments>();
  cli::verb& v = p.add("train", "whole trainings");
  a->add(v, "ways,widths,placement,learning,trainable");
  a->add_graphs(v, "some of kron,uniform,web; or none (default: kron)");
  a->add_training(v, "mini-batches per epoch, at most (default: 64)");
  v.add("--epochs", a->o.epochs, "of a setting, the first to get warm");
  v.add("--feature-bytes", a->row_bytes);
  v.add("--score", a->score, "which features are cached: degree, rpr, wrpr, expected, sampled");
  v.add("--peers", a->peers);
  v.add("--hidden", a->o.hidden);
  v.add("--classes", a->o.classes, "number of classes").in(cli::option_group::basic);
  v.add("--widths", a->o.widths);
  v.add("--step-rows", a->o.step_rows);
  v.ends_with("Example: garner-lab train --scale 24 --fanout 15,10,5 --batch 1024 --share 1% --out train.json");
  v.runs([a] { measure(*a); });
}

}  // namespace garner::lab
