// garner sssp: shortest paths from one source or many over weighted edges, at a place, in an access mode, over edges in a tier.
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
#include "traverse/sssp.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using cli::gb_per_s, cli::grouped, cli::link_shown, cli::or_null;
using json = cli::ordered_json;

struct sssp_arguments : cli::search_arguments {
  std::string variant = "near-far";
  sssp_options how;
};

char const* name_of(sssp_variant v) { return v == sssp_variant::emogi ? "emogi" : "near-far"; }
sssp_variant parse_variant(std::string const& text) {
  if (text == "near-far") return sssp_variant::near_far;
  if (text == "emogi") return sssp_variant::emogi;
  fail(errc::usage, "--variant {}: unknown; say near-far or emogi", text);
}

// What all lines about a run need.
struct setting {
  graph_info info;
  link_shown link;
  bool real() const { return info.weights == weight_kind::f32; }
  std::uint64_t far_bytes() const { return info.edges * (info.id_bytes + 4); }
  std::string largest(sssp_run const& r) const { return real() ? fmt::format("{:.6g}", r.real_max) : grouped(r.distance_max); }
  std::string sum(sssp_run const& r) const { return real() ? fmt::format("{:.9g}", r.real_sum) : grouped(r.distance_sum); }
};

json to_json(sssp_run const& r, setting const& s) {
  json rounds = json::array();
  for (sssp_round const& l : r.rounds) {
    auto const rate = gb_per_s(l.bytes_link, l.ms, s.link);
    rounds.push_back({{"frontier", l.frontier},
                      {"edges", l.edges},
                      {"bytes_link", or_null(s.link.crosses, l.bytes_link)},
                      {"ms", l.ms},
                      {"gbs", or_null(rate.has_value(), rate.value_or(0))}});
  }
  json j{{"source", r.source}, {"reached", r.reached}, {"edges", r.edges}};
  j["distance_max"] = s.real() ? json(r.real_max) : json(r.distance_max);
  j["distance_sum"] = s.real() ? json(r.real_sum) : json(r.distance_sum);
  j["thresholds"] = r.thresholds;
  j["ms"] = r.ms;
  cli::add_traffic(j, r.link, s.far_bytes(), s.link);
  j["verified"] = r.verified;
  j["rounds"] = rounds;
  return j;
}

void say_rounds(sssp_run const& r, setting const& s) {
  cli::say("{:>7} {:>14} {:>16} {:>14} {:>10} {:>8}\n", "round", "frontier", "edges", "over the link", "ms", "GB/s");
  for (std::size_t k = 0; k < r.rounds.size(); ++k) {
    sssp_round const& l = r.rounds[k];
    auto const rate = gb_per_s(l.bytes_link, l.ms, s.link);
    cli::say("{:>7} {:>14} {:>16} {:>14} {:>10.3f} {:>8}\n", k, grouped(l.frontier), grouped(l.edges),
             s.link.crosses ? format_bytes(l.bytes_link) : "-", l.ms, rate ? fmt::format("{:.2f}", *rate) : "-");
  }
}

void say_run(sssp_run const& r, setting const& s) {
  cli::say("reached {} of {} vertices ({:.2f} %), largest distance {}, distances sum {}\n", grouped(r.reached), grouped(s.info.vertices),
           100.0 * static_cast<double>(r.reached) / static_cast<double>(s.info.vertices), s.largest(r), s.sum(r));
  cli::say("{} edges relaxed in {} rounds, the threshold moved {} times\n", grouped(r.edges), r.rounds.size(), r.thresholds);
  cli::say("time {:.3f} ms{}\n", r.ms, s.link.timed ? "" : " (of the simulation)");
  cli::say_traffic(r.link, s.far_bytes(), s.link);
  if (r.verified) cli::say("verified\n");
}

void say_row_head() {
  cli::say("{:>14} {:>14} {:>14} {:>20} {:>7} {:>11} {:>14} {:>6}\n", "source", "reached", "largest", "distances sum", "rounds", "ms",
           "over the link", "ampl.");
}
void say_row(sssp_run const& r, setting const& s) {
  cli::say("{:>14} {:>14} {:>14} {:>20} {:>7} {:>11.3f} {:>14} {:>6}{}\n", r.source, grouped(r.reached), s.largest(r), s.sum(r),
           r.rounds.size(), r.ms, s.link.crosses ? format_bytes(r.link.bytes_link()) : "-",
           s.link.crosses ? fmt::format("{:.3f}", r.link.amplification(s.far_bytes())) : "-", r.verified ? " verified" : "");
}
void say_summary(std::vector<sssp_run> const& runs, link_shown link) {
  std::vector<double> ms;
  for (sssp_run const& r : runs) ms.push_back(r.ms);
  std::sort(ms.begin(), ms.end());
  cli::say("{} searches: ms least {:.3f}, median {:.3f}, most {:.3f}{}\n", runs.size(), ms.front(), ms[ms.size() / 2], ms.back(),
           link.timed ? "" : " (of the simulation)");
}

// "vertex distance parent" a line, all by the user's ids, in their order; what was not reached has infinity and -1.
void write_paths(sssp_job& job, graph const& g, std::uint64_t source, std::string const& name) {
  bool const real = g.info.weights == weight_kind::f32;
  std::vector<std::uint64_t> const whole_of = real ? std::vector<std::uint64_t>{} : job.distances();
  std::vector<float> const real_of = real ? job.real_distances() : std::vector<float>{};
  std::vector<std::uint64_t> const parent = job.parents();
  pending_file out(name);
  progress bar("writing", g.info.vertices);
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), "# vertex distance parent, from source {}\n", source);
  for (std::uint64_t k = 0; k < g.info.vertices; ++k) {
    std::uint64_t const v = g.at_rank(k);
    if (parent[v] == ~std::uint64_t{0}) fmt::format_to(std::back_inserter(text), "{} infinity -1\n", g.user_id(v));
    else if (real) fmt::format_to(std::back_inserter(text), "{} {} {}\n", g.user_id(v), real_of[v], g.user_id(parent[v]));
    else fmt::format_to(std::back_inserter(text), "{} {} {}\n", g.user_id(v), whole_of[v], g.user_id(parent[v]));
    if (text.size() > 1u << 20) {
      out.write(text.data(), text.size());
      text.clear();
    }
    if (k % 65536 == 65535) bar.advance(65536);
  }
  out.write(text.data(), text.size());
  out.commit();
}

void search(sssp_arguments& a) {
  sssp_options& o = a.how;
  o.variant = parse_variant(a.variant);
  if (o.delta && !(*o.delta > 0)) fail(errc::usage, "--delta {}: say a number above 0", *o.delta);
  if (o.variant == sssp_variant::emogi && (o.delta || a.join))
    fail(errc::usage, "--variant emogi: has no delta and joins no lists; leave out {}", o.delta ? "--delta" : "--join");
  a.apply(o);
  bool const on_device = o.where.kind == place_kind::device;
  graph_info const info = read_header(a.file).info;
  if (info.weights == weight_kind::none)
    fail(errc::input, "{}: has no weights, which shortest paths need; draw them with garner convert {} NEW.gnr --weights 1:255", a.file,
         a.file);
  std::uint64_t const state = sssp_job::state_bytes(info, o);
  setting const s{info, cli::what_crosses(o.where, *o.edges)};
  a.check_memory(info, o.where, *o.edges, info.id_bytes + 4, state);
  std::uint64_t const device_limit = on_device ? cli::device_limit(o.where) : 0;
  graph const g = a.load(o.where, *o.edges, true);
  cli::sources_chosen const sources = cli::choose_sources(a, g);
  sssp_job job(g, o);

  bool const many = sources.ids.size() > 1;
  if (!a.json) {
    cli::say_setting(a, info, o.where, *o.edges, o.access, s.far_bytes(), device_limit, state, sources);
    if (o.variant == sssp_variant::near_far) cli::say("variant near-far, delta {:.6g}\n", job.delta());
    else cli::say("variant emogi\n");
    if (many && !a.steps) say_row_head();
    cli::flush_out();
  }
  std::vector<sssp_run> runs;
  {
    progress bar("searching", sources.ids.size());
    for (std::uint64_t const source : sources.ids) {
      runs.push_back(job.run(source));
      bar.advance(1);
      if (a.json) continue;
      if (many && !a.steps) {
        say_row(runs.back(), s);
      } else {
        if (many) cli::say("source  {}\n", source);
        if (a.steps) say_rounds(runs.back(), s);
        say_run(runs.back(), s);
        if (many) cli::say("\n");
      }
      cli::flush_out();
    }
  }
  if (!a.json && many) say_summary(runs, s.link);
  if (!a.out.empty()) {
    write_paths(job, g, sources.ids.back(), a.out);
    if (!a.json)
      cli::say("{}: distance and parent of every vertex{}\n", a.out,
               many ? fmt::format(", from the last source, {}", sources.ids.back()) : "");
  }
  if (!a.json) return;

  bool const near_far = o.variant == sssp_variant::near_far;
  json all{{"file", a.file},
           {"vertices", info.vertices},
           {"edges", info.edges},
           {"directed", info.directed},
           {"weights", s.real() ? "f32" : "u32"},
           {"place", to_string(o.where)},
           {"tier", to_string(*o.edges)},
           {"access", to_string(o.access)},
           {"id_bytes", info.id_bytes},
           {"variant", name_of(o.variant)},
           {"delta", or_null(near_far, job.delta())},
           {"vertices_per_team", o.vertices_per_team},
           {"split_hubs", near_far && o.split_hubs},
           {"join_lists", sssp_job::joins_lists(o)},
           {"slice", o.slice},
           {"l2_bytes", o.l2_bytes},
           {"device_budget", or_null(on_device, device_limit)},
           {"host_budget", or_null(host_budget().limit() != budget::unlimited, host_budget().limit())},
           {"state_bytes", state},
           {"checked", !a.no_check},
           {"verified", std::all_of(runs.begin(), runs.end(), [](sssp_run const& r) { return r.verified; })},
           {"simulated", !s.link.timed},
           {"runs", json::array()}};
  for (sssp_run const& r : runs) all["runs"].push_back(to_json(r, s));
  cli::say("{}\n", all.dump(2));
}

}  // namespace

void add_sssp(CLI::App& app) {
  auto const a = std::make_shared<sssp_arguments>();
  CLI::App* const verb = app.add_subcommand("sssp", "shortest paths over weighted edges that may lie outside the GPU");
  a->add(*verb, "neighbouring lists of the frontier are read as one (default: with aligned, one a team, not at place host)", "--rounds",
         "a line a round", "file to write: vertex distance parent a line, infinity -1 where not reached; of the last source");
  verb->add_option("--variant", a->variant, "near-far, or emogi: Bellman-Ford with active flags, as the paper's program")
      ->capture_default_str()
      ->type_name("NAME");
  verb->add_option("--delta", a->how.delta, "how far beyond the least open distance is near (default: from weights and degrees)")
      ->type_name("X");
  verb->footer(
      "The graph must have weights: garner convert IN.gnr OUT.gnr --weights 1:255 draws some.\n"
      "Example: garner sssp road.gnr --source 1 --verify --out paths.txt");
  verb->callback([a] { search(*a); });
}

}  // namespace garner
