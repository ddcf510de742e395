// garner plan: before anything is loaded, the memory of an algorithm, the bytes that must cross the link and their time, and whether it
// fits. The text is printed from the JSON object, so that both agree.
#include <fmt/format.h>

#include <memory>
#include <set>

#include "command/common.hpp"
#include "command/job_options.hpp"
#include "command/link_times.hpp"
#include "garner/memory.hpp"
#include "graph/source.hpp"
#include "plan_load.hpp"
#include "traverse/bfs.hpp"
#include "traverse/plan.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using cli::grouped, cli::say;
using json = nlohmann::ordered_json;

struct plan_arguments {
  std::string file, job, place = "cuda", access, tier, variant;
  std::optional<std::uint64_t> iterations;
  bool as_json = false;
  std::string device_cache;
  cli::budget_arguments budgets;
  cli::plan_load_arguments load;
  cli::plan_train_arguments train;
};

json bytes_or_null(std::uint64_t bytes) { return bytes == unlimited_bytes ? json() : json(bytes); }

// The limits that the algorithm would set. A device that is not in this machine is planned for too: its memory is the budget.
cli::bytes_needed allowed_by(cli::budget_arguments const& budgets, execution_device where) {
  bool const there = where.kind != device_kind::cuda || where.index < device_count();
  if (there) {
    budgets.apply(where);
    return {host_memory_use().limit, where.kind == device_kind::cuda ? cli::device_limit(where) : 0};
  }
  if (!budgets.host.empty()) limit_host_memory(parse_bytes(budgets.host));
  return {host_memory_use().limit, budgets.device.empty() ? unlimited_bytes : parse_bytes(budgets.device)};
}

json gather_load(plan_arguments const& a) {
  for (auto const& [said, option] : {std::pair{!a.variant.empty(), "--variant"}, std::pair{a.iterations.has_value(), "--iterations"},
                                     std::pair{!a.access.empty(), "--access"}})
    if (said) cli::fail(errc::usage, "{} goes with other algorithms than {}; leave it out", option, a.job);
  if (a.job == "load") a.train.require_unset(a.job);
  execution_device where = parse_device(a.place);
  if (!a.train.devices.empty()) {
    if (a.place != "cuda") cli::fail(errc::usage, "--devices and --device {}: use one of them", a.place);
    where = {device_kind::cuda, static_cast<int>(a.train.devices[0])};
  }
  cli::bytes_needed allowed = allowed_by(a.budgets, where);
  for (std::uint32_t const d : a.train.devices)
    allowed.device = std::min(allowed.device, allowed_by(a.budgets, {device_kind::cuda, static_cast<int>(d)}).device);
  cli::plan_load_arguments load = a.load;
  if (!a.device_cache.empty()) load.keep_lists = a.device_cache;
  return cli::plan_of_load(load, a.job == "train" ? &a.train : nullptr, a.file, where, a.tier, allowed.host, allowed.device);
}

// With several devices the shards' entries replace those of one; all edges are in host memory, even if each shard has its own.
void tell_parts(job_plan& p, std::vector<job_part> const& parts, graph_info const& info, tier edges, bool in_edges) {
  bool const on_device = parts[0].where.kind == device_kind::cuda;
  tier const near = on_device ? tier::device : tier::host;
  std::vector<plan_row> rows;
  for (plan_row r : p.rows) {
    if (r.what == "state" || r.what == "offsets, a copy" || r.what == "compressed adjacency, on its way" || r.what.starts_with("copy of "))
      continue;
    if (r.where == tier::device) r.where = tier::host;
    rows.push_back(std::move(r));
  }
  rows.push_back({"offsets of the shards", tier::host, (info.vertices + parts.size()) * (in_edges ? 16 : 8)});
  for (std::size_t k = 0; k < parts.size(); ++k) {
    rows.push_back({fmt::format("shard {}: state", k), near, parts[k].state_bytes});
    if (parts[k].cache_bytes) rows.push_back({fmt::format("shard {}: graph cache", k), near, parts[k].cache_bytes});
    if (on_device && edges == tier::device) rows.push_back({fmt::format("shard {}: its adjacency", k), near, parts[k].list_bytes});
  }
  p.rows = std::move(rows);
}

json gather(plan_arguments const& a) {
  job_options o = default_options(parse_job(a.job));
  bool const spreads = kind_of(o) != job_kind::sssp;
  auto* const ranked = std::get_if<pagerank_asked>(&o);
  a.load.require_unset(a.job, ranked), a.train.require_unset(a.job, !spreads);
  if (ranked) ranked->weighted = a.load.weighted;
  if (!a.variant.empty()) set_variant(o, a.variant);
  std::vector<execution_device> const places =
      cli::shard_places(!a.train.devices.empty() && a.place == "cuda" ? "cpu" : a.place, a.train.split_into.shards, a.train.devices);
  execution_device const where = places[0];
  bool spread = places.size() > 1;
  access_mode const access = cli::access_of(a.access, a.tier);
  require_combination(where, cli::chooses_tier(a.tier) ? default_tier(where, access) : parse_tier(a.tier), access);
  std::visit(
      [&](auto& job) {
        job.device = where, job.access = access;
        if constexpr (requires { job.devices; })
          if (spread) job.devices = places;
      },
      o);
  if (!a.device_cache.empty()) std::visit([&](auto& job) { job.graph_cache = parse_bytes(a.device_cache); }, o);
  if (a.iterations) {
    if (kind_of(o) != job_kind::pagerank) cli::fail(errc::usage, "--iterations goes with --algorithm pagerank; leave it out");
    if (*a.iterations == 0) cli::fail(errc::usage, "--iterations 0: use 1 or more");
    std::get<pagerank_asked>(o).iterations = a.iterations;
  }
  cli::bytes_needed allowed = allowed_by(a.budgets, where);
  for (execution_device const& other : places) allowed.device = std::min(allowed.device, allowed_by(a.budgets, other).device);
  graph_source from(a.file);
  if (pulls_in_lists(o)) from.want_in_lists();
  graph_info const& info = from.info();
  stored const kept = stored_in(from.header());
  if (auto* const bfs = std::get_if<bfs_asked>(&o); bfs && !bfs->variant) bfs->variant = bfs_job::default_variant(info, *bfs);
  bool const named = !cli::chooses_tier(a.tier);
  if (named) std::visit([&](auto& job) { job.edges = parse_tier(a.tier); }, o);
  require_runnable(a.file, info, o);
  std::string const alone =
      std::visit([&](auto& job) { return cli::take_faster(info, kept, job, a.train.split_into.shards.has_value(), allowed.device); }, o);
  if (!alone.empty()) spread = false;
  tier const edges = named ? parse_tier(a.tier) : automatic_tier(info, o, kept, allowed.device);
  std::visit([&](auto& job) { job.edges = edges; }, o);
  if (auto* const ranks = std::get_if<pagerank_asked>(&o); ranks && !room_by_degree(info, *ranks, kept, allowed.device))
    ranks->by_degree = false;
  auto const planned = [&](std::uint64_t const* offsets) {
    job_plan p = make_plan(info, o, kept, offsets, offsets);
    if (from.makes())
      p.rows.push_back({fmt::format("{}, being built", from.makes()), tier::host,
                        from.making_bytes(where.kind == device_kind::cuda, reads_in_lists(info, o))});
    return p;
  };
  job_plan p = planned(nullptr);
  std::vector<job_part> parts;
  std::uint64_t links = 1;  // each device has its own
  if (spread) {
    if (where.kind == device_kind::cuda) {
      std::set<int> devices;
      for (execution_device const& one : places) devices.insert(one.index);
      links = devices.size();
    }
    bool const in = kind_of(o) == job_kind::pagerank && reads_in_lists(info, o);
    buffer<std::uint64_t> const offsets = from.offsets(in);
    parts = plan_parts(info, o, kept, a.file, offsets.empty() ? nullptr : offsets.data());
    p = planned(offsets.empty() ? nullptr : offsets.data());
    tell_parts(p, parts, info, edges, reads_in_lists(info, o));
  }
  std::uint64_t const on_one = where.kind == device_kind::cuda ? near_bytes(parts, edges) : 0;
  auto const device_bytes = [&] { return spread ? on_one : p.device_bytes(); };
  // As the algorithm does: a cache of default size is smaller where memory is short.
  if (!spread && where.kind == device_kind::cuda && a.device_cache.empty() && p.device_bytes() > allowed.device) {
    std::uint64_t others = p.device_bytes();
    for (planned_part const& c : p.kept) others -= c.bytes;
    std::visit([&](auto& job) { job.graph_cache = cli::device_cache_that_fits(default_device_budget(info), allowed.device, others); }, o);
    p = planned(nullptr);
  }
  std::string refusal = cli::why_not(a.file, {p.host_bytes(), device_bytes()}, allowed, to_string(where),
                                     edges == tier::device ? "leave the edges in host memory (--tier host)" : "use --device cpu");
  if (refusal.empty() && edges == tier::peer && device_count() > 0) {
    execution_device const owner{device_kind::cuda, owner_of_peer_tier(where.index)};
    refusal = cli::why_not(a.file, {0, p.bytes(tier::peer)}, {allowed.host, cli::device_limit(owner)}, to_string(owner),
                           "leave the edges in host memory (--tier host)");
  }
  if (!spread && refusal.empty() && !p.crossings.empty() && access != access_mode::paged) {
    // The offsets say where each list begins and ends in its lines.
    bool const in = kind_of(o) == job_kind::pagerank && reads_in_lists(info, o);
    if (buffer<std::uint64_t> const offsets = from.offsets(in); !offsets.empty()) p = planned(offsets.data());
  }
  std::optional<link_rates> const here = p.crossings.empty() ? std::nullopt : cli::link_here(where, true);

  json all{{"file", a.file},
           {"graph", cli::describe(info)},
           {"vertices", info.vertices},
           {"edges", info.edges},
           {"id_bytes", info.id_bytes},
           {"algorithm", to_string(kind_of(o))},
           {"variant", variant_of(o)},
           {"device", to_string(where)},
           {"tier", to_string(edges)},
           {"tier_chosen", cli::chooses_tier(a.tier)},
           {"access", to_string(access)},
           {"alone", alone.empty() ? json() : json(alone)}};
  all["memory"] = json::array();
  for (plan_row const& r : p.rows) all["memory"].push_back({{"array", r.what}, {"tier", to_string(r.where)}, {"bytes", r.bytes}});
  all["graph_cache_parts"] = json::array();
  for (planned_part const& c : p.kept)
    all["graph_cache_parts"].push_back({{"what", c.what}, {"bytes", c.bytes}, {"bytes_saved_on_link", c.bytes_saved_on_link}});
  all["shards"] = json::array();
  for (job_part const& s : parts)
    all["shards"].push_back({{"device", to_string(s.where)},
                             {"first", s.first},
                             {"vertices", s.vertices},
                             {"edges", s.edges},
                             {"adjacency_bytes", s.list_bytes},
                             {"bytes", s.near_bytes(where.kind == device_kind::cuda ? edges : tier::host)}});
  all["host_bytes"] = p.host_bytes();
  all["host_allowed"] = bytes_or_null(allowed.host);
  all["device_bytes"] = device_bytes();
  all["device_allowed"] = where.kind == device_kind::cuda ? bytes_or_null(allowed.device) : json();
  all["crossings"] = json::array();
  crossing::bound bound = crossing::bound::exactly;
  for (crossing const& c : p.crossings) {
    if (!c.before && c.how != crossing::bound::exactly) bound = c.how;
    json requests = json::object();
    for (std::size_t k = 0; k < 4; ++k) requests[std::to_string(32 * (k + 1))] = c.link.requests[k];
    requests["pages"] = c.link.pages;
    all["crossings"].push_back({{"what", c.what},
                                {"bound", to_string(c.how)},
                                {"before", c.before},
                                {"times", c.times ? json(*c.times) : json()},
                                {"bytes", c.link.bytes_link()},
                                {"requests", requests}});
  }
  bool const crosses = !p.crossings.empty();
  all["from_offsets"] = p.from_offsets;
  all["per"] = p.iterations_known ? "run" : p.per;
  all["bound"] = crosses ? json(to_string(bound)) : json();
  all["bytes_link"] = p.bytes_link();
  all["ms"] = cli::times_of(here, [&](link_rates const& r) -> std::optional<double> {
    if (!crosses) return 0.0;
    if (access == access_mode::paged && !r.paged_gbs) return std::nullopt;
    return p.ms(r) / static_cast<double>(links);
  });
  all["first_bytes_link"] = p.first_bytes_link();
  all["levels_cheaper_once"] = p.levels_cheaper_once();
  all["levels_at_most"] = nullptr;
  if (p.levels_at_most)
    all["levels_at_most"] = {{"bytes_link", p.levels_at_most->bytes_link()},
                             {"ms", cli::times_of(here, [&](link_rates const& r) {
                                return std::optional(predicted_ms(*p.levels_at_most, r) / static_cast<double>(links));
                              })}};
  all["adjacency_reads"] = p.file_bytes ? json{{"bytes", *p.file_bytes}, {"bound", to_string(p.file_bound)}, {"per", p.per}} : json();
  if (crosses && !here) all["not_here"] = cli::why_no_link(where);
  all["fits"] = refusal.empty();
  all["why_not"] = refusal.empty() ? json() : json(cli::with_flags(refusal));
  return all;
}

std::string text(json const& j) { return j.get<std::string>(); }
std::string bytes_of(json const& j) { return j.is_null() ? "an amount not known" : cli::format_bytes(j.get<std::uint64_t>()); }

void print(json const& all) {
  say("graph   {}: {}\n", text(all["file"]), text(all["graph"]));
  say("algorithm {}, variant {}, on {}; edges in tier {}{}, access {}\n\n", text(all["algorithm"]), text(all["variant"]),
      text(all["device"]), text(all["tier"]),
      all["tier_chosen"].get<bool>() && text(all["tier"]) == "device" ? ", where all of it fits" : "", text(all["access"]));
  if (!all["alone"].is_null()) say("shards  {}\n\n", text(all["alone"]));
  std::size_t width = 36;
  for (json const& r : all["memory"]) width = std::max(width, text(r["array"]).size());
  say("{:<{}} {:<8} {:>20}\n", "array", width, "tier", "bytes");
  for (json const& r : all["memory"])
    say("{:<{}} {:<8} {:>20} {:>12}\n", text(r["array"]), width, text(r["tier"]), grouped(r["bytes"].get<std::uint64_t>()),
        bytes_of(r["bytes"]));
  if (json const& shards = all["shards"]; !shards.empty()) {
    say("\n{:>5} {:>14} {:>16} {:>20}\n", "shard", "vertices", "edges", "local bytes");
    for (std::size_t k = 0; k < shards.size(); ++k)
      say("{:>5} {:>14} {:>16} {:>20} {:>12}\n", k, grouped(shards[k]["vertices"].get<std::uint64_t>()),
          grouped(shards[k]["edges"].get<std::uint64_t>()), grouped(shards[k]["bytes"].get<std::uint64_t>()), bytes_of(shards[k]["bytes"]));
  }
  say("host    {} of {} allowed\n", bytes_of(all["host_bytes"]), bytes_of(all["host_allowed"]));
  if (all["device"].get<std::string>().starts_with("cuda"))
    say("device  {} of {} allowed or free\n", bytes_of(all["device_bytes"]), bytes_of(all["device_allowed"]));

  if (json const& read = all["adjacency_reads"]; !read.is_null())
    say("file    {} {} is read from it per {}\n", text(read["bound"]), bytes_of(read["bytes"]), text(read["per"]));
  if (all["crossings"].empty()) {
    say("\nlink    nothing crosses it during a run\n");
  } else {
    say("\nover the link{}\n", all["from_offsets"].get<bool>() ? ", by the offsets of each list" : "");
    for (json const& c : all["crossings"]) {
      std::string const times = c["before"].get<bool>() ? "once, before the clock starts"
                                : c["times"].is_null()  ? "per " + text(all["per"])
                                : c["times"] == 1       ? "per run"
                                                        : fmt::format("{} times", grouped(c["times"].get<std::uint64_t>()));
      say("  {:<13} {:>11}  {}: {}\n", text(c["bound"]), bytes_of(c["bytes"]), times, text(c["what"]));
    }
    std::uint64_t cached = 0;
    for (json const& c : all["graph_cache_parts"]) cached += c["bytes_saved_on_link"].get<std::uint64_t>();
    if (cached) say("  {:<13} {:>11}  each time: reads that hit the graph cache\n", "less", cli::format_bytes(cached));
    json const &ms = all["ms"], &levels = all["levels_at_most"];
    say("{} {} per {}", text(all["bound"]), bytes_of(all["bytes_link"]), text(all["per"]));
    // A plan does not read whether the neighbors of a vertex are neighbors of each other, and that is worth a factor of ten.
    if (!levels.is_null())
      say(" if edges lead anywhere (Kronecker, uniform graphs), up to {} if they are local (web, roads)", bytes_of(levels["bytes_link"]));
    say("; the link alone needs, in ms\n");
    auto const beside = [&](char const* link) {
      return levels.is_null() || levels["ms"][link].is_null() ? "" : fmt::format(" to {}", cli::shown_ms(levels["ms"][link]));
    };
    say("  here {}{}{}\n", cli::shown_ms(ms["here"]), all.contains("not_here") ? fmt::format(" ({})", text(all["not_here"])) : "",
        beside("here"));
    for (cli::named_link const& l : cli::named_links) say("  at {:>4} GB/s {}{}\n", l.name, cli::shown_ms(ms[l.name]), beside(l.name));
    if (all["levels_cheaper_once"].get<bool>())
      say("once    a first search crosses {} in all; if there is but one, --variant levels needs at most {}\n",
          bytes_of(all["first_bytes_link"]), bytes_of(levels["bytes_link"]));
  }
  say("\nfits    {}\n", all["fits"].get<bool>() ? all["device_allowed"].is_null() && all["device_bytes"] != 0
                                                      ? "the host; the GPU's memory is unknown (set it with --device-memory)"
                                                      : "yes"
                                                : "no");
}

}  // namespace

void add_plan(cli::program& p) {
  auto const a = std::make_shared<plan_arguments>();
  cli::verb& v = p.add("plan", "memory, link traffic and time of an algorithm or a training, predicted before anything is loaded");
  v.add("FILE", a->file, "a graph file (.gnr), for load and train also a dataset file (.json), or a graph made in memory: kron:20")
      .required();
  v.add("--algorithm", a->job, "bfs, sssp, components, pagerank; load: mini-batches with their features; train: a whole training")
      .among("bfs sssp components pagerank load train")
      .required();
  v.add("--device", a->place, "cpu, cuda, cuda:N or simulated; the GPU need not be present");
  v.add("--access", a->access);
  v.add("--tier", a->tier);
  v.add("--variant", a->variant).among("", "emogi");
  v.add("--iterations", a->iterations, "number of pagerank iterations (default: the cost of one)");
  v.add("--json", a->as_json);
  v.add("--graph-cache", a->device_cache,
        "GPU memory that caches remote adjacency, as 8GiB, for load and train also a share of all, as 10% (default: a tenth of the edge "
        "list; of load and train none)");
  a->budgets.add(v, true);
  a->load.add(v);
  a->train.add(v);
  v.ends_with(
      "Exits with 1 and the error of the real run if it does not fit.\n"
      "Examples: garner plan kron26.gnr --algorithm pagerank --graph-cache 1GiB\n"
      "          garner plan kron26.gnr --algorithm load --width 128 --feature-cache 10%\n"
      "          garner plan kron26.gnr --algorithm train --width 128 --classes 47 --model sage --fanout 15,10\n"
      "          garner plan mag.json --algorithm train --fanout 15,10 --device cpu");
  v.runs([a] {
    bool const loads = a->job == "load" || a->job == "train";
    json const all = loads ? gather_load(*a) : gather(*a);
    if (a->as_json) say("{}\n", all.dump(2));
    else if (loads) cli::print_plan_of_load(all);
    else print(all);
    cli::flush_out();
    if (!all["fits"].get<bool>()) cli::fail(errc::memory, "{}", text(all["why_not"]));
  });
}

}  // namespace garner
