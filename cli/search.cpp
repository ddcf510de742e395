#include "search.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "garner/files.hpp"
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
      fail(errc::input, "{}: line {}: {} is not a vertex id; use one whole number a line", name, line, shown(word));
    sources.push_back(id);
  }
  if (in.bad()) fail(errc::io, "{}: cannot be read: {}; name a file with one vertex id a line", name, std::strerror(errno));
  if (sources.empty()) fail(errc::input, "{}: names no source; use one vertex id a line", name);
  return sources;
}

}  // namespace

void search_arguments::add_sources(verb& v) {
  v.add("--source", source);
  v.add("--sources", sources_file).not_with("--source");
  v.add("--trials", trials, "pick that many sources among the vertices with edges").not_with("--source").not_with("--sources");
  v.add("--seed", seed, "of the picked sources");
  v.add("--save-sources", save_sources);
}

void search_arguments::add_walk(verb& v, char const* join_words) {
  v.add("--vertices-per-team", vertices_per_team);
  v.add("--no-split", no_split);
  v.add("--join", join, join_words);
  v.add("--no-join", no_join).not_with("--join");
  v.add("--slice", slice);
}

sources_chosen search_arguments::choose_sources(graph const& g) const {
  sources_chosen chosen;
  if (source) chosen = {{*source}, "named"};
  else if (!sources_file.empty()) chosen = {read_sources(sources_file), "from " + sources_file};
  else {
    chosen = {pick_sources(g, trials.value_or(1), seed), fmt::format("picked among vertices with edges, seed {}", seed)};
    if (chosen.ids.empty())
      fail(errc::input, "{}: no source can be picked, since no vertex has an edge that leaves it; name one with --source", file);
  }
  for (std::uint64_t const id : chosen.ids) g.internal_id(id);  // before the first search, not at the last
  if (!save_sources.empty()) write_file(save_sources, fmt::format("{}\n", fmt::join(chosen.ids, "\n")));
  return chosen;
}

void search_arguments::say_sources(sources_chosen const& sources) {
  say("source  {}, {}\n\n", sources.many() ? grouped(sources.ids.size()) + " of them" : std::to_string(sources.ids[0]), sources.how);
}

void search_arguments::say_written(char const* what, sources_chosen const& sources) const {
  say("{}: {} of every vertex{}\n", out, what, sources.many() ? fmt::format(", from the last source, {}", sources.ids.back()) : "");
}

}  // namespace garner::cli
