// What the verbs that search from sources share: their options, the choice of sources, loading within the budgets, and how traffic is
// shown.
#pragma once
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "access/matrix.hpp"
#include "common.hpp"
#include "core/fail.hpp"
#include "garner/traffic.hpp"
#include "graph/graph.hpp"
#include "memory/budget.hpp"

namespace garner::cli {

using ordered_json = nlohmann::ordered_json;

struct search_arguments {
  std::string file, sources_file, save_sources, place = "host", access = "aligned", tier, l2 = "0", out;
  std::optional<std::uint64_t> source, trials;
  std::uint64_t seed = 1;
  std::uint32_t vertices_per_team = 1, slice = 1024;
  bool no_split = false, join = false, no_join = false, verify = false, steps = false, json = false, no_check = false;
  budget_arguments budgets;

  // `steps`: the flag's name and help, a line for each of what a search goes through; `out`: what a line of the file holds.
  void add(CLI::App& verb, char const* join_default, char const* steps_name, char const* steps_help, char const* out_help);

  // To the options of the library, checked; budgets and target files too. join_lists stays unset unless it was asked for.
  template <class Options>
  void apply(Options& o) const {
    o.where = parse_place(place);
    o.access = parse_access(access);
    o.edges = tier.empty() ? default_tier(o.where, o.access) : parse_tier(tier);
    require_combination(o.where, *o.edges, o.access);
    o.vertices_per_team = vertices_per_team;
    o.slice = slice;
    o.split_hubs = !no_split;
    if (join || no_join) o.join_lists = join;
    o.l2_bytes = parse_bytes(l2);
    o.check_certificate = verify;
    check(o.where, o.l2_bytes);
  }

  // The host and device memory that offsets, ids, edges and `state` take, against the budgets.
  void check_memory(graph_info const& info, garner::place where, garner::tier edges, std::uint64_t arc_bytes, std::uint64_t state) const;
  graph load(garner::place where, garner::tier edges, bool weights) const;

 private:
  void check(garner::place where, std::uint64_t l2_bytes) const;
};

struct sources_chosen {
  std::vector<std::uint64_t> ids;
  std::string how;
};
sources_chosen choose_sources(search_arguments const& a, graph const& g);  // saved where that was asked for

// Whether requests cross a link, and whether they took the time that was measured.
struct link_shown {
  bool crosses, timed;
};
link_shown what_crosses(garner::place where, garner::tier edges);
std::optional<double> gb_per_s(std::uint64_t bytes, double ms, link_shown link);

template <class T>
ordered_json or_null(bool there, T value) {
  return there ? ordered_json(value) : ordered_json(nullptr);
}
// bytes_link, amplification, overfetch, requests
void add_traffic(ordered_json& to, traffic const& t, std::uint64_t data_bytes, link_shown link);
void say_traffic(traffic const& t, std::uint64_t data_bytes, link_shown link);

// The head of what is printed: graph, place, memory, source.
void say_setting(search_arguments const& a, graph_info const& info, garner::place where, garner::tier edges, access_mode access,
                 std::uint64_t far_bytes, std::uint64_t device_limit, std::uint64_t state, sources_chosen const& sources);

}  // namespace garner::cli
