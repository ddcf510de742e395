// The options of any of the four algorithms, by its name: defaults, variants, what they read. Declared in plan.hpp.
#include <type_traits>
#include <variant>

#include "core/fail.hpp"
#include "core/words.hpp"
#include "traverse/bfs.hpp"
#include "traverse/components.hpp"
#include "traverse/pagerank.hpp"
#include "traverse/plan.hpp"
#include "traverse/sssp.hpp"

namespace garner {

namespace {

template <class Options>
struct job_of;
template <>
struct job_of<bfs_asked> : std::type_identity<bfs_job> {};
template <>
struct job_of<sssp_asked> : std::type_identity<sssp_job> {};
template <>
struct job_of<components_asked> : std::type_identity<components_job> {};
template <>
struct job_of<pagerank_asked> : std::type_identity<pagerank_job> {};
template <class Options>
using job_for = typename job_of<Options>::type;

}  // namespace

std::uint64_t state_bytes(graph_info const& info, job_options const& o) {
  return std::visit([&]<class Options>(Options const& of) { return job_for<Options>::state_bytes(info, of); }, o);
}
void require_runnable(std::string const& name, graph_info const& info, job_options const& o) {
  std::visit([&]<class Options>(Options const& of) { job_for<Options>::require_runnable(name, info, of); }, o);
}

constexpr word_table<job_kind> jobs{"algorithm '{text}': use {a_or_b}", {"bfs", "sssp", "components", "pagerank"}};
std::string_view to_string(job_kind value) { return jobs[value]; }
job_kind parse_job(std::string_view text) { return jobs.parse(text); }
job_options default_options(job_kind kind) {
  job_options const all[] = {bfs_asked{}, sssp_asked{}, components_asked{}, pagerank_asked{}};
  return all[static_cast<std::size_t>(kind)];
}

void set_variant(job_options& o, std::string_view name) {
  auto const refuse = [&](char const* choices) { fail(errc::usage, "variant '{}' of {}: use {}", name, to_string(kind_of(o)), choices); };
  switch (kind_of(o)) {
    case job_kind::bfs:
      if (name != "levels" && name != "direction" && name != "emogi") refuse("levels or direction");
      std::get<bfs_asked>(o).variant = parse_bfs_variant(name);
      return;
    case job_kind::sssp:
      if (name != "near-far" && name != "emogi") refuse("near-far");
      std::get<sssp_asked>(o).variant = name == "emogi" ? sssp_variant::emogi : sssp_variant::near_far;
      return;
    case job_kind::components:
      if (name != "afforest" && name != "emogi") refuse("afforest");
      std::get<components_asked>(o).variant = name == "emogi" ? components_variant::emogi : components_variant::afforest;
      return;
    case job_kind::pagerank:
      if (name != "pull" && name != "emogi") refuse("pull");
      std::get<pagerank_asked>(o).variant = parse_pagerank_variant(name);
  }
}
std::string_view variant_of(job_options const& o) {
  switch (kind_of(o)) {
    case job_kind::bfs:
      return to_string(std::get<bfs_asked>(o).variant.value_or(bfs_variant::direction));
    case job_kind::sssp:
      return std::get<sssp_asked>(o).variant == sssp_variant::emogi ? "emogi" : "near-far";
    case job_kind::components:
      return std::get<components_asked>(o).variant == components_variant::emogi ? "emogi" : "afforest";
    case job_kind::pagerank:
      break;
  }
  return to_string(std::get<pagerank_asked>(o).variant);
}

bool reads_in_lists(graph_info const& info, job_options const& o) { return info.in_edges && pulls_in_lists(o); }

bool reads_weights(job_options const& o) {
  auto const* const ranks = std::get_if<pagerank_asked>(&o);
  return kind_of(o) == job_kind::sssp || (ranks && ranks->weighted);
}

bool pulls_in_lists(job_options const& o) {
  if (kind_of(o) == job_kind::bfs) return std::get<bfs_asked>(o).variant == bfs_variant::direction;
  return kind_of(o) == job_kind::pagerank && std::get<pagerank_asked>(o).variant == pagerank_variant::pull;
}

std::string_view to_string(crossing::bound b) {
  return word_table<crossing::bound>{"", {"exactly", "at most", "at least", "about", "usually below"}}[b];
}

}  // namespace garner
