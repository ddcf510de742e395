// What the verbs that run an algorithm share, from the command line to the first lines of their output: the device and how it reads, the
// graph loaded within the budgets, the link, and the file for the result. Each verb adds its own options and figures.
#pragma once
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common.hpp"
#include "garner/traffic.hpp"
#include "graph/graph.hpp"
#include "graph/source.hpp"
#include "traverse/job.hpp"
#include "traverse/one_or_all.hpp"
#include "traverse/plan.hpp"
#include "traverse/results.hpp"

namespace garner::cli {

using ordered_json = nlohmann::ordered_json;

// How adjacency is read: as --access of the papers says, else as the tier allows.
inline access_mode access_of(std::string const& said, std::string const& tier) {
  return !said.empty() ? parse_access(said) : tier == "managed" ? access_mode::paged : access_mode::aligned;
}

// Takes the first of several devices alone where that is faster and has `device_bytes`; returns why, for the output. --shards keeps all.
template <class Options>
std::string take_faster(graph_info const& info, stored const& in_file, Options& o, bool shards, std::uint64_t device_bytes) {
  if constexpr (requires { o.devices; }) {
    std::size_t const all = o.devices.size();
    if (shards || all < 2) return {};
    if (auto const p = take_first_alone(info, target_bytes(info, in_file), in_file, o, device_bytes))
      return fmt::format("{} alone: {:.3g} ms predicted, {} devices {:.3g}; --shards {} runs on all", to_string(o.device), p->one_ms, all,
                         p->all_ms, all);
  }
  return {};
}

// Whether requests cross a link, and whether they took the time that was measured.
struct link_shown {
  bool crosses, timed;
};

template <class T>
ordered_json or_null(bool there, T value) {
  return there ? ordered_json(value) : ordered_json(nullptr);
}

// What an algorithm reads of its graph, and its own memory.
struct job_needs {
  bool in_edges = false, weights = false;
  std::uint64_t state_bytes = 0;            // in the memory of its device
  std::uint64_t device_cache_bytes = 0;     // cache of remote data there, and its limit
  std::uint64_t cached_neighbor_bytes = 0;  // the file's cached neighbors, from which one is read
  std::uint64_t device_budget = 0;
};

// What was read of a file with lists, and of that what share of all, `list_bytes`, it is.
ordered_json json_of(file_reads const& f);
ordered_json json_of(file_reads const& f, std::uint64_t list_bytes);
ordered_json json_of(std::vector<shard_run> const& shards);
double share_of(file_reads const& f, std::uint64_t list_bytes);

// An algorithm's graph, loaded into its tier, and how it is read. All memory is summed here before it is allocated.
struct job_ground {
  std::string file;
  graph_info info;  // of the file; g.info says what was loaded
  stored in_file;
  garner::execution_device where;
  garner::tier edges;
  access_mode access;
  std::uint64_t l2_bytes;
  job_needs needs;
  bool checked;
  bool tier_chosen;                // no tier was set for the edges
  std::uint64_t device_limit = 0;  // on a GPU
  link_shown link;
  std::uint64_t making_bytes = 0;  // of host memory, if a direction is built while the graph is loaded ...
  char const* made = nullptr;      // ... "in-edges" or "out-edges" ...
  double making_ms = 0;            // ... and the time for that
  std::vector<job_part> parts{};   // over several devices: the shards, as planned
  std::string alone{};             // why of several devices the first runs alone
  graph g{};

  bool on_device() const { return where.kind == device_kind::cuda; }
  // Amplification is over these: lists as they are stored, with their weights.
  std::uint64_t list_bytes() const { return target_bytes(info, in_file) + (needs.weights ? weight_bytes(info, in_file) : 0); }
  std::uint64_t remote_bytes() const {
    return list_bytes() +
           (needs.in_edges ? target_bytes(info, in_file, true) + (needs.weights ? weight_bytes(info, in_file, true) : 0) : 0);
  }

  // What offsets, ids, edges and state take, by where they lie.
  struct memory {
    std::uint64_t host = 0, device = 0;
  };
  memory bytes() const;

  void say_head(std::string const& more = "") const;  // graph, place, memory; `more` ends the line of the place
  std::optional<double> gb_per_s(std::uint64_t bytes, double ms) const;
  std::string rate(std::uint64_t bytes, double ms) const;  // of GB/s, or "-"
  std::string link_bytes(std::uint64_t bytes) const;       // or "-"
  std::string amplification(traffic const& t) const;       // or "-"
  char const* of_what() const { return link.timed ? "" : " (of the simulation)"; }
  void say_device_cache(std::vector<cached_part> const& parts) const;                    // a line each, where there are any
  void add_device_cache(ordered_json& to, std::vector<cached_part> const& parts) const;  // graph_cache, graph_cache_parts
  void say_file(file_reads const& f, double ms) const;                                   // of tier file alone
  void add_file(ordered_json& to, file_reads const& f, double ms) const;
  void say_traffic(traffic const& t) const;  // requests, bytes, amplification, overfetch

  ordered_json head() const;                                              // file to access
  void add_tail(ordered_json& to, bool verified) const;                   // L2, budgets, state; checked to modelled
  void say_shards(std::vector<shard_run> const& shards) const;            // a line each, where there are several
  void add_rate(ordered_json& to, std::uint64_t bytes, double ms) const;  // gbs
  void add_traffic(ordered_json& to, traffic const& t) const;             // bytes_link, amplification, overfetch, requests
};

// The places of --shards, --devices or --device: one or several. errc::usage where they do not go together.
std::vector<execution_device> shard_places(std::string const& place, std::optional<std::uint32_t> shards,
                                           std::vector<std::uint32_t> const& devices);
inline bool chooses_tier(std::string const& said) { return said.empty() || said == "automatic"; }
std::uint64_t device_bytes_at(execution_device where);  // allowed or free; 0 elsewhere than at a device that is here

// FILE; --device, --access, --tier; --l2-bytes, --verify, --out, --format, --json, --no-check, --graph-cache, the budgets.
struct job_arguments {
  std::string file, place = "cpu", access, tier, l2 = "0", out, format, device_cache;
  bool verify = false, json = false, no_check = false;
  std::optional<std::uint32_t> shards;
  std::vector<std::uint32_t> devices;
  budget_arguments budgets;

  void add_file(verb& v, char const* help = "");
  void add_place(verb& v);
  void add_shards(verb& v);
  void add_l2(verb& v);
  void add_verify(verb& v, char const* help = "check the result against the graph");
  void add_out(verb& v, char const* help);  // `help`: what a line of the text holds
  void add_rest(verb& v);

  // Sets the algorithm's options, which fail if they conflict, and the budgets. `files`: other files it will write.
  template <class Options>
  void resolve(Options& o, std::vector<std::pair<char const*, std::string>> files = {}) const {
    std::vector<garner::execution_device> const places = shard_places(place, shards, devices);
    o.device = places[0];
    if constexpr (requires { o.devices; })
      if (places.size() > 1) o.devices = places;
    o.access = access_of(access, tier);
    if (!chooses_tier()) o.edges = parse_tier(tier);
    require_combination(o.device, o.edges.value_or(default_tier(o.device, o.access)), o.access);
    o.tuning.l2_bytes = parse_bytes(l2);
    o.verify = verify;
    if (!device_cache.empty()) o.graph_cache = parse_bytes(device_cache);
    check(places, o.tuning.l2_bytes, std::move(files));
  }
  // errc::memory before anything is allocated if the budgets are too small. Default copies are fewer where memory is short.
  template <class Options>
  job_ground load(graph_source& from, Options& o, job_needs const& needs) const {
    graph_info const& info = from.info();
    stored const in_file = stored_in(from.header());
    std::string const alone = take_faster(info, in_file, o, shards.has_value(), device_bytes_at(o.device));
    if (!o.edges) o.edges = automatic_tier(info, o, in_file, device_bytes_at(o.device));
    if constexpr (std::is_same_v<Options, pagerank_asked>)
      if (!o.by_degree && !room_by_degree(info, o, in_file, device_bytes_at(o.device))) o.by_degree = false;
    job_ground ground{file, info, in_file, o.device, *o.edges, o.access, o.tuning.l2_bytes, needs, !no_check, chooses_tier(), 0, {}};
    ground.making_bytes = from.making_bytes(ground.on_device(), needs.in_edges);
    ground.parts = plan_parts(info, o, in_file, file);
    ground.alone = alone;
    if (!ground.parts.empty()) {
      for (job_part const& p : ground.parts) ground.needs.state_bytes += p.state_bytes, ground.needs.device_cache_bytes += p.cache_bytes;
      ground.needs.device_budget = o.graph_cache.value_or(default_device_budget(info) / ground.parts.size());  // of each
      return load(from, std::move(ground));
    }
    ground.needs.state_bytes = state_bytes(info, o);
    if (!o.graph_cache) o.graph_cache = affordable_device_cache(ground);
    ground.needs.device_budget = *o.graph_cache;
    std::vector<planned_part> const kept = planned_device_cache(info, o, ground.in_file);
    for (planned_part const& c : kept) ground.needs.device_cache_bytes += c.bytes;
    ground.needs.cached_neighbor_bytes = bytes_of_file_neighbors(info, o, ground.in_file, kept);
    return load(from, std::move(ground));
  }
  bool wants_result() const { return !out.empty(); }
  result_target result() const;  // of --out and --format

 private:
  bool chooses_tier() const { return cli::chooses_tier(tier); }
  void check(std::vector<garner::execution_device> const& places, std::uint64_t l2_bytes,
             std::vector<std::pair<char const*, std::string>> files) const;
  job_ground load(graph_source& from, job_ground ground) const;
  static std::uint64_t affordable_device_cache(job_ground const& ground);
};

void check_vertices_per_team(std::uint32_t n);
void check_slice(std::uint32_t n);

std::string spread_of(std::vector<double> const& ms);  // "ms least 1.000, median 2.000, most 3.000"
std::string prepared_in(double ms);                    // "; 4.000 ms before it, once per graph", or nothing
double median_of(std::vector<double> ms);
template <class Run>
std::vector<double> times_of(std::vector<Run> const& runs) {
  std::vector<double> ms;
  for (Run const& r : runs) ms.push_back(r.ms);
  return ms;
}
// The time of an algorithm's first run with all that precedes it, and that of each later run: both are always printed.
template <class Run>
std::string first_and_after(std::vector<Run> const& runs) {
  return fmt::format("first {:.3f} ms, {:.3f} of these before its clock; each after, {}", runs[0].prepare_ms + runs[0].ms,
                     runs[0].prepare_ms, spread_of(times_of(runs)));
}
template <class Run>
void add_first_and_after(ordered_json& to, std::vector<Run> const& runs) {
  to["prepare_ms"] = runs[0].prepare_ms;
  to["first_ms"] = runs[0].prepare_ms + runs[0].ms;
  to["each_ms"] = median_of(times_of(runs));
}
template <class Run>
bool all_verified(std::vector<Run> const& runs) {
  for (Run const& r : runs)
    if (!r.verified) return false;
  return true;
}

}  // namespace garner::cli
