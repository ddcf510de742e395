// garner pagerank: the ranks of all vertices, by power iteration or as the paper does it, at a place, over edges in a tier.
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "command/job_options.hpp"
#include "traverse/pagerank.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using cli::grouped, cli::job_ground;
using json = cli::ordered_json;

struct pagerank_arguments : cli::job_arguments {
  std::string variant = "pull", dangling, personal, by_degree;
  bool rounds = false;
  pagerank_asked how;
};

// "ID" or "ID WEIGHT" a line; blank lines and what follows a # are passed over.
std::vector<std::pair<std::uint64_t, double>> read_personal(std::string const& name) {
  std::ifstream in(name);
  auto const unreadable = [&] {
    cli::fail(errc::io, "{}: cannot be read: {}; name a file with a vertex id and perhaps a weight a line", name, std::strerror(errno));
  };
  if (!in) unreadable();
  std::vector<std::pair<std::uint64_t, double>> all;
  std::string text;
  for (std::uint64_t line = 1; std::getline(in, text); ++line) {
    std::istringstream words(text.substr(0, text.find('#')));
    std::string id_word, weight_word, more;
    if (!(words >> id_word)) continue;
    bool right = cli::not_a_count(id_word, ~std::uint64_t{0}).empty();
    std::uint64_t id = 0;
    double weight = 1;
    if (right) {
      errno = 0;
      id = std::strtoull(id_word.c_str(), nullptr, 10);
      right = errno == 0;
    }
    if (right && words >> weight_word) {
      char* end = nullptr;
      weight = std::strtod(weight_word.c_str(), &end);
      right = *end == 0 && weight >= 0 && weight < 1e300 && !(words >> more);
    }
    if (!right)
      cli::fail(errc::input, "{}: line {}: {} is not valid; write one vertex id per line, with an optional weight of at least 0", name,
                line, cli::shown(text));
    all.emplace_back(id, weight);
  }
  if (in.bad()) unreadable();
  if (all.empty()) cli::fail(errc::input, "{}: names no vertex; use a vertex id and perhaps a weight a line", name);
  return all;
}

json to_json(pagerank_run const& r, std::vector<ranked_vertex> const& top, bool pulls, double ms_per_iteration, json all,
             job_ground const& at) {
  json rounds = json::array(), highest = json::array();
  for (pagerank_round const& i : r.rounds) {
    json round{{"vertices", i.vertices},
               {"edges", i.edges},
               {"l1_change", cli::or_null(pulls, i.l1_change)},
               {"bytes_link", cli::or_null(at.link.crosses, i.bytes_link)},
               {"ms", i.ms},
               {"bytes_exchanged", i.bytes_exchanged}};
    at.add_rate(round, i.bytes_link, i.ms);
    rounds.push_back(std::move(round));
  }
  for (ranked_vertex const& t : top) highest.push_back({{"vertex", t.id}, {"rank", t.rank}});
  at.add_tail(all, r.verified);
  all["iterations"] = r.iterations;
  all["converged"] = r.converged;
  all["rank_sum"] = r.rank_sum;
  all["l1_change"] = r.l1_change;
  all["edges_seen"] = r.edges;
  all["ms"] = r.ms;
  all["prepare_ms"] = r.prepare_ms;
  all["first_ms"] = r.prepare_ms + r.ms;
  all["ms_per_iteration"] = ms_per_iteration;
  at.add_traffic(all, r.link);
  at.add_file(all, r.file, r.ms);
  all["top"] = std::move(highest);
  all["rounds"] = std::move(rounds);
  all["shards"] = cli::json_of(r.shards);
  return all;
}

void say_rounds(pagerank_run const& r, bool pulls, job_ground const& at) {
  cli::say("{:>9} {:>14} {:>16} {:>12} {:>14} {:>10} {:>8}\n", "iteration", "vertices", "edges", "L1 change", "over the link", "ms",
           "GB/s");
  for (std::size_t k = 0; k < r.rounds.size(); ++k) {
    pagerank_round const& i = r.rounds[k];
    cli::say("{:>9} {:>14} {:>16} {:>12} {:>14} {:>10.3f} {:>8}\n", k + 1, grouped(i.vertices), grouped(i.edges),
             pulls ? fmt::format("{:.3e}", i.l1_change) : "-", at.link_bytes(i.bytes_link), i.ms, at.rate(i.bytes_link, i.ms));
  }
}

void rank_vertices(pagerank_arguments& a) {
  pagerank_asked& o = a.how;
  o.variant = parse_pagerank_variant(a.variant);
  bool const pulls = o.variant == pagerank_variant::pull;
  if (!pulls && !a.dangling.empty())
    cli::fail(errc::usage, "--dangling goes with --variant pull; the paper's variant drops what ends nowhere");
  if (!pulls && !a.personal.empty())
    cli::fail(errc::usage, "--personalization goes with --variant pull; the paper's variant starts everywhere");
  if (!a.by_degree.empty() && a.by_degree != "yes" && a.by_degree != "no")
    cli::fail(errc::usage, "--by-degree is '{}'; use no or yes", a.by_degree);
  if (!a.by_degree.empty()) o.by_degree = a.by_degree == "yes";
  if (!a.dangling.empty()) o.dangling = parse_dangling(a.dangling);
  if (!pulls) o.dangling = dangling_mass::drop;
  if (!(o.damping >= 0 && o.damping < 1)) cli::fail(errc::usage, "--damping {}: use a number from 0 to less than 1", o.damping);
  if (o.tolerance && !(*o.tolerance > 0 && *o.tolerance < 1e9))
    cli::fail(errc::usage, "--tolerance {}: use a positive number", *o.tolerance);
  if (o.iterations && *o.iterations == 0) cli::fail(errc::usage, "--iterations 0: use 1 or more");
  a.resolve(o);
  if (!a.personal.empty()) o.personalization = read_personal(a.personal);

  graph_source from(a.file);
  if (pulls) from.want_in_lists();
  graph_info const& info = from.info();
  pagerank_job::require_runnable(a.file, info, o);
  cli::job_needs needs;
  needs.in_edges = pulls && info.in_edges;
  needs.weights = o.weighted;
  job_ground const at = a.load(from, o, needs);
  if (!a.json) {
    at.say_head(fmt::format(", variant {}{}", to_string(o.variant),
                            o.weighted                          ? ", weighted"
                            : info.weights == weight_kind::none ? ""
                            : pulls                             ? "; weights are not used (--weighted)"
                                                                : "; weights are not used"));
    cli::say("\n");
    cli::flush_out();
  }

  pagerank_job job(at.g, o);
  if (!a.json) at.say_device_cache(job.setting().device_cache);
  pagerank_run const r = job.run();
  std::vector<float> const ranks = job.ranks();
  std::vector<ranked_vertex> const top = highest_ranks(at.g, ranks, 10);
  if (a.wants_result()) write_ranks(at.g, a.result(), ranks);
  double const ms_per_iteration = r.iterations ? r.ms / static_cast<double>(r.iterations) : 0;

  if (a.json) {
    json all = at.head();
    all["id_bytes"] = info.id_bytes;
    all["variant"] = to_string(o.variant);
    all["weighted"] = o.weighted;
    all["damping"] = o.damping;
    all["tolerance"] = o.tolerance.value_or(pulls ? 1e-4 : 1e-3);
    all["dangling"] = to_string(o.dangling);
    all["personal"] = o.personalization.size();
    at.add_device_cache(all, job.setting().device_cache);
    cli::say("{}\n", to_json(r, top, pulls, ms_per_iteration, std::move(all), at).dump(2));
    return;
  }
  if (a.rounds) say_rounds(r, pulls, at);
  for (ranked_vertex const& t : top) cli::say("{:>14} {:.6g}\n", t.id, t.rank);
  cli::say("{} iterations{}, ranks sum to {:.7g}, {} {:.3e}, {} edges looked at\n", r.iterations,
           r.converged || (pulls && o.iterations) ? "" : " (the tolerance was not reached)", r.rank_sum,
           pulls ? "last L1 change" : "residual left", r.l1_change, grouped(r.edges));
  cli::say("time {:.3f} ms, {:.3f} ms per iteration{}{}\n", r.ms, ms_per_iteration, at.of_what(), cli::prepared_in(r.prepare_ms));
  at.say_traffic(r.link);
  at.say_file(r.file, r.ms);
  at.say_shards(r.shards);
  if (r.verified) cli::say("verified\n");
  if (a.wants_result()) cli::say("{}: the rank of every vertex\n", a.out);
}

}  // namespace

void add_pagerank(cli::program& p) {
  auto const a = std::make_shared<pagerank_arguments>();
  cli::verb& v = p.add("pagerank", "PageRank over edges in or outside GPU memory");
  a->add_file(v);
  v.add("--variant", a->variant, "pull").among("pull", "emogi");
  v.add("--damping", a->how.damping);
  v.add("--tolerance", a->how.tolerance, "stop at this L1 change per iteration (default 1e-4)");
  v.add("--iterations", a->how.iterations);
  v.add("--dangling", a->dangling);
  v.add("--personalization", a->personal);
  v.add("--weighted", a->how.weighted, "follow edges in proportion to their weights (default: uniformly)");
  v.add("--by-degree", a->by_degree);
  a->add_place(v);
  a->add_shards(v);
  a->add_l2(v);
  a->add_verify(v, "check the result with an independent step");
  a->add_out(v, "file to write: one line per vertex with its rank");
  v.add("--rounds", a->rounds, "one line per iteration");
  a->add_rest(v);
  v.ends_with("Example: garner pagerank kron20.gnr --iterations 20 --verify --out ranks.txt");
  v.runs([a] { rank_vertices(*a); });
}

}  // namespace garner
