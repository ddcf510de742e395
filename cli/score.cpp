// garner score: which rows a training will read most, predicted from the graph.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "common.hpp"
#include "core/fail.hpp"
#include "graph/container.hpp"
#include "graph/graph.hpp"
#include "sample/score.hpp"
#include "sample_options.hpp"
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
  o.where = a.where();
  o.access = a.how();
  o.edges = a.edges();
  o.damping = a.damping;
  o.tolerance = a.tolerance;
  o.sampling = a.sampling();
  o.presample = a.presample;
  if (!a.out.empty()) cli::check_outputs(a.file, {{"--out", a.out}});
  graph_info const info = read_header(a.file).info;
  bool const trains = needs_training(o.by), samples = needs_sampling(o.by), counts = o.by == score_kind::sampled;
  require_scorable(a.file, info, o);
  if (trains) cli::check_training(a.train);
  graph_handle const g = a.load(counts, score_bytes(info, o, a.most_training(info.vertices)));
  if (trains) o.train = cli::training_set(g, a.train, a.seed);
  score_result const r = scores(g, o);
  if (!a.out.empty()) write_scores(g.inside(), {a.out, result_format_of(a.out)}, r.score);

  std::vector<std::uint64_t> order = rows_by_score(r.score);
  order.resize(std::min<std::size_t>(order.size(), 10));
  graph const& inside = g.inside();
  auto const user = [&](std::uint64_t rank) { return inside.user_id(inside.at_rank(rank)); };
  bool const traced = o.where.kind == place_kind::traced;
  if (a.json) {
    json all{{"file", a.file},
             {"vertices", info.vertices},
             {"edges", info.edges},
             {"place", to_string(o.where)},
             {"access", to_string(o.access)},
             {"tier", to_string(*o.edges)},
             {"by", to_string(o.by)},
             {"training_vertices", trains ? json(o.train.size()) : json(nullptr)},
             {"fanouts", samples ? json(o.sampling.fanouts) : json(nullptr)},
             {"batch", samples ? json(o.sampling.batch) : json(nullptr)},
             {"presample", counts ? json(o.presample) : json(nullptr)},
             {"iterations", r.iterations},
             {"converged", r.converged},
             {"ms", r.ms},
             {"bytes_link", traced ? json(r.link.bytes_link()) : json(nullptr)},
             {"top", json::array()}};
    for (std::uint64_t const k : order) all["top"].push_back({{"vertex", user(k)}, {"score", r.score[k]}});
    cli::say("{}\n", all.dump(2));
    return;
  }
  cli::say("{}: {}\n", a.file, cli::describe(info));
  for (std::uint64_t const k : order) cli::say("{:>14} {:.6g}\n", user(k), r.score[k]);
  cli::say("{}, {} iterations{}, {:.3f} ms{}\n", to_string(o.by), r.iterations, r.converged ? "" : " (the tolerance was not reached)", r.ms,
           traced ? " (of the simulation)" : "");
  if (trains) cli::say("{} training vertices\n", grouped(o.train.size()));
  if (traced) cli::say("over the link {} bytes in {} requests\n", grouped(r.link.bytes_link()), grouped(r.link.request_count()));
  if (!a.out.empty()) cli::say("{}: the score of every vertex\n", a.out);
}

}  // namespace

void add_score(CLI::App& app) {
  auto const a = std::make_shared<score_arguments>();
  CLI::App* const verb = app.add_subcommand("score", "which rows of a feature table a training will read most, predicted");
  a->add_file(*verb);
  verb->add_option("--by", a->by,
                   "degree: out-edges; rpr: reverse PageRank; wrpr: weighted by the training set, five iterations; expected: accesses an "
                   "epoch, from fanouts and training set; sampled: the same, corrected by epochs that are sampled beforehand")
      ->capture_default_str()
      ->type_name("SCORE");
  a->add_training(*verb);
  a->add_presample(*verb, "of sampled");
  verb->add_option("--damping", a->damping, "of rpr and wrpr")->capture_default_str()->type_name("D");
  verb->add_option("--tolerance", a->tolerance, "rpr stops at this L1 change of an iteration")->capture_default_str()->type_name("T");
  a->add_place(*verb);
  verb->add_option("-o,--out", a->out, "file to write: vertex score a line; .tsv, .npy, or text")->type_name("FILE");
  a->add_rest(*verb);
  verb->footer("Example: garner score kron20.gnr --by expected --train 1% --fanout 12,12,12 -o scores.npy");
  verb->callback([a] { score_file(*a); });
}

}  // namespace garner
