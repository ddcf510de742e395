#include "search.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "core/publish.hpp"
#include "graph/container.hpp"
#include "graph/convert.hpp"
#include "traverse/bfs.hpp"

namespace garner::cli {

namespace {

// One id a line; blank lines and what follows a # are passed over.
std::vector<std::uint64_t> read_sources(std::string const& name) {
  std::ifstream in(name);
  if (!in) fail(errc::io, "{}: cannot be read: {}; name a file with one vertex id a line", name, std::strerror(errno));
  std::vector<std::uint64_t> sources;
  std::string text;
  for (std::uint64_t line = 1; std::getline(in, text); ++line) {
    text.erase(std::min(text.find('#'), text.size()));
    std::size_t const first = text.find_first_not_of(" \t\r");
    if (first == std::string::npos) continue;
    std::string const word = text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
    std::uint64_t id = 0;
    auto const [end, code] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (code != std::errc{} || end != word.data() + word.size())
      fail(errc::input, "{}: line {}: '{}' is not a vertex id; say one whole number a line", name, line, word);
    sources.push_back(id);
  }
  if (in.bad()) fail(errc::io, "{}: cannot be read: {}; name a file with one vertex id a line", name, std::strerror(errno));
  if (sources.empty()) fail(errc::input, "{}: names no source; say one vertex id a line", name);
  return sources;
}

void write_sources(std::vector<std::uint64_t> const& sources, std::string const& name) {
  pending_file out(name);
  for (std::uint64_t const s : sources) out.write(fmt::format("{}\n", s));
  out.commit();
}

}  // namespace

sources_chosen choose_sources(search_arguments const& a, graph const& g) {
  sources_chosen chosen;
  if (a.source) chosen = {{*a.source}, "named"};
  else if (!a.sources_file.empty()) chosen = {read_sources(a.sources_file), "from " + a.sources_file};
  else {
    chosen = {pick_sources(g, a.trials.value_or(1), a.seed), fmt::format("picked among vertices with edges, seed {}", a.seed)};
    if (chosen.ids.empty())
      fail(errc::input, "{}: no source can be picked, since no vertex has an edge that leaves it; name one with --source", a.file);
  }
  for (std::uint64_t const id : chosen.ids) g.internal_id(id);  // before the first search, not at the last
  if (!a.save_sources.empty()) write_sources(chosen.ids, a.save_sources);
  return chosen;
}

link_shown what_crosses(garner::place where, garner::tier edges) {
  if (where.kind == place_kind::traced) return {true, false};
  // The driver moves managed pages and tells nobody how many.
  return {where.kind == place_kind::device && edges == tier::host, true};
}

std::optional<double> gb_per_s(std::uint64_t bytes, double ms, link_shown link) {
  if (!link.crosses || !link.timed || ms <= 0) return std::nullopt;
  return static_cast<double>(bytes) / ms / 1e6;
}

void add_traffic(ordered_json& to, traffic const& t, std::uint64_t data_bytes, link_shown link) {
  ordered_json requests = nullptr;
  if (link.crosses) {
    requests = ordered_json::object();
    for (std::size_t k = 0; k < 4; ++k) requests[std::to_string(32 * (k + 1))] = t.requests[k];
    requests["pages"] = t.pages;
  }
  to["bytes_link"] = or_null(link.crosses, t.bytes_link());
  to["amplification"] = or_null(link.crosses, t.amplification(data_bytes));
  to["overfetch"] = or_null(link.crosses, t.overfetch());
  to["requests"] = requests;
}

void say_traffic(traffic const& t, std::uint64_t data_bytes, link_shown link) {
  if (!link.crosses) return say("over the link -, amplification -, overfetch -\n");
  if (t.pages) say("pages of 4 KiB {}\n", grouped(t.pages));
  else
    say("requests of 32 B {}, 64 B {}, 96 B {}, 128 B {}\n", grouped(t.requests[0]), grouped(t.requests[1]), grouped(t.requests[2]),
        grouped(t.requests[3]));
  say("over the link {}, amplification {:.3f}, overfetch {:.3f}\n", format_bytes(t.bytes_link()), t.amplification(data_bytes),
      t.overfetch());
}

void say_setting(search_arguments const& a, graph_info const& info, garner::place where, garner::tier edges, access_mode access,
                 std::uint64_t far_bytes, std::uint64_t device_limit, std::uint64_t state, sources_chosen const& sources) {
  bool const on_device = where.kind == place_kind::device;
  say("graph   {}: {}\n", a.file, describe(info));
  say("place   {}; edges in tier {} ({}), access {}\n", to_string(where), to_string(edges), format_bytes(far_bytes), to_string(access));
  say("memory  state {}{}\n", format_bytes(state),
      (on_device ? ", device budget " + format_bytes(device_limit) : "") +
          (host_budget().limit() == budget::unlimited ? "" : ", host budget " + format_bytes(host_budget().limit())));
  say("source  {}, {}\n\n", sources.ids.size() > 1 ? grouped(sources.ids.size()) + " of them" : std::to_string(sources.ids[0]),
      sources.how);
}

void search_arguments::check(garner::place where, std::uint64_t l2_bytes) const {
  if (l2_bytes && where.kind != place_kind::traced)
    fail(errc::usage, "--l2-bytes {}: only a traced run models an L2; leave it out or say --place traced", l2);
  if (vertices_per_team < 1 || vertices_per_team > 1024) fail(errc::usage, "--vertices-per-team {}: say 1 to 1024", vertices_per_team);
  if (slice < 64 || slice % 32) fail(errc::usage, "--slice {}: say a multiple of 32, 64 or more", slice);
  if (trials && (*trials == 0 || *trials > 1'000'000)) fail(errc::usage, "--trials {}: say 1 to 1000000", *trials);
  budgets.apply(where);
  check_outputs(file, {{"--out", out}, {"--save-sources", save_sources}});
}

void search_arguments::check_memory(graph_info const& info, garner::place where, garner::tier edges, std::uint64_t arc_bytes,
                                    std::uint64_t state) const {
  bool const on_device = where.kind == place_kind::device;
  std::uint64_t host = (info.vertices + 1) * 8 + bytes_of_ids(info), device = 0;
  (on_device ? device : host) += state;
  (on_device && edges == tier::device ? device : host) += info.edges * arc_bytes;
  require_memory(file, host, device, where, edges == tier::device ? "leave the edges in host memory (--tier host)" : "say --place host");
}

graph search_arguments::load(garner::place where, garner::tier edges, bool weights) const {
  bool const on_device = where.kind == place_kind::device;
  load_options how;
  how.edges = on_device ? edges : tier::host;  // elsewhere managed memory is host memory
  how.device = on_device ? where.index : -1;
  how.weights = weights;
  how.check = !no_check;
  return load_graph(file, how);
}

void search_arguments::add(CLI::App& verb, char const* join_default, char const* steps_name, char const* steps_help, char const* out_help) {
  verb.add_option("FILE", file, "a container (.gnr); convert other formats first")->required();
  auto* const one = add_number(verb, "--source", source, "vertex to start from, by the user's id (default: one picked)")->type_name("V");
  auto* const list = verb.add_option("--sources", sources_file, "file with one source a line")->excludes(one)->type_name("FILE");
  add_number(verb, "--trials", trials, "pick that many sources among the vertices with edges")->excludes(one)->excludes(list);
  add_number(verb, "--seed", seed, "of the picked sources")->capture_default_str();
  verb.add_option("--save-sources", save_sources, "file to write the sources to, one a line")->type_name("FILE");
  verb.add_option("--place", place, "host, device, device:N, or traced: a GPU simulated, to count its requests")
      ->capture_default_str()
      ->type_name("PLACE");
  verb.add_option("--access", access, "strided, merged, aligned, paged")->capture_default_str()->type_name("ACCESS");
  verb.add_option("--tier", tier, "where the edges lie: host, device, managed (default: host; managed for paged)")->type_name("TIER");
  add_number(verb, "--vertices-per-team", vertices_per_team, "lists that one team walks one after the other")->capture_default_str();
  verb.add_flag("--no-split", no_split, "a long list is walked by one team, not by several");
  auto* const joined = verb.add_flag("--join", join, join_default);
  verb.add_flag("--no-join", no_join, "each list is read by itself, as EMOGI does")->excludes(joined);
  add_number(verb, "--slice", slice, "elements of a long list that one team takes")->capture_default_str();
  verb.add_option("--l2-bytes", l2, "of a traced run: the L2 before the link, as 50MiB (default: none)")->type_name("BYTES");
  verb.add_flag("--verify", verify, "check the result against the graph");
  verb.add_option("--out", out, out_help)->type_name("FILE");
  verb.add_flag(steps_name, steps, steps_help);
  verb.add_flag("--json", json, "print one JSON object");
  verb.add_flag("--no-check", no_check, "do not check the checksums of the container");
  budgets.add(verb, true);
}

}  // namespace garner::cli
