// garner bfs: breadth-first search from one source or many, at a place, in an access mode, over edges in a tier.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
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
#include "memory/budget.hpp"
#include "search.hpp"
#include "traverse/bfs.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using cli::grouped;
using json = nlohmann::ordered_json;

using cli::gb_per_s, cli::link_shown, cli::or_null;

struct bfs_arguments : cli::search_arguments {
  std::string variant = "levels";
  bfs_options how;
};

json to_json(bfs_run const& r, graph_info const& info, link_shown link) {
  json levels = json::array();
  for (bfs_level const& l : r.levels) {
    auto const rate = gb_per_s(l.bytes_link, l.ms, link);
    levels.push_back({{"frontier", l.frontier},
                      {"edges", l.edges},
                      {"bytes_link", or_null(link.crosses, l.bytes_link)},
                      {"ms", l.ms},
                      {"bottom_up", l.bottom_up},
                      {"gbs", or_null(rate.has_value(), rate.value_or(0))}});
  }
  json requests = nullptr;
  if (link.crosses) {
    requests = json::object();
    for (std::size_t k = 0; k < 4; ++k) requests[std::to_string(32 * (k + 1))] = r.link.requests[k];
    requests["pages"] = r.link.pages;
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
          {"requests", requests},
          {"verified", r.verified},
          {"levels", levels}};
}

void say_levels(bfs_run const& r, link_shown link) {
  cli::say("{:>7} {:>14} {:>16} {:>14} {:>10} {:>8}\n", "level", "frontier", "edges", "over the link", "ms", "GB/s");
  for (std::size_t k = 0; k < r.levels.size(); ++k) {
    bfs_level const& l = r.levels[k];
    auto const rate = gb_per_s(l.bytes_link, l.ms, link);
    cli::say("{:>7} {:>14} {:>16} {:>14} {:>10.3f} {:>8}{}\n", k, grouped(l.frontier), grouped(l.edges),
             link.crosses ? format_bytes(l.bytes_link) : "-", l.ms, rate ? fmt::format("{:.2f}", *rate) : "-",
             l.bottom_up ? " bottom-up" : "");
  }
}

void say_run(bfs_run const& r, graph_info const& info, link_shown link, bool paged) {
  cli::say("reached {} of {} vertices ({:.2f} %), depth {}, depths sum {}, {} edges leave them\n", grouped(r.reached),
           grouped(info.vertices), 100.0 * static_cast<double>(r.reached) / static_cast<double>(info.vertices), r.depth_max,
           grouped(r.depth_sum), grouped(r.edges));
  cli::say("time {:.3f} ms, {:.4f} GTEPS{}\n", r.ms, r.gteps, link.timed ? "" : " (of the simulation)");
  if (link.crosses) {
    if (paged) cli::say("pages of 4 KiB {}\n", grouped(r.link.pages));
    else
      cli::say("requests of 32 B {}, 64 B {}, 96 B {}, 128 B {}\n", grouped(r.link.requests[0]), grouped(r.link.requests[1]),
               grouped(r.link.requests[2]), grouped(r.link.requests[3]));
    cli::say("over the link {}, amplification {:.3f}, overfetch {:.3f}{}\n", format_bytes(r.link.bytes_link()),
             r.link.amplification(info.edges * info.id_bytes), r.link.overfetch(), link.timed ? " (modelled)" : "");
  } else {
    cli::say("over the link -, amplification -, overfetch -\n");
  }
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

// "vertex depth parent" a line, all by the user's ids, in their order; what was not reached has depth and parent -1.
void write_tree(bfs_job& job, graph const& g, std::uint64_t source, std::string const& name) {
  std::vector<std::uint32_t> const depth = job.depths();
  std::vector<std::uint64_t> const parent = job.parents();
  pending_file out(name);
  progress bar("writing", g.info.vertices);
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), "# vertex depth parent, from source {}\n", source);
  for (std::uint64_t k = 0; k < g.info.vertices; ++k) {
    std::uint64_t const v = g.at_rank(k);
    if (depth[v] == unreached) fmt::format_to(std::back_inserter(text), "{} -1 -1\n", g.user_id(v));
    else fmt::format_to(std::back_inserter(text), "{} {} {}\n", g.user_id(v), depth[v], g.user_id(parent[v]));
    if (text.size() > 1u << 20) {
      out.write(text.data(), text.size());
      text.clear();
    }
    if (k % 65536 == 65535) bar.advance(65536);
  }
  out.write(text.data(), text.size());
  out.commit();
}

bool needs_in_lists(bfs_options const& o, graph_info const& info) { return o.variant == bfs_variant::direction && info.directed; }

void check_memory(bfs_arguments const& a, graph_info const& info) {
  bfs_options const& o = a.how;
  bool const on_device = o.where.kind == place_kind::device;
  std::uint64_t const ways = needs_in_lists(o, info) ? 2 : 1, edges = ways * info.edges * info.id_bytes,
                      state = bfs_job::state_bytes(info, o);
  std::uint64_t host = ways * (info.vertices + 1) * 8 + bytes_of_ids(info), device = 0;
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
  if (a.variant != "levels" && a.variant != "direction") fail(errc::usage, "--variant {}: say levels or direction", a.variant);
  o.variant = a.variant == "direction" ? bfs_variant::direction : bfs_variant::levels;
  if (o.hints > 2) fail(errc::usage, "--hints {}: say 0, 1 or 2", o.hints);
  if (o.hints && o.variant != bfs_variant::direction) fail(errc::usage, "--hints {}: only --variant direction asks them", o.hints);
  o.split_hubs = !a.no_split;
  // Said for the output; unset would mean the same.
  o.join_lists = a.join || (!a.no_join && o.access == access_mode::aligned && o.vertices_per_team == 1);
  o.l2_bytes = parse_bytes(a.l2);
  if (o.l2_bytes && o.where.kind != place_kind::traced)
    fail(errc::usage, "--l2-bytes {}: only a traced run models an L2; leave it out or say --place traced", a.l2);
  if (o.vertices_per_team < 1 || o.vertices_per_team > 1024)
    fail(errc::usage, "--vertices-per-team {}: say 1 to 1024", o.vertices_per_team);
  if (o.slice < 64 || o.slice % 32) fail(errc::usage, "--slice {}: say a multiple of 32, 64 or more", o.slice);
  if (a.trials && (*a.trials == 0 || *a.trials > 1'000'000)) fail(errc::usage, "--trials {}: say 1 to 1000000", *a.trials);
  a.budgets.apply(o.where);
  cli::check_outputs(a.file, {{"--out", a.out}, {"--save-sources", a.save_sources}});

  bool const on_device = o.where.kind == place_kind::device;
  graph_info const info = read_header(a.file).info;
  check_memory(a, info);
  std::uint64_t const device_limit = on_device ? cli::device_limit(o.where) : 0;
  load_options load;
  load.edges = on_device ? *o.edges : tier::host;  // elsewhere managed memory is host memory
  load.device = on_device ? o.where.index : -1;
  load.check = !a.no_check;
  load.in_lists = needs_in_lists(o, info);
  graph const g = load_graph(a.file, load);
  cli::sources_chosen const sources = cli::choose_sources(a, g);

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
    if (many && !a.steps) say_row_head();
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
      if (many && !a.steps) {
        say_row(runs.back(), info, link);
      } else {
        if (many) cli::say("source  {}\n", source);
        say_levels(runs.back(), link);
        say_run(runs.back(), info, link, o.access == access_mode::paged);
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
           {"variant", a.variant},
           {"hints", o.hints},
           {"hints_bytes", o.hints * info.vertices * info.id_bytes},
           {"hints_ms", job.hints_ms()},
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
           {"modelled", link.crosses && on_device},
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
  verb->add_option("--variant", a->variant,
                   "levels: every arc that leaves the frontier is looked at; direction: where the frontier is large, what is not reached "
                   "looks for it (of directed graphs this needs in-lists)")
      ->capture_default_str()
      ->type_name("VARIANT");
  cli::add_number(*verb, "--hints", a->how.hints,
                  "with direction: 0, 1 or 2 best neighbours of every vertex are kept near and asked first; made when the job starts")
      ->capture_default_str();
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
  verb->add_flag("--levels", a->steps, "a line a level also where there are many sources");
  verb->add_flag("--json", a->json, "print one JSON object");
  verb->add_flag("--no-check", a->no_check, "do not check the checksums of the container");
  a->budgets.add(*verb, true);
  verb->footer(
      "Access strided, merged and aligned go with tier host (any place) and device (place device), paged with managed.\n"
      "Example: garner bfs kron20.gnr --trials 8 --place traced --access aligned --verify");
  verb->callback([a] { search(*a); });
}

}  // namespace garner
