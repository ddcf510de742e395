// garner bfs: breadth-first search from one source or many, at a place, in an access mode, over edges in a tier.
#include <algorithm>
#include <memory>

#include "search.hpp"
#include "traverse/bfs.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using cli::grouped, cli::job_ground;
using json = cli::ordered_json;

struct bfs_arguments : cli::search_arguments {
  std::string variant;
  bool no_queue = false;
  bfs_asked how;
};

json to_json(bfs_run const& r, job_ground const& at) {
  json levels = json::array();
  for (bfs_level const& l : r.levels) {
    json level{{"frontier", l.frontier},
               {"edges", l.edges},
               {"bytes_link", cli::or_null(at.link.crosses, l.bytes_link)},
               {"ms", l.ms},
               {"bottom_up", l.bottom_up},
               {"bytes_exchanged", l.bytes_exchanged}};
    at.add_rate(level, l.bytes_link, l.ms);
    levels.push_back(std::move(level));
  }
  json j{{"source", r.source},       {"reached", r.reached}, {"edges", r.edges},           {"depth_max", r.depth_max},
         {"depth_sum", r.depth_sum}, {"ms", r.ms},           {"prepare_ms", r.prepare_ms}, {"gteps", r.gteps}};
  at.add_traffic(j, r.link);
  at.add_file(j, r.file, r.ms);
  j["verified"] = r.verified;
  j["levels"] = std::move(levels);
  j["shards"] = cli::json_of(r.shards);
  return j;
}

void say_levels(bfs_run const& r, job_ground const& at) {
  cli::say("{:>7} {:>14} {:>16} {:>14} {:>10} {:>8}\n", "level", "frontier", "edges", "over the link", "ms", "GB/s");
  for (std::size_t k = 0; k < r.levels.size(); ++k) {
    bfs_level const& l = r.levels[k];
    cli::say("{:>7} {:>14} {:>16} {:>14} {:>10.3f} {:>8}{}\n", k, grouped(l.frontier), grouped(l.edges), at.link_bytes(l.bytes_link), l.ms,
             at.rate(l.bytes_link, l.ms), l.bottom_up ? " bottom-up" : "");
  }
}

void say_run(bfs_run const& r, job_ground const& at) {
  cli::say("reached {} of {} vertices ({:.2f} %), depth {}, depths sum {}, {} edges leave them\n", grouped(r.reached),
           grouped(at.info.vertices), 100.0 * static_cast<double>(r.reached) / static_cast<double>(at.info.vertices), r.depth_max,
           grouped(r.depth_sum), grouped(r.edges));
  cli::say("time {:.3f} ms, {:.4f} GTEPS{}{}\n", r.ms, r.gteps, at.of_what(), cli::prepared_in(r.prepare_ms));
  at.say_traffic(r.link);
  at.say_file(r.file, r.ms);
  at.say_shards(r.shards);
  if (r.verified) cli::say("verified\n");
}

void say_row_head() {
  cli::say("{:>14} {:>14} {:>6} {:>16} {:>11} {:>9} {:>14} {:>6}\n", "source", "reached", "depth", "depths sum", "ms", "GTEPS",
           "over the link", "ampl.");
}
void say_row(bfs_run const& r, job_ground const& at) {
  cli::say("{:>14} {:>14} {:>6} {:>16} {:>11.3f} {:>9.4f} {:>14} {:>6}{}\n", r.source, grouped(r.reached), r.depth_max,
           grouped(r.depth_sum), r.ms, r.gteps, at.link_bytes(r.link.bytes_link()), at.amplification(r.link),
           r.verified ? " verified" : "");
}

void say_summary(std::vector<bfs_run> const& runs, job_ground const& at) {
  double weighted = 0, all = 0;
  for (bfs_run const& r : runs) all += r.ms, weighted += r.gteps * r.ms;
  cli::say("{} searches: {}; together {:.4f} GTEPS{}\n", runs.size(), cli::first_and_after(runs), all > 0 ? weighted / all : 0,
           at.of_what());
}

void search(bfs_arguments& a) {
  bfs_asked& o = a.how;
  if (!a.variant.empty()) o.variant = parse_bfs_variant(a.variant);
  if (o.cached_neighbors.value_or(0) > 4) cli::fail(errc::usage, "--cached-neighbors {}: use 0 to 4", *o.cached_neighbors);
  a.apply(o);
  o.tuning.queue_small = !a.no_queue;
  // Said for the output; unset would mean the same.
  if (!o.tuning.join_lists) o.tuning.join_lists = o.access == access_mode::aligned && o.tuning.vertices_per_team == 1;

  graph_source from(a.file);
  if (o.variant == bfs_variant::direction) from.want_in_lists();
  graph_info const& info = from.info();
  bool const named = o.variant.has_value();
  if (!named) o.variant = bfs_job::default_variant(info, o);
  if (o.cached_neighbors.value_or(0) && o.variant != bfs_variant::direction)
    cli::fail(errc::usage, "--cached-neighbors {}: only --variant direction uses them{}", *o.cached_neighbors,
              named ? "" : ", and here the search goes by levels");
  bfs_job::require_runnable(a.file, info, o);
  cli::job_needs needs;
  needs.in_edges = o.variant == bfs_variant::direction && info.directed;
  job_ground const at = a.load(from, o, needs);
  cli::sources_chosen const sources = a.choose_sources(at.g);
  if (!a.json) {
    at.say_head();
    a.say_sources(sources);
  }

  bfs_job job(at.g, o);
  if (!a.json) at.say_device_cache(job.setting().device_cache);
  std::vector<bfs_run> const runs = a.run_all(
      job, sources, say_row_head, [&](bfs_run const& r) { say_row(r, at); },
      [&](bfs_run const& r) {
        say_levels(r, at);
        say_run(r, at);
      });
  if (!a.json && sources.many()) say_summary(runs, at);
  if (a.wants_result()) {
    result_target const to = a.result();
    write_depths(at.g, to, sources.ids.back(), job.depths(), wants_parents(to.format) ? job.parents() : std::vector<std::uint64_t>{});
    if (!a.json) a.say_written(wants_parents(to.format) ? "depth and parent" : "depth", sources);
  }
  if (!a.json) return;

  json all = at.head();
  all["variant"] = to_string(*o.variant);
  all["cached_neighbors"] = job.cached_neighbors();
  all["id_bytes"] = info.id_bytes;
  all["vertices_per_team"] = o.tuning.vertices_per_team;
  all["split_hubs"] = o.tuning.split_hubs;
  all["join_adjacency"] = *o.tuning.join_lists;
  all["queue_small"] = o.tuning.queue_small;
  all["slice"] = o.tuning.slice;
  at.add_device_cache(all, job.setting().device_cache);
  at.add_tail(all, cli::all_verified(runs));
  cli::add_first_and_after(all, runs);
  all["runs"] = json::array();
  for (bfs_run const& r : runs) all["runs"].push_back(to_json(r, at));
  cli::say("{}\n", all.dump(2));
}

}  // namespace

void add_bfs(cli::program& p) {
  auto const a = std::make_shared<bfs_arguments>();
  cli::verb& v = p.add("bfs", "breadth-first search over edges in or outside GPU memory");
  a->add_file(v);
  a->add_sources(v);
  a->add_place(v);
  a->add_shards(v);
  v.add("--variant", a->variant,
        "levels: top-down; direction: direction-optimizing, which uses the in-edges of directed graphs (default: direction if possible)")
      .among("levels direction", "emogi");
  v.add("--cached-neighbors", a->how.cached_neighbors);
  v.add("--max-depth", a->how.max_depth);
  a->add_walk(v);
  v.add("--no-queue", a->no_queue);
  a->add_l2(v);
  a->add_verify(v);
  a->add_out(v, "file to write: one line per vertex with depth and parent, -1 -1 if not reached; for the last source");
  v.add("--levels", a->steps);
  a->add_rest(v);
  v.ends_with("Example: garner bfs kron20.gnr --trials 8 --device simulated --verify");
  v.runs([a] { search(*a); });
}

}  // namespace garner
