// garner components: the weak connected components of a graph, at a place, in an access mode, over edges in a tier.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>

#include "core/progress.hpp"
#include "core/publish.hpp"
#include "graph/container.hpp"
#include "graph/convert.hpp"
#include "job_options.hpp"
#include "traverse/components.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using cli::grouped;
using json = nlohmann::ordered_json;

struct components_arguments {
  cli::job_arguments job;
  std::string variant = "afforest", out;
  std::uint64_t trials = 1;
  components_options how;
};

char const* name_of(components_phase::kind what) {
  switch (what) {
    case components_phase::kind::round:
      return "round";
    case components_phase::kind::first_neighbours:
      return "first neighbours";
    case components_phase::kind::remaining:
      return "remaining";
    case components_phase::kind::all:
      return "all";
  }
  return "";
}

json to_json(components_run const& r, graph_info const& info, cli::link_shown link) {
  json phases = json::array();
  for (components_phase const& p : r.phases) {
    auto const rate = cli::gb_per_s(p.link.bytes_link(), p.ms, link);
    phases.push_back({{"phase", name_of(p.what)},
                      {"vertices", p.vertices},
                      {"edges", p.edges},
                      {"bytes_link", cli::or_null(link.crosses, p.link.bytes_link())},
                      {"ms", p.ms},
                      {"gbs", cli::or_null(rate.has_value(), rate.value_or(0))}});
  }
  return {{"components", r.components},
          {"largest", r.largest},
          {"edges", r.edges},
          {"ms", r.ms},
          {"bytes_link", cli::or_null(link.crosses, r.link.bytes_link())},
          {"amplification", cli::or_null(link.crosses, r.link.amplification(info.edges * info.id_bytes))},
          {"overfetch", cli::or_null(link.crosses, r.link.overfetch())},
          {"requests", cli::requests_of(r.link, link)},
          {"verified", r.verified},
          {"phases", phases}};
}

void say_run(components_run const& r, graph_info const& info, cli::link_shown link) {
  cli::say("{:>17} {:>14} {:>16} {:>14} {:>10} {:>8}\n", "phase", "vertices", "edges", "over the link", "ms", "GB/s");
  for (std::size_t k = 0; k < r.phases.size(); ++k) {
    components_phase const& p = r.phases[k];
    auto const rate = cli::gb_per_s(p.link.bytes_link(), p.ms, link);
    cli::say("{:>17} {:>14} {:>16} {:>14} {:>10.3f} {:>8}\n",
             p.what == components_phase::kind::round ? fmt::format("round {}", k + 1) : name_of(p.what), grouped(p.vertices),
             grouped(p.edges), link.crosses ? format_bytes(p.link.bytes_link()) : "-", p.ms, rate ? fmt::format("{:.2f}", *rate) : "-");
  }
  cli::say("{} components, the largest of {} vertices ({:.2f} %), {} edges looked at ({:.3f} of all)\n", grouped(r.components),
           grouped(r.largest), info.vertices ? 100.0 * static_cast<double>(r.largest) / static_cast<double>(info.vertices) : 0,
           grouped(r.edges), info.edges ? static_cast<double>(r.edges) / static_cast<double>(info.edges) : 0);
  cli::say("time {:.3f} ms{}\n", r.ms, link.timed ? "" : " (of the simulation)");
  cli::say_link(r.link, info, link);
  if (r.verified) cli::say("verified\n");
}

// "vertex component" a line, by the user's ids; a component is named by the smallest of them.
void write_labels(components_job& job, graph const& g, std::string const& name) {
  std::vector<std::uint64_t> const label = smallest_ids(g, job.labels());
  pending_file out(name);
  progress bar("writing", g.info.vertices);
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), "# vertex component\n");
  for (std::uint64_t k = 0; k < g.info.vertices; ++k) {
    std::uint64_t const v = g.at_rank(k);
    fmt::format_to(std::back_inserter(text), "{} {}\n", g.user_id(v), label[v]);
    if (text.size() > 1u << 20) {
      out.write(text.data(), text.size());
      text.clear();
    }
    if (k % 65536 == 65535) bar.advance(65536);
  }
  out.write(text.data(), text.size());
  out.commit();
}

void find(components_arguments& a) {
  components_options& o = a.how;
  if (a.variant == "emogi") o.variant = components_variant::emogi;
  else if (a.variant != "afforest") fail(errc::usage, "--variant {}: say afforest or emogi", a.variant);
  if (a.trials == 0) fail(errc::usage, "--trials 0: say 1 or more");
  if (o.vertices_per_team < 1 || o.vertices_per_team > 1024)
    fail(errc::usage, "--vertices-per-team {}: say 1 to 1024", o.vertices_per_team);
  if (o.slice < 64 || o.slice % 32) fail(errc::usage, "--slice {}: say a multiple of 32, 64 or more", o.slice);
  if (o.first_neighbours > 64) fail(errc::usage, "--first-neighbours {}: say 0 to 64", o.first_neighbours);
  a.job.resolve(o);
  cli::check_outputs(a.job.file, {{"--out", a.out}});

  bool const on_device = o.where.kind == place_kind::device;
  graph_info const info = read_header(a.job.file).info;
  std::uint64_t const state = components_job::state_bytes(info, o);
  std::uint64_t const limit = on_device ? cli::device_limit(o.where) : 0;
  graph const g = a.job.load(info, o.where, *o.edges, state);
  cli::link_shown const link = cli::what_crosses(o.where, *o.edges);
  if (!a.job.json) {
    cli::say("graph   {}: {}\n", a.job.file, cli::describe(info));
    cli::say("place   {}; edges in tier {} ({}), access {}, variant {}\n", to_string(o.where), to_string(*o.edges),
             format_bytes(info.edges * info.id_bytes), to_string(o.access), a.variant);
    cli::say("memory  state {}{}\n\n", format_bytes(state), on_device ? ", device budget " + format_bytes(limit) : "");
    cli::flush_out();
  }

  components_job job(g, o);
  std::vector<components_run> runs;
  {
    progress bar("finding components", a.trials);
    for (std::uint64_t k = 0; k < a.trials; ++k) {
      runs.push_back(job.run());
      bar.advance(1);
    }
  }
  std::vector<double> ms;
  for (components_run const& r : runs) ms.push_back(r.ms);
  std::sort(ms.begin(), ms.end());
  if (!a.job.json) {
    say_run(runs.back(), info, link);
    if (runs.size() > 1)
      cli::say("{} runs: ms least {:.3f}, median {:.3f}, most {:.3f}\n", runs.size(), ms.front(), ms[ms.size() / 2], ms.back());
  }
  if (!a.out.empty()) {
    write_labels(job, g, a.out);
    if (!a.job.json) cli::say("{}: the component of every vertex\n", a.out);
  }
  if (!a.job.json) return;

  json all{{"file", a.job.file},
           {"vertices", info.vertices},
           {"edges", info.edges},
           {"directed", info.directed},
           {"place", to_string(o.where)},
           {"tier", to_string(*o.edges)},
           {"access", to_string(o.access)},
           {"id_bytes", info.id_bytes},
           {"variant", a.variant},
           {"vertices_per_team", o.vertices_per_team},
           {"first_neighbours", o.first_neighbours},
           {"slice", o.slice},
           {"l2_bytes", o.l2_bytes},
           {"device_budget", cli::or_null(on_device, limit)},
           {"host_budget", cli::or_null(host_budget().limit() != budget::unlimited, host_budget().limit())},
           {"state_bytes", state},
           {"checked", !a.job.no_check},
           {"verified", std::all_of(runs.begin(), runs.end(), [](components_run const& r) { return r.verified; })},
           {"simulated", !link.timed},
           {"components", runs.back().components},
           {"largest", runs.back().largest},
           {"ms_median", ms[ms.size() / 2]},
           {"runs", json::array()}};
  for (components_run const& r : runs) all["runs"].push_back(to_json(r, info, link));
  cli::say("{}\n", all.dump(2));
}

}  // namespace

void add_components(CLI::App& app) {
  auto const a = std::make_shared<components_arguments>();
  CLI::App* const verb = app.add_subcommand("components", "weak connected components, over edges that may lie outside the GPU");
  a->job.add(*verb);
  verb->add_option("--variant", a->variant, "afforest, or emogi: labels spread round by round, as in the paper")
      ->capture_default_str()
      ->type_name("VARIANT");
  cli::add_number(*verb, "--first-neighbours", a->how.first_neighbours, "of each list, linked before the rest; afforest")
      ->capture_default_str();
  cli::add_number(*verb, "--slice", a->how.slice, "elements of a long list that one team takes; afforest")->capture_default_str();
  cli::add_number(*verb, "--vertices-per-team", a->how.vertices_per_team, "lists that one team walks one after the other")
      ->capture_default_str();
  cli::add_number(*verb, "--seed", a->how.seed, "of the sample that finds the largest component; afforest")->capture_default_str();
  cli::add_number(*verb, "--trials", a->trials, "so many runs, for their times")->capture_default_str();
  verb->add_flag("--verify", a->how.check_certificate, "check the result against the graph");
  verb->add_option("--out", a->out, "file to write: vertex component a line, a component by its smallest vertex")->type_name("FILE");
  verb->footer(
      "Components are weak: the direction of an edge does not matter. Every vertex without edges is a component of its own.\n"
      "Example: garner components kron20.gnr --place traced --variant emogi --verify");
  verb->callback([a] { find(*a); });
}

}  // namespace garner
