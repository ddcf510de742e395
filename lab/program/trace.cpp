// garner-lab trace: which rows of a feature table a training reads, recorded by sampling it.
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command/common.hpp"
#include "cli/command/sample_options.hpp"
#include "core/fail.hpp"
#include "sample/neighbor.hpp"
#include "sample/trace.hpp"
#include "traverse/results.hpp"
#include "verbs.hpp"

namespace garner::lab {

namespace {

using json = nlohmann::ordered_json;
using cli::grouped;

struct trace_arguments : cli::sample_arguments {
  std::string out;
  std::uint64_t epochs = 1;
  bool rows = false;
};

void trace_file(trace_arguments& a) {
  trace_options o;
  o.device = a.where();
  o.sampling = a.sampling();
  o.epochs = a.epochs;
  o.keep_rows = a.rows;
  result_format const format = result_format_of(a.out);
  if (a.rows && a.out.empty()) fail(errc::usage, "--keep-features: keeps feature rows in a trace; add -o FILE.gtr");
  if (a.rows && format != result_format::text)
    fail(errc::usage, "{}: holds how often each row was read and nothing else; for --keep-features let the name end in .gtr", a.out);
  if (!a.out.empty()) cli::check_outputs(a.file, {{"--out", a.out}});
  a.budgets.apply(o.device);
  graph_source from(a.file);
  from.want_in_lists();
  graph_info const info = from.info();
  require_recordable(a.file, info, o);
  cli::check_training(a.train);
  graph_handle const g =
      a.load(from, o.edges, true, info.vertices * 4 + sampling_bytes(info, o.device, o.sampling, a.most_training(info.vertices)));
  o.train = cli::training_set(g, a.train, a.seed);
  access_trace const t = record_trace(g, o);
  if (!a.out.empty()) {
    if (format == result_format::text) save_trace(t, a.out);
    else write_counts(g, {a.out, format}, t.counts);
  }
  std::uint64_t read = 0;
  for (std::uint32_t const c : t.counts) read += c != 0;
  bool const simulated = o.device.kind == device_kind::simulated;
  if (a.json) {
    json const all{{"file", a.file},
                   {"nodes", info.vertices},
                   {"edges", info.edges},
                   {"in_edges_built_ms", from.makes_in_lists() ? json(from.making_ms()) : json(nullptr)},
                   {"device", to_string(o.device)},
                   {"tier", to_string(*o.edges)},
                   {"fanouts", t.sampling.fanouts},
                   {"rule", to_string(t.sampling.rule)},
                   {"batch", t.sampling.batch},
                   {"seed", t.sampling.seed},
                   {"training_nodes", t.train},
                   {"epochs", t.epochs},
                   {"batches", t.batches},
                   {"accesses", t.accesses},
                   {"rows_read", read},
                   {"edges_sampled", t.sampled},
                   {"ms", t.ms},
                   {"bytes_link", simulated ? json(t.link.bytes_link()) : json(nullptr)}};
    cli::say("{}\n", all.dump(2));
    return;
  }
  cli::say("{}: {}\n", a.file, cli::describe(info));
  if (from.makes_in_lists())
    cli::say("in-edges: not in the file; built in {:.1f} ms (garner convert --in-edges stores them)\n", from.making_ms());
  cli::say("{} mini-batches, {} training nodes, {} epoch{}\n", grouped(t.batches), grouped(t.train), grouped(t.epochs),
           t.epochs == 1 ? "" : "s");
  cli::say("{} accesses, {} per mini-batch; {} of {} feature rows are read; {} edges sampled\n", grouped(t.accesses),
           grouped(t.batches ? t.accesses / t.batches : 0), grouped(read), grouped(t.vertices), grouped(t.sampled));
  cli::say("time {:.3f} ms{}\n", t.ms, simulated ? " (of the simulation)" : "");
  if (simulated) cli::say("over the link {} bytes in {} requests\n", grouped(t.link.bytes_link()), grouped(t.link.request_count()));
  if (!a.out.empty()) cli::say("{}: {}\n", a.out, a.rows ? "the feature rows of every mini-batch" : "how often each feature row was read");
}

}  // namespace

void add_trace(cli::program& p) {
  auto const a = std::make_shared<trace_arguments>();
  cli::verb& v = p.add("trace", "access trace of a training: which feature rows neighbor sampling reads");
  a->add_file(v);
  a->add_training(v);
  v.add("--epochs", a->epochs);
  a->add_place(v);
  v.add("-o,--out", a->out, "file to write: a trace (.gtr), or how often each feature row was read (.npy, .tsv)");
  v.add("--keep-features", a->rows);
  a->add_rest(v);
  v.ends_with("Example: garner-lab trace kron20.gnr --train 1% --fanout 12,12,12 --epochs 1 -o kron20.gtr");
  v.runs([a] { trace_file(*a); });
}

}  // namespace garner::lab
