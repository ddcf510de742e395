// garner sssp: shortest paths from one source or many over weighted edges, at a place, in an access mode, over edges in a tier.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "search.hpp"
#include "traverse/sssp.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using cli::grouped, cli::job_ground;
using json = cli::ordered_json;

struct sssp_arguments : cli::search_arguments {
  std::string variant = "near-far";
  sssp_asked how;
};

char const* name_of(sssp_variant v) { return v == sssp_variant::emogi ? "emogi" : "near-far"; }
sssp_variant parse_variant(std::string const& text) { return text == "emogi" ? sssp_variant::emogi : sssp_variant::near_far; }

bool is_real(job_ground const& at) { return at.info.weights == weight_kind::f32; }
std::string largest(sssp_run const& r, job_ground const& at) {
  return is_real(at) ? fmt::format("{:.6g}", r.real_max) : grouped(r.distance_max);
}
std::string sum(sssp_run const& r, job_ground const& at) {
  return is_real(at) ? fmt::format("{:.9g}", r.real_sum) : grouped(r.distance_sum);
}

json to_json(sssp_run const& r, job_ground const& at) {
  json rounds = json::array();
  for (sssp_round const& l : r.rounds) {
    json round{{"frontier", l.frontier}, {"edges", l.edges}, {"bytes_link", cli::or_null(at.link.crosses, l.bytes_link)}, {"ms", l.ms}};
    at.add_rate(round, l.bytes_link, l.ms);
    rounds.push_back(std::move(round));
  }
  json j{{"source", r.source}, {"reached", r.reached}, {"edges", r.edges}};
  j["distance_max"] = is_real(at) ? json(r.real_max) : json(r.distance_max);
  j["distance_sum"] = is_real(at) ? json(r.real_sum) : json(r.distance_sum);
  j["thresholds"] = r.thresholds;
  j["ms"] = r.ms;
  at.add_traffic(j, r.link);
  at.add_file(j, r.file, r.ms);
  j["verified"] = r.verified;
  j["rounds"] = std::move(rounds);
  return j;
}

void say_rounds(sssp_run const& r, job_ground const& at) {
  cli::say("{:>7} {:>14} {:>16} {:>14} {:>10} {:>8}\n", "round", "frontier", "edges", "over the link", "ms", "GB/s");
  for (std::size_t k = 0; k < r.rounds.size(); ++k) {
    sssp_round const& l = r.rounds[k];
    cli::say("{:>7} {:>14} {:>16} {:>14} {:>10.3f} {:>8}\n", k, grouped(l.frontier), grouped(l.edges), at.link_bytes(l.bytes_link), l.ms,
             at.rate(l.bytes_link, l.ms));
  }
}

void say_run(sssp_run const& r, job_ground const& at) {
  cli::say("reached {} of {} vertices ({:.2f} %), largest distance {}, distances sum {}\n", grouped(r.reached), grouped(at.info.vertices),
           100.0 * static_cast<double>(r.reached) / static_cast<double>(at.info.vertices), largest(r, at), sum(r, at));
  cli::say("{} edges relaxed in {} rounds, the threshold moved {} times\n", grouped(r.edges), r.rounds.size(), r.thresholds);
  cli::say("time {:.3f} ms{}{}\n", r.ms, at.of_what(), cli::prepared_in(r.prepare_ms));
  at.say_traffic(r.link);
  at.say_file(r.file, r.ms);
  if (r.verified) cli::say("verified\n");
}

void say_row_head() {
  cli::say("{:>14} {:>14} {:>14} {:>20} {:>7} {:>11} {:>14} {:>6}\n", "source", "reached", "largest", "distances sum", "rounds", "ms",
           "over the link", "ampl.");
}
void say_row(sssp_run const& r, job_ground const& at) {
  cli::say("{:>14} {:>14} {:>14} {:>20} {:>7} {:>11.3f} {:>14} {:>6}{}\n", r.source, grouped(r.reached), largest(r, at), sum(r, at),
           r.rounds.size(), r.ms, at.link_bytes(r.link.bytes_link()), at.amplification(r.link), r.verified ? " verified" : "");
}

void write_distances(sssp_job& job, job_ground const& at, result_target const& to, std::uint64_t source) {
  std::vector<std::uint64_t> const parents = wants_parents(to.format) ? job.parents() : std::vector<std::uint64_t>{};
  if (is_real(at)) write_distances(at.g, to, source, job.real_distances(), parents);
  else write_distances(at.g, to, source, job.distances(), parents);
}

void search(sssp_arguments& a) {
  sssp_asked& o = a.how;
  o.variant = parse_variant(a.variant);
  bool const near_far = o.variant == sssp_variant::near_far;
  if (o.delta && !(*o.delta > 0)) cli::fail(errc::usage, "--delta {}: use a number above 0", *o.delta);
  if (!near_far && (o.delta || a.join))
    cli::fail(errc::usage, "--variant emogi: has neither delta nor join; leave out {}", o.delta ? "--delta" : "--join");
  a.apply(o);
  graph_source from(a.file);
  graph_info const& info = from.info();
  sssp_job::require_runnable(a.file, info, o);
  cli::job_needs needs;
  needs.weights = true;
  job_ground const at = a.load(from, o, needs);
  cli::sources_chosen const sources = a.choose_sources(at.g);
  sssp_job job(at.g, o);
  if (!a.json) at.say_device_cache(job.setting().device_cache);
  if (!a.json) {
    at.say_head();
    a.say_sources(sources);
    if (near_far) cli::say("variant near-far, delta {:.6g}\n", job.delta());
    else cli::say("variant emogi\n");
  }

  std::vector<sssp_run> const runs = a.run_all(
      job, sources, say_row_head, [&](sssp_run const& r) { say_row(r, at); },
      [&](sssp_run const& r) {
        if (a.steps) say_rounds(r, at);
        say_run(r, at);
      });
  if (!a.json && sources.many()) cli::say("{} searches: {}{}\n", runs.size(), cli::first_and_after(runs), at.of_what());
  if (a.wants_result()) {
    result_target const to = a.result();
    write_distances(job, at, to, sources.ids.back());
    if (!a.json) a.say_written(wants_parents(to.format) ? "distance and parent" : "distance", sources);
  }
  if (!a.json) return;

  json all = at.head();
  all["weights"] = is_real(at) ? "f32" : "u32";
  all["id_bytes"] = info.id_bytes;
  all["variant"] = name_of(o.variant);
  all["delta"] = cli::or_null(near_far, job.delta());
  all["vertices_per_team"] = o.tuning.vertices_per_team;
  all["split_hubs"] = near_far && o.tuning.split_hubs;
  all["join_adjacency"] = sssp_job::joins_lists(o);
  all["slice"] = o.tuning.slice;
  at.add_device_cache(all, job.setting().device_cache);
  at.add_tail(all, cli::all_verified(runs));
  cli::add_first_and_after(all, runs);
  all["runs"] = json::array();
  for (sssp_run const& r : runs) all["runs"].push_back(to_json(r, at));
  cli::say("{}\n", all.dump(2));
}

}  // namespace

void add_sssp(cli::program& p) {
  auto const a = std::make_shared<sssp_arguments>();
  cli::verb& v = p.add("sssp", "shortest paths over weighted edges in or outside GPU memory");
  a->add_file(v);
  a->add_sources(v);
  a->add_place(v);
  v.add("--variant", a->variant, "near-far").among("near-far", "emogi");
  v.add("--delta", a->how.delta);
  a->add_walk(v, "adjacent lists of the frontier are read as one (default: with --access aligned, except on cpu)");
  a->add_l2(v);
  a->add_verify(v);
  a->add_out(v, "file to write: one line per vertex with distance and parent, infinity -1 if not reached; for the last source");
  v.add("--rounds", a->steps);
  a->add_rest(v);
  v.ends_with(
      "The graph must have weights: garner convert IN.gnr OUT.gnr --random-weights 1:255 adds some.\n"
      "Example: garner sssp road.gnr --source 1 --verify --out paths.txt");
  v.runs([a] { search(*a); });
}

}  // namespace garner
