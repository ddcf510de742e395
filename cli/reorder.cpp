// garner reorder: the vertices of a graph file in another order, with the user's ids kept.
#include <chrono>
#include <memory>

#include "command/common.hpp"
#include "command/sample_options.hpp"
#include "garner/convert.hpp"
#include "graph/handle.hpp"
#include "graph/relabel.hpp"
#include "graph/reorder.hpp"
#include "graph/source.hpp"
#include "pack_options.hpp"
#include "sample/score.hpp"
#include "sample/table.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

struct reorder_arguments {
  std::string in, out, by = "degree", score, table, table_out, map, place = "cpu";
  cli::sample_arguments training;
  bool no_check = false;
  reorder_options how;
  cli::budget_arguments budgets;
  cli::pack_arguments pack;
};

// By ascending id.
score_options scored_how(reorder_arguments const& a, execution_device where) {
  score_options o;
  o.by = parse_score(a.score);
  o.device = where;
  o.sampling = a.training.sampling();
  o.presample = a.training.presample;
  return o;
}
std::vector<float> scores_of(reorder_arguments const& a, graph& g, execution_device where) {
  score_options o = scored_how(a, where);
  graph_handle home = graph_access::wrap(std::move(g));
  if (needs_training(o.by)) o.train = cli::training_set(home, a.training.train, a.how.seed);
  score_result const r = scores(home, o);
  g = graph_access::take(std::move(home));
  return r.score;
}

void reorder_file(reorder_arguments& a) {
  auto const start = std::chrono::steady_clock::now();
  a.how.by = parse_order(a.by);
  if (format_of(a.out) != file_format::gnr) cli::fail(errc::usage, "{}: only a graph file keeps an order; let the name end in .gnr", a.out);
  a.pack.require_container(a.out, true);
  execution_device const where = parse_device(a.place);
  bool const on_device = where.kind == device_kind::cuda;
  if (a.how.by == vertex_order::bfs && where.kind != device_kind::cpu)
    cli::fail(errc::usage, "--by bfs: runs on the CPU; use --device cpu");
  a.budgets.apply(where);
  bool const scored = a.how.by == vertex_order::score;
  if (!scored && !a.score.empty()) cli::fail(errc::usage, "--score {}: goes with --by score", a.score);
  if (scored && a.score.empty()) a.score = "expected";
  if (!a.table_out.empty() && a.table.empty()) cli::fail(errc::usage, "--features-out {}: add --features", a.table_out);
  std::string const table_out = a.table_out.empty() ? a.table : a.table_out;
  cli::check_outputs(a.in, {{"OUT", a.out}, {"--features-out", table_out}, {"--map", a.map}});
  if (!a.map.empty() && !a.map.ends_with(".npy"))
    cli::fail(errc::usage, "--map {}: an array of NumPy is written; let the name end in .npy", a.map);
  if (std::error_code unknown; std::filesystem::equivalent(a.map, a.table, unknown))
    cli::fail(errc::usage, "--map {}: is the table of --features, which is read after it; give it a name of its own", a.map);
  graph_source from(a.in, a.how.by == vertex_order::natural);  // which keeps a dataset's lists as stored: the dataset may read the file
  cli::say("{}: {}\n", a.in, cli::describe(from.info()));
  // Built for sampling only; the written file has in-edges only if the input has.
  bool const lends = scored && a.score == to_string(score_kind::sampled) && from.info().directed && !from.info().in_edges;
  if (lends) from.want_in_lists();
  graph_info const info = from.info();
  if (!a.table.empty()) {
    // The features may already be in the order of the first reorder: the file does not record it, and a wrong guess scrambles them.
    if (info.order != vertex_order::natural)
      cli::fail(
          errc::usage,
          "--features {}: {} is in {} order already, and whether the rows of the table are too is not known; reorder the graph as it was "
          "converted (--by natural brings it back) with its table by ascending id",
          a.table, a.in, to_string(info.order));
    check_table(a.table, info.vertices, a.in);
  }
  std::vector<float> score;
  bool const given = scored && a.score.ends_with(".npy");
  if (given) {
    score = read_scores(a.score);
  } else if (scored) {
    score_options const o = scored_how(a, where);
    require_scorable(a.in, info, o);
    if (needs_training(o.by)) cli::check_training(a.training.train);
  }
  std::uint64_t const bytes = reorder_bytes(info) + from.making_bytes(on_device);
  cli::say("memory: about {} of host memory\n", cli::format_bytes(bytes));
  cli::flush_out();
  cli::require_memory(a.in, bytes, on_device ? relabel_near_bytes(info) : 0, where);
  load_options how;
  how.device = on_device ? where.index : -1;
  how.in_edges = info.in_edges;
  how.weights = info.weights != weight_kind::none;
  how.check = !a.no_check;
  graph g = from.load(how);
  if (scored && !given) score = scores_of(a, g, where);
  if (!lends && from.makes()) cli::say_made(from.makes(), from.making_ms());
  if (lends) {
    cli::say("in-edges: not in the file; built in {:.1f} ms for the samples (garner convert --in-edges stores them)\n", from.making_ms());
    g.in = {};
    g.info.in_edges = false;
  }
  a.how.scores = score;
  g = reorder(std::move(g), a.how, where);
  graph_handle handle = graph_access::wrap(std::move(g));
  if (on_device) handle = to_device(std::move(handle), {});
  a.pack.tell(pack_graph(handle, a.pack.options()), handle.info(), true);
  g = graph_access::take(std::move(handle));
  save_graph(g, a.out);
  if (!a.map.empty()) {
    write_map(g, a.map);
    cli::say("{}: the order of the vertices\n", a.map);
  }
  if (!a.table.empty()) {
    permute_rows(g, a.table, table_out);
    cli::say("{}: the features in the new order\n", table_out);
  }
  cli::say("{}: {}; {:.2f} s\n", a.out, cli::describe(g.info),
           std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace

void add_reorder(cli::program& p) {
  auto const a = std::make_shared<reorder_arguments>();
  cli::verb& v = p.add("reorder", "reorder the vertices of a graph file; the user's ids stay");
  v.add("FILE", a->in).required();
  v.add("OUT", a->out, "graph file to write (.gnr)").required();
  v.add("--by", a->by,
        "degree: most out-edges first; bfs: breadth first from the highest degree; random; score: highest first; natural: by "
        "the user's ids")
      .among("degree bfs random score natural");
  v.add("--score", a->score);
  a->training.add_training(v, false);
  a->training.add_presample(v, "of --score sampled");
  v.add("--seed", a->how.seed, "random seed of --by random and of a random training set");
  v.add("--features", a->table, "feature table (.npy, one row per node by ascending id), reordered with the vertices");
  v.add("--features-out", a->table_out);
  v.add("--map", a->map);
  v.add("--device", a->place, "device that computes scores and sorts edges: cpu, cuda or cuda:N").among("cpu cuda");
  v.add("--no-check", a->no_check);
  a->pack.add(v);
  a->budgets.add(v, true);
  v.ends_with("Example: garner reorder kron20.gnr kron20-degree.gnr --by degree");
  v.runs([a] { reorder_file(*a); });
}

}  // namespace garner
