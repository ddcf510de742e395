// garner pagerank: the ranks of all vertices, by power iteration or as the paper does it, at a place, over edges in a tier.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "access/matrix.hpp"
#include "common.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/publish.hpp"
#include "graph/container.hpp"
#include "graph/convert.hpp"
#include "memory/budget.hpp"
#include "traverse/pagerank.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using cli::grouped;
using json = nlohmann::ordered_json;

struct pagerank_arguments {
  std::string file, place = "host", access = "aligned", tier, variant = "pull", dangling, personal, l2 = "0", out;
  bool rounds = false, json = false, no_check = false;
  pagerank_options how;
  cli::budget_arguments budgets;
};

// "ID" or "ID WEIGHT" a line; blank lines and what follows a # are passed over.
std::vector<std::pair<std::uint64_t, double>> read_personal(std::string const& name) {
  std::ifstream in(name);
  auto const unreadable = [&] {
    fail(errc::io, "{}: cannot be read: {}; name a file with a vertex id and perhaps a weight a line", name, std::strerror(errno));
  };
  if (!in) unreadable();
  std::vector<std::pair<std::uint64_t, double>> all;
  std::string text;
  for (std::uint64_t line = 1; std::getline(in, text); ++line) {
    std::istringstream words(text.substr(0, text.find('#')));
    std::string id_word, weight_word, more;
    if (!(words >> id_word)) continue;
    bool right = cli::not_a_count(id_word, cli::most_of<std::uint64_t>).empty();
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
      right = *end == 0 && weight > 0 && weight < 1e300 && !(words >> more);
    }
    if (!right) fail(errc::input, "{}: line {}: '{}' is none; say a vertex id and perhaps a positive weight a line", name, line, text);
    all.emplace_back(id, weight);
  }
  if (in.bad()) unreadable();
  if (all.empty()) fail(errc::input, "{}: names no vertex; say a vertex id and perhaps a weight a line", name);
  return all;
}

template <class T>
json or_null(bool there, T value) {
  return there ? json(value) : json(nullptr);
}

void write_ranks(std::vector<float> const& ranks, graph const& g, std::string const& name) {
  pending_file out(name);
  progress bar("writing", ranks.size());
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), "# vertex rank\n");
  for (std::uint64_t k = 0; k < ranks.size(); ++k) {
    std::uint64_t const v = g.at_rank(k);
    fmt::format_to(std::back_inserter(text), "{} {}\n", g.user_id(v), ranks[v]);
    if (text.size() > 1u << 20) {
      out.write(text.data(), text.size());
      text.clear();
    }
    if (k % 65536 == 65535) bar.advance(65536);
  }
  out.write(text.data(), text.size());
  out.commit();
}

void rank_vertices(pagerank_arguments& a) {
  pagerank_options& o = a.how;
  o.where = parse_place(a.place);
  o.access = parse_access(a.access);
  o.edges = a.tier.empty() ? default_tier(o.where, o.access) : parse_tier(a.tier);
  require_combination(o.where, *o.edges, o.access);
  o.variant = parse_pagerank_variant(a.variant);
  bool const pulls = o.variant == pagerank_variant::pull, on_device = o.where.kind == place_kind::device;
  if (!pulls && !a.dangling.empty()) fail(errc::usage, "--dangling goes with --variant pull; the paper's variant drops what ends nowhere");
  if (!pulls && !a.personal.empty()) fail(errc::usage, "--personal goes with --variant pull; the paper's variant starts everywhere");
  if (!a.dangling.empty()) o.dangling = parse_dangling(a.dangling);
  if (!pulls) o.dangling = dangling_mass::drop;
  if (!(o.damping >= 0 && o.damping < 1)) fail(errc::usage, "--damping {}: say a number from 0 to less than 1", o.damping);
  if (o.tolerance && !(*o.tolerance > 0 && *o.tolerance < 1e9)) fail(errc::usage, "--tolerance {}: say a positive number", *o.tolerance);
  if (o.iterations && *o.iterations == 0) fail(errc::usage, "--iterations 0: say 1 or more");
  o.l2_bytes = parse_bytes(a.l2);
  if (o.l2_bytes && o.where.kind != place_kind::traced)
    fail(errc::usage, "--l2-bytes {}: only a traced run models an L2; leave it out or say --place traced", a.l2);
  a.budgets.apply(o.where);
  cli::check_outputs(a.file, {{"--out", a.out}});
  if (!a.personal.empty()) o.personal = read_personal(a.personal);

  graph_info const info = read_header(a.file).info;
  if (pulls && info.directed && !info.in_lists && info.edges)
    fail(errc::input,
         "{}: PageRank pulls along in-lists, and this directed graph has none; add them with `garner convert --in-lists`, or say --variant "
         "emogi",
         a.file);
  std::uint64_t const lists = pulls && info.in_lists ? 2 : 1, edge_bytes = info.edges * info.id_bytes * lists,
                      state = pagerank_job::state_bytes(info, o);
  std::uint64_t host = (info.vertices + 1) * 8 * lists + bytes_of_ids(info), near = 0;
  (on_device ? near : host) += state;
  (on_device && *o.edges == tier::device ? near : host) += edge_bytes;
  cli::require_memory(a.file, host, near, o.where,
                      *o.edges == tier::device ? "leave the edges in host memory (--tier host)" : "say --place host");
  std::uint64_t const device_limit = on_device ? cli::device_limit(o.where) : 0;
  load_options load;
  load.edges = on_device ? *o.edges : tier::host;  // elsewhere managed memory is host memory
  load.device = on_device ? o.where.index : -1;
  load.in_lists = lists == 2;
  load.check = !a.no_check;
  graph const g = load_graph(a.file, load);

  // The driver moves managed pages and tells nobody how many; a simulation's time says nothing of the link.
  bool const timed = o.where.kind != place_kind::traced, crosses = !timed || (on_device && *o.edges == tier::host);
  auto const rate = [&](pagerank_round const& r) {
    return crosses && timed && r.ms > 0 ? std::optional(static_cast<double>(r.bytes_link) / r.ms / 1e6) : std::nullopt;
  };
  if (!a.json) {
    cli::say("graph   {}: {}\n", a.file, cli::describe(info));
    cli::say("place   {}; edges in tier {} ({}), access {}, variant {}\n", to_string(o.where), to_string(*o.edges),
             format_bytes(edge_bytes), to_string(o.access), to_string(o.variant));
    cli::say("memory  state {}{}\n\n", format_bytes(state),
             (on_device ? ", device budget " + format_bytes(device_limit) : "") +
                 (host_budget().limit() == budget::unlimited ? "" : ", host budget " + format_bytes(host_budget().limit())));
    cli::flush_out();
  }

  pagerank_job job(g, o);
  pagerank_run const r = job.run();
  std::vector<float> const ranks = job.ranks();
  std::vector<ranked> const top = highest_ranks(g, ranks, 10);
  if (!a.out.empty()) write_ranks(ranks, g, a.out);
  double const ms_per_iteration = r.iterations ? r.ms / static_cast<double>(r.iterations) : 0;

  if (a.json) {
    json rounds = json::array(), highest = json::array(), requests = nullptr;
    for (pagerank_round const& i : r.rounds)
      rounds.push_back({{"vertices", i.vertices},
                        {"edges", i.edges},
                        {"l1_change", or_null(pulls, i.l1_change)},
                        {"bytes_link", or_null(crosses, i.bytes_link)},
                        {"ms", i.ms},
                        {"gbs", or_null(rate(i).has_value(), rate(i).value_or(0))}});
    for (ranked const& t : top) highest.push_back({{"vertex", t.vertex}, {"rank", t.rank}});
    if (crosses) {
      for (std::size_t k = 0; k < 4; ++k) requests[std::to_string(32 * (k + 1))] = r.link.requests[k];
      requests["pages"] = r.link.pages;
    }
    json const all{{"file", a.file},
                   {"vertices", info.vertices},
                   {"edges", info.edges},
                   {"directed", info.directed},
                   {"place", to_string(o.where)},
                   {"tier", to_string(*o.edges)},
                   {"access", to_string(o.access)},
                   {"id_bytes", info.id_bytes},
                   {"variant", to_string(o.variant)},
                   {"damping", o.damping},
                   {"tolerance", o.tolerance.value_or(pulls ? 1e-4 : 1e-3)},
                   {"dangling", to_string(o.dangling)},
                   {"personal", o.personal.size()},
                   {"l2_bytes", o.l2_bytes},
                   {"device_budget", or_null(on_device, device_limit)},
                   {"host_budget", or_null(host_budget().limit() != budget::unlimited, host_budget().limit())},
                   {"state_bytes", state},
                   {"checked", load.check},
                   {"verified", r.verified},
                   {"simulated", !timed},
                   {"iterations", r.iterations},
                   {"converged", r.converged},
                   {"rank_sum", r.rank_sum},
                   {"l1_change", r.l1_change},
                   {"edges_seen", r.edges},
                   {"ms", r.ms},
                   {"ms_per_iteration", ms_per_iteration},
                   {"bytes_link", or_null(crosses, r.link.bytes_link())},
                   {"amplification", or_null(crosses, r.link.amplification(info.edges * info.id_bytes))},
                   {"overfetch", or_null(crosses, r.link.overfetch())},
                   {"requests", requests},
                   {"top", highest},
                   {"rounds", rounds}};
    cli::say("{}\n", all.dump(2));
    return;
  }
  if (a.rounds) {
    cli::say("{:>9} {:>14} {:>16} {:>12} {:>14} {:>10} {:>8}\n", "iteration", "vertices", "edges", "L1 change", "over the link", "ms",
             "GB/s");
    for (std::size_t k = 0; k < r.rounds.size(); ++k) {
      pagerank_round const& i = r.rounds[k];
      cli::say("{:>9} {:>14} {:>16} {:>12} {:>14} {:>10.3f} {:>8}\n", k + 1, grouped(i.vertices), grouped(i.edges),
               pulls ? fmt::format("{:.3e}", i.l1_change) : "-", crosses ? format_bytes(i.bytes_link) : "-", i.ms,
               rate(i) ? fmt::format("{:.2f}", *rate(i)) : "-");
    }
  }
  for (ranked const& t : top) cli::say("{:>14} {:.6g}\n", t.vertex, t.rank);
  cli::say("{} iterations{}, ranks sum to {:.7g}, {} {:.3e}, {} edges looked at\n", r.iterations,
           r.converged || (pulls && o.iterations) ? "" : " (the tolerance was not reached)", r.rank_sum,
           pulls ? "last L1 change" : "residual left", r.l1_change, grouped(r.edges));
  cli::say("time {:.3f} ms, {:.3f} ms an iteration{}\n", r.ms, ms_per_iteration, timed ? "" : " (of the simulation)");
  if (crosses)
    cli::say("over the link {}, amplification {:.3f}, overfetch {:.3f}\n", format_bytes(r.link.bytes_link()),
             r.link.amplification(info.edges * info.id_bytes), r.link.overfetch());
  if (r.verified) cli::say("verified\n");
  if (!a.out.empty()) cli::say("{}: the rank of every vertex\n", a.out);
}

}  // namespace

void add_pagerank(CLI::App& app) {
  auto const a = std::make_shared<pagerank_arguments>();
  CLI::App* const verb = app.add_subcommand("pagerank", "PageRank over edges that may lie outside the GPU");
  verb->add_option("FILE", a->file, "a container (.gnr); a directed one with in-lists")->required();
  verb->add_option("--variant", a->variant, "pull, or emogi: the paper's residual push, not normalised")
      ->capture_default_str()
      ->type_name("VARIANT");
  verb->add_option("--damping", a->how.damping, "the share that follows edges")->capture_default_str()->type_name("D");
  verb->add_option("--tolerance", a->how.tolerance,
                   "stop at this L1 change of an iteration (default 1e-4); emogi: residual of a vertex (default 0.001)")
      ->type_name("T");
  cli::add_number(*verb, "--iterations", a->how.iterations, "exactly so many; emogi: at the most");
  verb->add_option("--dangling", a->dangling, "rank of vertices without out-edges: redistribute (default) or drop")->type_name("WHAT");
  verb->add_option("--personal", a->personal, "file of vertex ids, each with a weight or not: where it starts and jumps to")
      ->type_name("FILE");
  verb->add_option("--place", a->place, "host, device, device:N, or traced: a GPU simulated, to count its requests")
      ->capture_default_str()
      ->type_name("PLACE");
  verb->add_option("--access", a->access, "strided, merged, aligned, paged")->capture_default_str()->type_name("ACCESS");
  verb->add_option("--tier", a->tier, "where the edges lie: host, device, managed (default: host; managed for paged)")->type_name("TIER");
  verb->add_option("--l2-bytes", a->l2, "of a traced run: the L2 before the link, as 50MiB (default: none)")->type_name("BYTES");
  verb->add_flag("--verify", a->how.check_certificate, "check the result with an independent step");
  verb->add_option("--out", a->out, "file to write: vertex rank a line")->type_name("FILE");
  verb->add_flag("--rounds", a->rounds, "a line an iteration");
  verb->add_flag("--json", a->json, "print one JSON object");
  verb->add_flag("--no-check", a->no_check, "do not check the checksums of the container");
  a->budgets.add(*verb, true);
  verb->footer("Example: garner pagerank kron20.gnr --iterations 20 --verify --out ranks.txt");
  verb->callback([a] { rank_vertices(*a); });
}

}  // namespace garner
