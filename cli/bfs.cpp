// garner bfs: breadth-first search from one source or many, at a place, in an access mode, over edges in a tier.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "access/matrix.hpp"
#include "common.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/publish.hpp"
#include "graph/container.hpp"
#include "graph/convert.hpp"
#include "job_options.hpp"
#include "memory/budget.hpp"
#include "traverse/bfs.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using cli::grouped;
using json = nlohmann::ordered_json;

struct bfs_arguments {
  std::string file, sources_file, save_sources, place = "host", access = "aligned", tier, l2 = "0", out;
  std::optional<std::uint64_t> source, trials;
  std::uint64_t seed = 1;
  bool no_split = false, join = false, no_join = false, levels = false, json = false, no_check = false;
  bfs_options how;
  cli::budget_arguments budgets;
};

// One id a line; blank lines and what follows a # are passed over.
std::vector<std::uint64_t> read_sources(std::string const& name) {
  std::ifstream in(name);
  if (!in) fail(errc::io, "{}: cannot be read: {}; name a file with one vertex id a line", name, std::strerror(errno));
  std::vector<std::uint64_t> sources;
  std::string text;
  for (std::uint64_t line = 1; std::getline(in, text); ++line) {
    text.erase(std::min(text.find('#'), text.size()));
    std::size_t const first = text.find_first_not_of(" \t\r");
    if (first == std::string::npos) continue;
    std::string const word = text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
    std::uint64_t id = 0;
    auto const [end, code] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (code != std::errc{} || end != word.data() + word.size())
      fail(errc::input, "{}: line {}: '{}' is not a vertex id; say one whole number a line", name, line, word);
    sources.push_back(id);
  }
  if (in.bad()) fail(errc::io, "{}: cannot be read: {}; name a file with one vertex id a line", name, std::strerror(errno));
  if (sources.empty()) fail(errc::input, "{}: names no source; say one vertex id a line", name);
  return sources;
}

struct sources_chosen {
  std::vector<std::uint64_t> ids;
  std::string how;
};

sources_chosen choose_sources(bfs_arguments const& a, graph const& g) {
  sources_chosen chosen;
  if (a.source) chosen = {{*a.source}, "named"};
  else if (!a.sources_file.empty()) chosen = {read_sources(a.sources_file), "from " + a.sources_file};
  else {
    chosen = {pick_sources(g, a.trials.value_or(1), a.seed), fmt::format("picked among vertices with edges, seed {}", a.seed)};
    if (chosen.ids.empty())
      fail(errc::input, "{}: no source can be picked, since no vertex has an edge that leaves it; name one with --source", a.file);
  }
  for (std::uint64_t const id : chosen.ids) g.internal_id(id);  // before the first search, not at the last
  return chosen;
}

using cli::link_shown;
using cli::or_null;
std::optional<double> gb_per_s(bfs_level const& level, link_shown link) { return cli::gb_per_s(level.bytes_link, level.ms, link); }

json to_json(bfs_run const& r, graph_info const& info, link_shown link) {
  json levels = json::array();
  for (bfs_level const& l : r.levels) {
    auto const rate = gb_per_s(l, link);
    levels.push_back({{"frontier", l.frontier},
                      {"edges", l.edges},
                      {"bytes_link", or_null(link.crosses, l.bytes_link)},
                      {"ms", l.ms},
                      {"gbs", or_null(rate.has_value(), rate.value_or(0))}});
  }
  return {{"source", r.source},
          {"reached", r.reached},
          {"edges", r.edges},
          {"depth_max", r.depth_max},
          {"depth_sum", r.depth_sum},
          {"ms", r.ms},
          {"gteps", r.gteps},
          {"bytes_link", or_null(link.crosses, r.link.bytes_link())},
          {"amplification", or_null(link.crosses, r.link.amplification(info.edges * info.id_bytes))},
          {"overfetch", or_null(link.crosses, r.link.overfetch())},
          {"requests", cli::requests_of(r.link, link)},
          {"verified", r.verified},
          {"levels", levels}};
}

void say_levels(bfs_run const& r, link_shown link) {
  cli::say("{:>7} {:>14} {:>16} {:>14} {:>10} {:>8}\n", "level", "frontier", "edges", "over the link", "ms", "GB/s");
  for (std::size_t k = 0; k < r.levels.size(); ++k) {
    bfs_level const& l = r.levels[k];
    auto const rate = gb_per_s(l, link);
    cli::say("{:>7} {:>14} {:>16} {:>14} {:>10.3f} {:>8}\n", k, grouped(l.frontier), grouped(l.edges),
             link.crosses ? format_bytes(l.bytes_link) : "-", l.ms, rate ? fmt::format("{:.2f}", *rate) : "-");
  }
}

void say_run(bfs_run const& r, graph_info const& info, link_shown link) {
  cli::say("reached {} of {} vertices ({:.2f} %), depth {}, depths sum {}, {} edges looked at\n", grouped(r.reached),
           grouped(info.vertices), 100.0 * static_cast<double>(r.reached) / static_cast<double>(info.vertices), r.depth_max,
           grouped(r.depth_sum), grouped(r.edges));
  cli::say("time {:.3f} ms, {:.4f} GTEPS{}\n", r.ms, r.gteps, link.timed ? "" : " (of the simulation)");
  cli::say_link(r.link, info, link);
  if (r.verified) cli::say("verified\n");
}

void say_row_head() {
  cli::say("{:>14} {:>14} {:>6} {:>16} {:>11} {:>9} {:>14} {:>6}\n", "source", "reached", "depth", "depths sum", "ms", "GTEPS",
           "over the link", "ampl.");
}
void say_row(bfs_run const& r, graph_info const& info, link_shown link) {
  cli::say("{:>14} {:>14} {:>6} {:>16} {:>11.3f} {:>9.4f} {:>14} {:>6}{}\n", r.source, grouped(r.reached), r.depth_max,
           grouped(r.depth_sum), r.ms, r.gteps, link.crosses ? format_bytes(r.link.bytes_link()) : "-",
           link.crosses ? fmt::format("{:.3f}", r.link.amplification(info.edges * info.id_bytes)) : "-", r.verified ? " verified" : "");
}

void say_summary(std::vector<bfs_run> const& runs, link_shown link) {
  std::vector<double> ms;
  double weighted = 0, all = 0;
  for (bfs_run const& r : runs) {
    ms.push_back(r.ms);
    all += r.ms;
    weighted += r.gteps * r.ms;
  }
  std::sort(ms.begin(), ms.end());
  cli::say("{} searches: ms least {:.3f}, median {:.3f}, most {:.3f}; together {:.4f} GTEPS{}\n", runs.size(), ms.front(),
           ms[ms.size() / 2], ms.back(), all > 0 ? weighted / all : 0, link.timed ? "" : " (of the simulation)");
}

// "vertex depth parent" a line, all by the user's ids; what was not reached has depth and parent -1.
void write_tree(bfs_job& job, graph const& g, std::uint64_t source, std::string const& name) {
  std::vector<std::uint32_t> const depth = job.depths();
  std::vector<std::uint64_t> const parent = job.parents();
  pending_file out(name);
  progress bar("writing", g.info.vertices);
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), "# vertex depth parent, from source {}\n", source);
  for (std::uint64_t v = 0; v < g.info.vertices; ++v) {
    if (depth[v] == unreached) fmt::format_to(std::back_inserter(text), "{} -1 -1\n", g.user_id(v));
    else fmt::format_to(std::back_inserter(text), "{} {} {}\n", g.user_id(v), depth[v], g.user_id(parent[v]));
    if (text.size() > 1u << 20) {
      out.write(text.data(), text.size());
      text.clear();
    }
    if (v % 65536 == 65535) bar.advance(65536);
  }
  out.write(text.data(), text.size());
  out.commit();
}

void write_sources(std::vector<std::uint64_t> const& sources, std::string const& name) {
  pending_file out(name);
  for (std::uint64_t const s : sources) out.write(fmt::format("{}\n", s));
  out.commit();
}

void check_memory(bfs_arguments const& a, graph_info const& info) {
  bfs_options const& o = a.how;
  bool const on_device = o.where.kind == place_kind::device;
  std::uint64_t const edges = info.edges * info.id_bytes, state = bfs_job::state_bytes(info, o);
  std::uint64_t host = (info.vertices + 1) * 8 + (info.id_map ? info.vertices * 8 : 0), device = 0;
  (on_device ? device : host) += state;
  (on_device && *o.edges == tier::device ? device : host) += edges;
  cli::require_memory(a.file, host, device, o.where,
                      *o.edges == tier::device ? "leave the edges in host memory (--tier host)" : "say --place host");
}

void search(bfs_arguments& a) {
  bfs_options& o = a.how;
  o.where = parse_place(a.place);
  o.access = parse_access(a.access);
  o.edges = a.tier.empty() ? default_tier(o.where, o.access) : parse_tier(a.tier);
  require_combination(o.where, *o.edges, o.access);
  o.split_hubs = !a.no_split;
  // Said for the output; unset would mean the same.
  o.join_lists = a.join || (!a.no_join && o.access == access_mode::aligned && o.vertices_per_team == 1);
  o.l2_bytes = parse_bytes(a.l2);
  if (o.l2_bytes && o.where.kind != place_kind::traced)
    fail(errc::usage, "--l2-bytes {}: only a traced run models an L2; leave it out or say --place traced", a.l2);
  if (o.vertices_per_team < 1 || o.vertices_per_team > 1024)
    fail(errc::usage, "--vertices-per-team {}: say 1 to 1024", o.vertices_per_team);
  if (o.slice < 64 || o.slice % 32) fail(errc::usage, "--slice {}: say a multiple of 32, 64 or more", o.slice);
  if (a.trials && *a.trials == 0) fail(errc::usage, "--trials 0: say 1 or more");
  a.budgets.apply(o.where);
  for (std::string const& name : {a.out, a.save_sources})
    if (!name.empty()) check_target(name);

  bool const on_device = o.where.kind == place_kind::device;
  graph_info const info = read_header(a.file).info;
  check_memory(a, info);
  std::uint64_t const device_limit = on_device ? cli::device_limit(o.where) : 0;
  load_options load;
  load.edges = on_device ? *o.edges : tier::host;  // elsewhere managed memory is host memory
  load.device = on_device ? o.where.index : -1;
  load.check = !a.no_check;
  graph const g = load_graph(a.file, load);
  sources_chosen const sources = choose_sources(a, g);
  if (!a.save_sources.empty()) write_sources(sources.ids, a.save_sources);

  link_shown const link = cli::what_crosses(o.where, *o.edges);
  bool const many = sources.ids.size() > 1;
  if (!a.json) {
    cli::say("graph   {}: {}\n", a.file, cli::describe(info));
    cli::say("place   {}; edges in tier {} ({}), access {}\n", to_string(o.where), to_string(*o.edges),
             format_bytes(info.edges * info.id_bytes), to_string(o.access));
    cli::say("memory  state {}{}\n", format_bytes(bfs_job::state_bytes(info, o)),
             (on_device ? ", device budget " + format_bytes(device_limit) : "") +
                 (host_budget().limit() == budget::unlimited ? "" : ", host budget " + format_bytes(host_budget().limit())));
    cli::say("source  {}, {}\n\n", many ? grouped(sources.ids.size()) + " of them" : std::to_string(sources.ids[0]), sources.how);
    if (many && !a.levels) say_row_head();
    cli::flush_out();
  }

  bfs_job job(g, o);
  std::vector<bfs_run> runs;
  {
    progress bar("searching", sources.ids.size());
    for (std::uint64_t const source : sources.ids) {
      runs.push_back(job.run(source));
      bar.advance(1);
      if (a.json) continue;
      if (many && !a.levels) {
        say_row(runs.back(), info, link);
      } else {
        if (many) cli::say("source  {}\n", source);
        say_levels(runs.back(), link);
        say_run(runs.back(), info, link);
        if (many) cli::say("\n");
      }
      cli::flush_out();
    }
  }
  if (!a.json && many) say_summary(runs, link);
  if (!a.out.empty()) {
    write_tree(job, g, sources.ids.back(), a.out);
    if (!a.json)
      cli::say("{}: depth and parent of every vertex{}\n", a.out,
               many ? fmt::format(", from the last source, {}", sources.ids.back()) : "");
  }
  if (!a.json) return;

  json all{{"file", a.file},
           {"vertices", info.vertices},
           {"edges", info.edges},
           {"directed", info.directed},
           {"place", to_string(o.where)},
           {"tier", to_string(*o.edges)},
           {"access", to_string(o.access)},
           {"id_bytes", info.id_bytes},
           {"vertices_per_team", o.vertices_per_team},
           {"split_hubs", o.split_hubs},
           {"join_lists", *o.join_lists},
           {"slice", o.slice},
           {"l2_bytes", o.l2_bytes},
           {"device_budget", or_null(on_device, device_limit)},
           {"host_budget", or_null(host_budget().limit() != budget::unlimited, host_budget().limit())},
           {"state_bytes", bfs_job::state_bytes(info, o)},
           {"checked", load.check},
           {"verified", std::all_of(runs.begin(), runs.end(), [](bfs_run const& r) { return r.verified; })},
           {"simulated", !link.timed},
           {"runs", json::array()}};
  for (bfs_run const& r : runs) all["runs"].push_back(to_json(r, info, link));
  cli::say("{}\n", all.dump(2));
}

}  // namespace

void add_bfs(CLI::App& app) {
  auto const a = std::make_shared<bfs_arguments>();
  CLI::App* const verb = app.add_subcommand("bfs", "breadth-first search over edges that may lie outside the GPU");
  verb->add_option("FILE", a->file, "a container (.gnr); convert other formats first")->required();
  auto* const source =
      cli::add_number(*verb, "--source", a->source, "vertex to start from, by the user's id (default: one picked)")->type_name("V");
  auto* const list = verb->add_option("--sources", a->sources_file, "file with one source a line")->excludes(source)->type_name("FILE");
  cli::add_number(*verb, "--trials", a->trials, "pick that many sources among the vertices with edges")->excludes(source)->excludes(list);
  cli::add_number(*verb, "--seed", a->seed, "of the picked sources")->capture_default_str();
  verb->add_option("--save-sources", a->save_sources, "file to write the sources to, one a line")->type_name("FILE");
  verb->add_option("--place", a->place, "host, device, device:N, or traced: a GPU simulated, to count its requests")
      ->capture_default_str()
      ->type_name("PLACE");
  verb->add_option("--access", a->access, "strided, merged, aligned, paged")->capture_default_str()->type_name("ACCESS");
  verb->add_option("--tier", a->tier, "where the edges lie: host, device, managed (default: host; managed for paged)")->type_name("TIER");
  cli::add_number(*verb, "--vertices-per-team", a->how.vertices_per_team, "lists that one team walks one after the other")
      ->capture_default_str();
  verb->add_flag("--no-split", a->no_split, "a long list is walked by one team, not by several");
  auto* const join =
      verb->add_flag("--join", a->join, "neighbouring lists of the frontier are read as one (default: with aligned, one a team)");
  verb->add_flag("--no-join", a->no_join, "each list is read by itself, as EMOGI does")->excludes(join);
  cli::add_number(*verb, "--slice", a->how.slice, "elements of a long list that one team takes")->capture_default_str();
  verb->add_option("--l2-bytes", a->l2, "of a traced run: the L2 before the link, as 50MiB (default: none)")->type_name("BYTES");
  verb->add_flag("--verify", a->how.check_certificate, "check the result against the graph");
  verb->add_option("--out", a->out, "file to write: vertex depth parent a line, -1 -1 where not reached; of the last source")
      ->type_name("FILE");
  verb->add_flag("--levels", a->levels, "a line a level also where there are many sources");
  verb->add_flag("--json", a->json, "print one JSON object");
  verb->add_flag("--no-check", a->no_check, "do not check the checksums of the container");
  a->budgets.add(*verb, true);
  verb->footer(
      "Access strided, merged and aligned go with tier host (any place) and device (place device), paged with managed.\n"
      "Example: garner bfs kron20.gnr --trials 8 --place traced --access aligned --verify");
  verb->callback([a] { search(*a); });
}

}  // namespace garner
