// garner score: which rows a training will read most, predicted from the graph.
#include <memory>
#include <nlohmann/json.hpp>

#include "command/common.hpp"
#include "command/sample_options.hpp"
#include "graph/handle.hpp"
#include "sample/score.hpp"
#include "traverse/results.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using json = nlohmann::ordered_json;
using cli::grouped;

struct score_arguments : cli::sample_arguments {
  std::string by = "expected", out;
  double damping = 0.85, tolerance = 1e-6;
};

void score_file(score_arguments& a) {
  score_options o;
  o.by = parse_score(a.by);
  o.device = a.where();
  o.damping = a.damping;
  o.tolerance = a.tolerance;
  o.sampling = a.sampling();
  o.presample = a.presample;
  if (!a.out.empty()) cli::check_outputs(a.file, {{"--out", a.out}});
  a.budgets.apply(o.device);
  graph_source from(a.file);
  if (o.by == score_kind::sampled) from.want_in_lists();
  graph_info const info = from.info();
  bool const trains = needs_training(o.by), samples = needs_sampling(o.by), counts = o.by == score_kind::sampled;
  require_scorable(a.file, info, o);
  if (trains) cli::check_training(a.train);
  graph_handle const g = a.load(from, o.edges, counts, score_bytes(info, o, a.most_training(info.vertices)));
  if (trains) o.train = cli::training_set(g, a.train, a.seed);
  score_result const r = scores(g, o);
  if (!a.out.empty()) write_scores(g, {a.out, result_format_of(a.out)}, r.score);

  std::vector<std::uint64_t> order = rows_by_score(r.score);
  order.resize(std::min<std::size_t>(order.size(), 10));
  graph const& inside = graph_access::of(g);
  auto const user = [&](std::uint64_t rank) { return inside.user_id(inside.at_rank(rank)); };
  bool const simulated = o.device.kind == device_kind::simulated;
  if (a.json) {
    json all{{"file", a.file},
             {"nodes", info.vertices},
             {"edges", info.edges},
             {"in_edges_built_ms", from.makes_in_lists() ? json(from.making_ms()) : json(nullptr)},
             {"device", to_string(o.device)},
             {"access", a.access()},
             {"tier", to_string(*o.edges)},
             {"by", to_string(o.by)},
             {"training_nodes", trains ? json(o.train.size()) : json(nullptr)},
             {"fanouts", samples ? json(o.sampling.fanouts) : json(nullptr)},
             {"batch", samples ? json(o.sampling.batch) : json(nullptr)},
             {"presample", counts ? json(o.presample) : json(nullptr)},
             {"iterations", r.iterations},
             {"converged", r.converged},
             {"ms", r.ms},
             {"bytes_link", simulated ? json(r.link.bytes_link()) : json(nullptr)},
             {"top", json::array()}};
    for (std::uint64_t const k : order) all["top"].push_back({{"node", user(k)}, {"score", r.score[k]}});
    cli::say("{}\n", all.dump(2));
    return;
  }
  cli::say("{}: {}\n", a.file, cli::describe(info));
  if (from.makes()) cli::say_made(from.makes(), from.making_ms());
  for (std::uint64_t const k : order) cli::say("{:>14} {:.6g}\n", user(k), r.score[k]);
  cli::say("{}, {} iterations{}, {:.3f} ms{}\n", to_string(o.by), r.iterations, r.converged ? "" : " (the tolerance was not reached)", r.ms,
           simulated ? " (of the simulation)" : "");
  if (trains) cli::say("{} training nodes\n", grouped(o.train.size()));
  if (simulated) cli::say("over the link {} bytes in {} requests\n", grouped(r.link.bytes_link()), grouped(r.link.request_count()));
  if (!a.out.empty()) cli::say("{}: the score of every node\n", a.out);
}

}  // namespace

void add_score(cli::program& p) {
  auto const a = std::make_shared<score_arguments>();
  cli::verb& v = p.add("score", "predicted access frequency of each feature row in a training");
  a->add_file(v);
  v.add("--by", a->by,
        "degree: out-edges; rpr: reverse PageRank; wrpr: weighted by the training set, five iterations; expected: accesses per "
        "epoch, from fanouts and training set; sampled: the same, corrected by epochs that are sampled in advance")
      .among(cli::values_of("--score").users);
  a->add_training(v);
  a->add_presample(v, "of sampled");
  v.add("--damping", a->damping, "of rpr and wrpr");
  v.add("--tolerance", a->tolerance, "rpr stops at this L1 change per iteration");
  a->add_place(v);
  v.add("-o,--out", a->out, "file to write: one line per node with its score; .tsv, .npy, or text");
  a->add_rest(v);
  v.ends_with("Example: garner score kron20.gnr --by expected --train 1% --fanout 12,12,12 -o scores.npy");
  v.runs([a] { score_file(*a); });
}

}  // namespace garner
