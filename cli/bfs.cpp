// garner bfs: breadth-first search from one source or many, at a place, in an access mode, over edges in a tier.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "common.hpp"
#include "core/progress.hpp"
#include "core/publish.hpp"
#include "graph/container.hpp"
#include "memory/budget.hpp"
#include "search.hpp"
#include "traverse/bfs.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using cli::gb_per_s, cli::grouped, cli::link_shown, cli::or_null;
using json = cli::ordered_json;

struct bfs_arguments : cli::search_arguments {
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
                      {"gbs", or_null(rate.has_value(), rate.value_or(0))}});
  }
  json j{{"source", r.source},       {"reached", r.reached}, {"edges", r.edges}, {"depth_max", r.depth_max},
         {"depth_sum", r.depth_sum}, {"ms", r.ms},           {"gteps", r.gteps}};
  cli::add_traffic(j, r.link, info.edges * info.id_bytes, link);
  j["verified"] = r.verified;
  j["levels"] = levels;
  return j;
}

void say_levels(bfs_run const& r, link_shown link) {
  cli::say("{:>7} {:>14} {:>16} {:>14} {:>10} {:>8}\n", "level", "frontier", "edges", "over the link", "ms", "GB/s");
  for (std::size_t k = 0; k < r.levels.size(); ++k) {
    bfs_level const& l = r.levels[k];
    auto const rate = gb_per_s(l.bytes_link, l.ms, link);
    cli::say("{:>7} {:>14} {:>16} {:>14} {:>10.3f} {:>8}\n", k, grouped(l.frontier), grouped(l.edges),
             link.crosses ? format_bytes(l.bytes_link) : "-", l.ms, rate ? fmt::format("{:.2f}", *rate) : "-");
  }
}

void say_run(bfs_run const& r, graph_info const& info, link_shown link) {
  cli::say("reached {} of {} vertices ({:.2f} %), depth {}, depths sum {}, {} edges looked at\n", grouped(r.reached),
           grouped(info.vertices), 100.0 * static_cast<double>(r.reached) / static_cast<double>(info.vertices), r.depth_max,
           grouped(r.depth_sum), grouped(r.edges));
  cli::say("time {:.3f} ms, {:.4f} GTEPS{}\n", r.ms, r.gteps, link.timed ? "" : " (of the simulation)");
  cli::say_traffic(r.link, info.edges * info.id_bytes, link);
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

void search(bfs_arguments& a) {
  bfs_options& o = a.how;
  a.apply(o);
  // Said for the output; unset would mean the same.
  if (!o.join_lists) o.join_lists = o.access == access_mode::aligned && o.vertices_per_team == 1;
  bool const on_device = o.where.kind == place_kind::device;
  graph_info const info = read_header(a.file).info;
  std::uint64_t const state = bfs_job::state_bytes(info, o);
  a.check_memory(info, o.where, *o.edges, info.id_bytes, state);
  std::uint64_t const device_limit = on_device ? cli::device_limit(o.where) : 0;
  graph const g = a.load(o.where, *o.edges, false);
  cli::sources_chosen const sources = cli::choose_sources(a, g);

  link_shown const link = cli::what_crosses(o.where, *o.edges);
  bool const many = sources.ids.size() > 1;
  if (!a.json) {
    cli::say_setting(a, info, o.where, *o.edges, o.access, info.edges * info.id_bytes, device_limit, state, sources);
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
           {"state_bytes", state},
           {"checked", !a.no_check},
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
  a->add(*verb, "neighbouring lists of the frontier are read as one (default: with aligned, one a team)", "--levels",
         "a line a level also where there are many sources",
         "file to write: vertex depth parent a line, -1 -1 where not reached; of the last source");
  verb->footer(
      "Access strided, merged and aligned go with tier host (any place) and device (place device), paged with managed.\n"
      "Example: garner bfs kron20.gnr --trials 8 --place traced --access aligned --verify");
  verb->callback([a] { search(*a); });
}

}  // namespace garner
