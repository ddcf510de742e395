// garner-lab traffic: what an algorithm would send over the link in each access mode, counted by a simulated run, and the time links would
// need: the dissertation's figures of requests, amplification and link scaling, without its machines.

#include <memory>

#include "cli/command/common.hpp"
#include "cli/command/job_options.hpp"
#include "cli/command/link_times.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "far/matrix.hpp"
#include "graph/graph.hpp"
#include "graph/source.hpp"
#include "memory/budget.hpp"
#include "traverse/bfs.hpp"
#include "traverse/components.hpp"
#include "traverse/pagerank.hpp"
#include "traverse/plan.hpp"
#include "traverse/sssp.hpp"
#include "verbs.hpp"

namespace garner::lab {

namespace {

using cli::grouped, cli::say;
using json = nlohmann::ordered_json;

struct traffic_arguments {
  std::string job, file, access = "all", tier = "host", l2 = "0", variant;
  std::optional<std::uint64_t> source, iterations;
  std::uint64_t seed = 1;
  bool as_json = false, no_check = false;
  std::string device_cache = "0";
  cli::budget_arguments budgets;
};

// What one run sent, and the edges it read. `steps`: levels, rounds, iterations or phases, and what each read of the file.
struct counted {
  access_mode how;
  traffic link;
  std::uint64_t edges = 0;
  file_reads file;
  std::vector<file_reads> steps;
};

std::vector<file_reads> steps_of(auto const& of_run) {
  std::vector<file_reads> all;
  for (auto const& step : of_run) all.push_back(step.file);
  return all;
}

counted count(graph const& g, job_options const& options, std::uint64_t source) {
  counted c{access_mode::aligned, {}, 0, {}, {}};
  auto const note = [&](auto const& o, auto const& run) {
    c = {o.access, run.link, run.edges, run.file, {}};
    if constexpr (requires { run.levels; }) c.steps = steps_of(run.levels);
    else if constexpr (requires { run.phases; }) c.steps = steps_of(run.phases);
    else c.steps = steps_of(run.rounds);
  };
  if (auto const* const o = std::get_if<bfs_asked>(&options)) note(*o, bfs_job(g, *o).run(source));
  else if (auto const* const o = std::get_if<sssp_asked>(&options)) note(*o, sssp_job(g, *o).run(source));
  else if (auto const* const o = std::get_if<components_asked>(&options)) note(*o, components_job(g, *o).run());
  else if (auto const* const o = std::get_if<pagerank_asked>(&options)) note(*o, pagerank_job(g, *o).run());
  return c;
}

// What a run consists of.
std::string_view step_of(job_options const& o) {
  bool const paper = variant_of(o) == "emogi";
  job_kind const kind = kind_of(o);
  if (kind == job_kind::bfs) return "level";
  return kind == job_kind::sssp || paper ? "round" : kind == job_kind::components ? "phase" : "iteration";
}

// Pages of an unknown rate take an unknown time.
std::optional<double> ms_of(traffic const& t, link_rates const& rates) {
  if (t.pages && !rates.paged_gbs) return std::nullopt;
  return predicted_ms(t, rates);
}

json to_json(counted const& c, std::uint64_t data_bytes, std::optional<link_rates> const& here, bool in_file) {
  json read = nullptr;
  if (in_file) {
    read = cli::json_of(c.file, data_bytes);
    read["steps"] = json::array();
    for (file_reads const& step : c.steps) read["steps"].push_back(cli::json_of(step));
  }
  json requests = json::object();
  for (std::size_t k = 0; k < 4; ++k) requests[std::to_string(32 * (k + 1))] = c.link.requests[k];
  return {{"access", to_string(c.how)},
          {"edges", c.edges},
          {"requests", requests},
          {"pages", c.link.pages},
          {"request_count", c.link.request_count()},
          {"sectors", c.link.pages ? 0 : c.link.bytes_link() / 32},
          {"bytes_link", c.link.bytes_link()},
          {"bytes_useful", c.link.bytes_useful},
          {"amplification", c.link.amplification(data_bytes)},
          {"overfetch", c.link.overfetch()},
          {"ms", cli::times_of(here, [&](link_rates const& r) { return ms_of(c.link, r); })},
          {"adjacency_reads", read}};
}

json count_all(traffic_arguments const& a) {
  job_options o = default_options(parse_job(a.job));
  job_kind const kind = kind_of(o);
  if (!a.variant.empty()) set_variant(o, a.variant);
  bool const searches = kind == job_kind::bfs || kind == job_kind::sssp;
  if (a.source && !searches) fail(errc::usage, "--source goes with bfs and sssp; {} has none", a.job);
  if (a.iterations && kind != job_kind::pagerank) fail(errc::usage, "--iterations goes with pagerank; {} has none", a.job);
  if (a.iterations && *a.iterations == 0) fail(errc::usage, "--iterations 0: use 1 or more");
  std::vector<access_mode> modes{access_mode::strided, access_mode::merged, access_mode::aligned, access_mode::paged};
  tier const edges = parse_tier(a.tier);
  if (edges != tier::host && edges != tier::file)
    fail(errc::usage, "--tier {}: traffic is counted for adjacency in tier host or file", a.tier);
  bool const in_file = edges == tier::file;
  if (in_file) modes.pop_back();  // no pages of it are moved
  if (a.access != "all") modes = {parse_access(a.access)};
  execution_device const where{device_kind::simulated, 0};
  auto const tier_of = [&](access_mode how) { return in_file ? tier::file : default_tier(where, how); };
  for (access_mode const how : modes) require_combination(where, tier_of(how), how);
  if (in_file) std::visit([](auto& job) { job.edges = tier::file; }, o);
  std::uint64_t const l2 = parse_bytes(a.l2);
  std::visit([&](auto& job) { job.device = where, job.tuning.l2_bytes = l2, job.graph_cache = parse_bytes(a.device_cache); }, o);
  // The same algorithm in every mode: BFS changes direction only if that variant is set.
  if (auto* const bfs = std::get_if<bfs_asked>(&o); bfs && !bfs->variant) bfs->variant = bfs_variant::levels;
  if (auto* const p = std::get_if<pagerank_asked>(&o)) {
    // Every iteration of pull reads the same; rounds of emogi differ, so all of them count.
    p->iterations = a.iterations;
    if (!a.iterations && p->variant == pagerank_variant::pull) p->iterations = 1;
  }
  a.budgets.apply(where);

  graph_source from(a.file);
  if (pulls_in_lists(o) && !(in_file && kind == job_kind::bfs)) from.want_in_lists();
  graph_info const& info = from.info();
  stored const kept = stored_in(from.header());
  bool cached_neighbors = false;
  for (access_mode const how : modes) {
    std::visit([&](auto& job) { job.access = how; }, o);
    require_runnable(a.file, info, o);
    job_plan const p = make_plan(info, o, kept);
    cached_neighbors |= bytes_of_file_neighbors(info, o, kept, p.kept) > 0;
    cli::require_memory(a.file, p.host_bytes() + from.making_bytes(false, reads_in_lists(info, o)), p.device_bytes(), where);
  }
  load_options load;
  load.check = !a.no_check;
  load.weights = kind == job_kind::sssp;
  load.in_edges = reads_in_lists(info, o);
  load.cached_neighbors = cached_neighbors;
  if (in_file) load.edges = tier::file;
  graph const g = from.load(load);
  std::uint64_t source = 0;
  if (searches) {
    std::vector<std::uint64_t> const picked = a.source ? std::vector<std::uint64_t>{*a.source} : pick_sources(g, 1, a.seed);
    if (picked.empty())
      fail(errc::input, "{}: no source can be picked, since no vertex has an edge that leaves it; name one with --source", a.file);
    source = picked[0];
    g.internal_id(source);
  }

  std::optional<link_rates> const here = cli::link_here(where, false);
  std::uint64_t const data_bytes = target_bytes(info, kept) + (load.weights ? weight_bytes(info, kept) : 0);
  json all{{"file", a.file},
           {"graph", cli::describe(info)},
           {"vertices", info.vertices},
           {"edges", info.edges},
           {"id_bytes", info.id_bytes},
           {"algorithm", a.job},
           {"variant", variant_of(o)},
           {"tier", to_string(edges)},
           {"step", step_of(o)},
           {"source", searches ? json(source) : json()},
           {"iterations", json()},
           {"l2_bytes", l2},
           {"in_edges_built_ms", from.makes_in_lists() ? json(from.making_ms()) : json()},
           {"data_bytes", data_bytes},
           {"runs", json::array()}};
  if (auto const* const r = std::get_if<pagerank_asked>(&o); r && r->iterations) all["iterations"] = *r->iterations;
  if (!here) all["not_here"] = cli::why_no_link(where);
  progress bar("tracing", modes.size());
  for (access_mode const how : modes) {
    std::visit([&](auto& job) { job.access = how; }, o);
    all["runs"].push_back(to_json(count(g, o, source), data_bytes, here, in_file));
    bar.advance(1);
  }
  return all;
}

void print(json const& all) {
  auto const text = [](json const& j) { return j.get<std::string>(); };
  auto const whole = [](json const& j) { return j.get<std::uint64_t>(); };
  say("graph   {}: {}\n", text(all["file"]), text(all["graph"]));
  say("algorithm {}, variant {}", text(all["algorithm"]), text(all["variant"]));
  if (!all["source"].is_null()) say(", source {}", whole(all["source"]));
  if (!all["iterations"].is_null()) say(", iterations {}", whole(all["iterations"]));
  say("; simulated, {}\n", whole(all["l2_bytes"]) ? "an L2 of " + format_bytes(whole(all["l2_bytes"])) : "no cache");
  if (!all["in_edges_built_ms"].is_null())
    say("in-edges: not in the file; built in {:.1f} ms (garner convert --in-edges stores them)\n", all["in_edges_built_ms"].get<double>());
  say("\n{:<8} {:>14} {:>14} {:>14} {:>14} {:>11} {:>11} {:>6} {:>6} |{:>9} {:>9} {:>9} {:>9}\n", "access", "32 B", "64 B", "96 B", "128 B",
      "pages 4 KiB", "bytes", "ampl.", "overf.", "ms here", "12.3 GB/s", "24 GB/s", "51 GB/s");
  for (json const& r : all["runs"]) {
    json const &q = r["requests"], &ms = r["ms"];
    say("{:<8} {:>14} {:>14} {:>14} {:>14} {:>11} {:>11} {:>6.3f} {:>6.3f} |{:>9} {:>9} {:>9} {:>9}\n", text(r["access"]),
        grouped(whole(q["32"])), grouped(whole(q["64"])), grouped(whole(q["96"])), grouped(whole(q["128"])), grouped(whole(r["pages"])),
        format_bytes(whole(r["bytes_link"])), r["amplification"].get<double>(), r["overfetch"].get<double>(), cli::shown_ms(ms["here"]),
        cli::shown_ms(ms["12.3"]), cli::shown_ms(ms["24"]), cli::shown_ms(ms["51"]));
  }
  if (all.contains("not_here")) say("\nno time here: {}\n", text(all["not_here"]));
  for (json const& r : all["runs"]) {
    json const& read = r["adjacency_reads"];
    if (read.is_null()) continue;
    say("\n{}, from the file: {:.3f} of the adjacency, {:.3f} of the requested bytes, {:.3f} of the drive's blocks that hold them\n{:>8} "
        "{:>14} "
        "{:>14} {:>14} "
        "{:>14}\n",
        text(r["access"]), read["share_of_adjacency"].get<double>(), read["overfetch"].get<double>(),
        read["overfetch_of_blocks"].get<double>(), text(all["step"]), "requests", "bytes", "requested", "their blocks");
    auto const line = [&](std::string const& name, json const& f) {
      say("{:>8} {:>14} {:>14} {:>14} {:>14}\n", name, grouped(whole(f["requests"])), grouped(whole(f["bytes"])),
          grouped(whole(f["bytes_requested"])), grouped(whole(f["bytes_of_blocks"])));
    };
    for (std::size_t k = 0; k < read["steps"].size(); ++k) line(std::to_string(k), read["steps"][k]);
    line("all", read);
  }
}

}  // namespace

void add_traffic(cli::program& p) {
  auto const a = std::make_shared<traffic_arguments>();
  cli::verb& v = p.add("traffic", "link traffic of an algorithm in each access mode, and its time on several links");
  v.add("ALGORITHM", a->job).required();
  v.add("FILE", a->file).required();
  v.add("--access", a->access, "strided, merged, aligned, paged, all of these, or copied");
  v.add("--tier", a->tier, "host; file: adjacency stays on disk, and reads are reported step by step");
  v.add("--variant", a->variant);
  v.add("--source", a->source, "source of bfs and sssp, by the user's id (default: a random one)");
  v.add("--seed", a->seed, "random seed of the source");
  v.add("--iterations", a->iterations,
        "number of pagerank iterations (default: 1 for pull, whose iterations all read the same; all rounds for emogi)");
  v.add("--l2-bytes", a->l2, "size of the L2 cache in front of the link, as 50MiB (default: none)");
  v.add("--json", a->as_json);
  v.add("--no-check", a->no_check);
  v.add("--graph-cache", a->device_cache, "memory of the simulated GPU that caches remote adjacency (default: 0)");
  a->budgets.add(v, false);
  v.ends_with(
      "Examples: garner-lab traffic bfs kron20.gnr --l2-bytes 50MiB\n          garner-lab traffic bfs kron20.gnr --tier file --variant "
      "direction");
  v.runs([a] {
    json const all = count_all(*a);
    if (a->as_json) say("{}\n", all.dump(2));
    else print(all);
  });
}

}  // namespace garner::lab
