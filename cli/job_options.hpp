// What the verbs that run a job have in common: where it runs and how it reads, loading the graph for that, and what is said of the link.
#pragma once
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "access/matrix.hpp"
#include "common.hpp"
#include "core/fail.hpp"
#include "garner/traffic.hpp"
#include "graph/graph.hpp"
#include "memory/budget.hpp"

namespace garner::cli {

// Whether requests cross a link, and whether they took the time that was measured.
struct link_shown {
  bool crosses, timed;
};
inline link_shown what_crosses(place where, tier edges) {
  if (where.kind == place_kind::traced) return {true, false};
  // The driver moves managed pages and tells nobody how many.
  return {where.kind == place_kind::device && edges == tier::host, true};
}
inline std::optional<double> gb_per_s(std::uint64_t bytes, double ms, link_shown link) {
  if (!link.crosses || !link.timed || ms <= 0) return std::nullopt;
  return static_cast<double>(bytes) / ms / 1e6;
}

template <class T>
nlohmann::ordered_json or_null(bool there, T value) {
  return there ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}
nlohmann::ordered_json requests_of(traffic const& t, link_shown link);
void say_link(traffic const& t, graph_info const& info, link_shown link);  // requests, bytes, amplification, overfetch

// --place, --access, --tier, --l2-bytes, --json, --no-check, the budgets; FILE.
struct job_arguments {
  std::string file, place = "host", access = "aligned", tier, l2 = "0";
  bool json = false, no_check = false;
  budget_arguments budgets;

  void add(CLI::App& verb);
  // Into the job's options, which are refused where they do not go together; sets the budgets.
  template <class Options>
  void resolve(Options& o) const {
    o.where = parse_place(place);
    o.access = parse_access(access);
    o.edges = tier.empty() ? default_tier(o.where, o.access) : parse_tier(tier);
    require_combination(o.where, *o.edges, o.access);
    o.l2_bytes = parse_bytes(l2);
    if (o.l2_bytes && o.where.kind != place_kind::traced)
      fail(errc::usage, "--l2-bytes {}: only a traced run models an L2; leave it out or say --place traced", l2);
    budgets.apply(o.where);
  }
  // Adds up the memory before any is taken, with `state_bytes` near the place.
  graph load(graph_info const& info, garner::place where, garner::tier edges, std::uint64_t state_bytes) const;
};

}  // namespace garner::cli
