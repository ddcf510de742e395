// garner-lab traversal: access patterns, and every algorithm with every strategy on three kinds of graph.
#include <memory>

#include "bench.hpp"
#include "lab/traversal.hpp"
#include "memory/budget.hpp"
#include "verbs.hpp"

namespace garner::lab {

namespace {

using cli::grouped;

struct traversal_arguments : bench_arguments {
  std::string protocol = "short", pattern_bytes = "256MiB";
  std::optional<std::uint64_t> sources, trials, iterations;
  traversal_options o;
};

void say_pattern(pattern_row const& p) {
  if (!p.skipped.empty()) return cli::say("read {:<11} -  {}\n", p.pattern, cli::with_flags(p.skipped));
  cli::say("read {:<11} {:>9}", p.pattern, p.gbs ? fmt::format("{:.2f} GB/s", *p.gbs) : "simulated");
  if (p.link && !p.link->pages)
    cli::say("  requests of 32 B {}, 64 B {}, 96 B {}, 128 B {}", grouped(p.link->requests[0]), grouped(p.link->requests[1]),
             grouped(p.link->requests[2]), grouped(p.link->requests[3]));
  tell("\n");
}

void say_job(job_row const& j) {
  std::string const head = fmt::format("{:<10} {:<11} {:<16} {} B", j.graph, j.job, j.label, j.id_bytes);
  tell_row(
      head, j.skipped,
      fmt::format("{:>12} {:>7}{}", j.ms_statistic ? fmt::format("{:.3f} ms", *j.ms_statistic) : "simulated",
                  j.link ? fmt::format("{:.3f}", j.link->amplification(j.data_bytes) / j.runs()) : "-", j.verified ? "  verified" : ""));
}

void measure(traversal_arguments& a) {
  traversal_options& o = a.o;
  a.set_graphs(o);
  o.seed = a.seed;
  if (a.protocol != "paper" && a.protocol != "short") fail(errc::usage, "--protocol {}: use paper or short", a.protocol);
  o.paper_protocol = a.protocol == "paper";
  o.sources = a.sources.value_or(o.paper_protocol ? 64 : 8);
  o.trials = a.trials.value_or(o.paper_protocol ? 5 : 3);
  o.iterations = a.iterations.value_or(o.paper_protocol ? 20 : 5);
  o.pattern_bytes = parse_bytes(a.pattern_bytes);
  if (o.pattern_bytes < 65536) fail(errc::usage, "--pattern-bytes {}: use 64KiB or more", a.pattern_bytes);
  a.begin(o.where);
  tell("device {}, {} protocol: {} of {} sources; edges in host memory{}, each run verified\n", to_string(o.where), a.protocol,
       o.paper_protocol ? "mean" : "median", o.sources, o.where.kind == device_kind::cuda ? " (\"near\": in the device's)" : "");
  a.write(to_json(measure_traversal(o, say_pattern, say_job)));
}

}  // namespace

void add_traversal(cli::program& p) {
  auto const a = std::make_shared<traversal_arguments>();
  cli::verb& v = p.add("traversal", "access patterns, and every algorithm with every strategy on three kinds of graph");
  a->add(v);
  a->add_graphs(v);
  v.add("--algorithms", a->o.jobs);
  v.add("--strategies", a->o.strategies);
  v.add("--protocol", a->protocol);
  v.add("--sources", a->sources, "sources of bfs and sssp, the same for all strategies (default: by --protocol)");
  v.add("--trials", a->trials, "runs of components and pagerank (default: paper 5, short 3)");
  v.add("--iterations", a->iterations, "number of pagerank iterations (default: paper 20, short 5)");
  v.add("--strategy-seconds", a->o.way_seconds);
  v.add("--link", a->o.links);
  v.add("--pattern-bytes", a->pattern_bytes);
  v.ends_with("Example: garner-lab traversal --scale 26 --protocol paper --out run.json");
  v.runs([a] { measure(*a); });
}

}  // namespace garner::lab
