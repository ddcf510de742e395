// garner components: the weak connected components of a graph, at a place, in an access mode, over edges in a tier.
#include <fmt/format.h>

#include <memory>

#include "command/job_options.hpp"
#include "garner/progress.hpp"
#include "traverse/components.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using cli::grouped, cli::job_ground;
using json = cli::ordered_json;

struct components_arguments : cli::job_arguments {
  std::string variant = "afforest";
  std::uint64_t trials = 1;
  components_asked how;
};

char const* name_of(components_phase::kind what) {
  constexpr char const* names[] = {"round", "first neighbors", "remaining", "all"};
  return names[static_cast<std::size_t>(what)];
}

json to_json(components_run const& r, job_ground const& at) {
  json phases = json::array();
  for (components_phase const& p : r.phases) {
    json phase{{"phase", name_of(p.what)},
               {"vertices", p.vertices},
               {"edges", p.edges},
               {"bytes_link", cli::or_null(at.link.crosses, p.link.bytes_link())},
               {"ms", p.ms},
               {"bytes_exchanged", p.bytes_exchanged}};
    at.add_rate(phase, p.link.bytes_link(), p.ms);
    phases.push_back(std::move(phase));
  }
  json j{{"components", r.components}, {"largest", r.largest}, {"edges", r.edges}, {"ms", r.ms}, {"prepare_ms", r.prepare_ms}};
  at.add_traffic(j, r.link);
  at.add_file(j, r.file, r.ms);
  j["verified"] = r.verified;
  j["phases"] = std::move(phases);
  j["shards"] = cli::json_of(r.shards);
  return j;
}

void say_run(components_run const& r, job_ground const& at) {
  cli::say("{:>17} {:>14} {:>16} {:>14} {:>10} {:>8}\n", "phase", "vertices", "edges", "over the link", "ms", "GB/s");
  for (std::size_t k = 0; k < r.phases.size(); ++k) {
    components_phase const& p = r.phases[k];
    cli::say("{:>17} {:>14} {:>16} {:>14} {:>10.3f} {:>8}\n",
             p.what == components_phase::kind::round ? fmt::format("round {}", k + 1) : name_of(p.what), grouped(p.vertices),
             grouped(p.edges), at.link_bytes(p.link.bytes_link()), p.ms, at.rate(p.link.bytes_link(), p.ms));
  }
  graph_info const& info = at.info;
  cli::say("{} components, the largest of {} vertices ({:.2f} %), {} edges looked at ({:.3f} of all)\n", grouped(r.components),
           grouped(r.largest), info.vertices ? 100.0 * static_cast<double>(r.largest) / static_cast<double>(info.vertices) : 0,
           grouped(r.edges), info.edges ? static_cast<double>(r.edges) / static_cast<double>(info.edges) : 0);
  cli::say("time {:.3f} ms{}{}\n", r.ms, at.of_what(), cli::prepared_in(r.prepare_ms));
  at.say_traffic(r.link);
  at.say_file(r.file, r.ms);
  at.say_shards(r.shards);
  if (r.verified) cli::say("verified\n");
}

void find(components_arguments& a) {
  components_asked& o = a.how;
  if (a.variant == "emogi") o.variant = components_variant::emogi;
  if (a.trials == 0) cli::fail(errc::usage, "--trials 0: use 1 or more");
  cli::check_vertices_per_team(o.tuning.vertices_per_team);
  cli::check_slice(o.tuning.slice);
  if (o.first_neighbors > 64) cli::fail(errc::usage, "--first-neighbors {}: use 0 to 64", o.first_neighbors);
  a.resolve(o);

  graph_source from(a.file);
  graph_info const& info = from.info();
  components_job::require_runnable(a.file, info, o);
  cli::job_needs needs;
  job_ground const at = a.load(from, o, needs);
  if (!a.json) {
    at.say_head(", variant " + a.variant);
    cli::say("\n");
    cli::flush_out();
  }

  components_job job(at.g, o);
  if (!a.json) at.say_device_cache(job.setting().device_cache);
  std::vector<components_run> runs;
  {
    progress bar("finding components", a.trials);
    for (std::uint64_t k = 0; k < a.trials; ++k) {
      runs.push_back(job.run());
      bar.advance(1);
    }
  }
  if (!a.json) {
    say_run(runs.back(), at);
    if (runs.size() > 1) cli::say("{} runs: {}\n", runs.size(), cli::first_and_after(runs));
  }
  if (a.wants_result()) {
    write_labels(at.g, a.result(), job.labels());
    if (!a.json) cli::say("{}: the component of every vertex\n", a.out);
  }
  if (!a.json) return;

  json all = at.head();
  all["id_bytes"] = info.id_bytes;
  all["variant"] = a.variant;
  all["vertices_per_team"] = o.tuning.vertices_per_team;
  all["first_neighbors"] = o.first_neighbors;
  all["slice"] = o.tuning.slice;
  at.add_device_cache(all, job.setting().device_cache);
  at.add_tail(all, cli::all_verified(runs));
  all["components"] = runs.back().components;
  all["largest"] = runs.back().largest;
  all["ms_median"] = cli::median(cli::times_of(runs));
  cli::add_first_and_after(all, runs);
  all["runs"] = json::array();
  for (components_run const& r : runs) all["runs"].push_back(to_json(r, at));
  cli::say("{}\n", all.dump(2));
}

}  // namespace

void add_components(cli::program& p) {
  auto const a = std::make_shared<components_arguments>();
  cli::verb& v = p.add("components", "weakly connected components over edges in or outside GPU memory");
  a->add_file(v);
  a->add_place(v);
  a->add_shards(v);
  v.add("--variant", a->variant, "afforest").among("afforest", "emogi");
  v.add("--first-neighbors", a->how.first_neighbors);
  v.add("--slice", a->how.tuning.slice, "edges of a long adjacency list that one group of GPU threads takes; afforest");
  v.add("--vertices-per-team", a->how.tuning.vertices_per_team);
  v.add("--seed", a->how.seed, "random seed of the sample that finds the largest component; afforest");
  v.add("--trials", a->trials);
  a->add_l2(v);
  a->add_verify(v);
  a->add_out(v, "file to write: one line per vertex with its component, named by its smallest vertex");
  a->add_rest(v);
  v.ends_with(
      "Components are weak: the direction of an edge does not matter. Every vertex without edges is a component of its own.\n"
      "Example: garner components kron20.gnr --device simulated --verify");
  v.runs([a] { find(*a); });
}

}  // namespace garner
