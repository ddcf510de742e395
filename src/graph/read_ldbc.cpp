// LDBC Graphalytics: NAME.v lists the vertices, one id per line; NAME.e the edges, "source target" or "source target weight" per line, an
// undirected edge once. NAME.properties, if it exists, declares whether edges are directed, and the type of weights. Iosup et al.: The LDBC
// Graphalytics Benchmark, arXiv 2011.15028, chapter 2. Invariant: the vertices are those of the list, including isolated ones; an edge with
// any other is rejected. Edges index the list. Cost: a sort of the list; for each end of an edge a binary search, skipped if the ids are
// contiguous.
#include "core/executor.hpp"
#include "core/primitives.hpp"
#include "graph/read_text.hpp"

namespace garner {

namespace {

struct property_facts {
  std::optional<bool> directed;
  bool weighted = false, whole = false;  // edges have a weight; weights are integers
  std::optional<std::uint64_t> vertices, edges;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t n = 0;
  auto const [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
  return problem == std::errc{} && rest == text.data() + text.size() ? std::optional(n) : std::nullopt;
}

// "graph.NAME.KEY = VALUE" per line; # and ! begin comments. Most of the file describes how to run the benchmark, which is skipped.
property_facts read_properties(input_stream& in, read_options const& options) {
  text_reader text(in, options);
  property_facts facts;
  for (std::string_view line; text.next_line(line);) {
    std::string_view const words = trimmed(line);
    std::size_t const sign = words.find_first_of("=:");
    if (words.empty() || words[0] == '#' || words[0] == '!' || sign == words.npos) continue;
    std::string_view const key = trimmed(words.substr(0, sign)), value = trimmed(words.substr(sign + 1));
    if (!key.starts_with("graph.")) continue;
    if (key.ends_with(".directed")) {
      if (value != "true" && value != "false")
        text.complain(value.data(), fmt::format("{} where true or false should stand", shown(value)));
      if (facts.directed && *facts.directed != (value == "true"))
        text.complain(value.data(), "contradicts an earlier line; a file describes one graph");
      facts.directed = value == "true";
    } else if (key.ends_with(".edge-properties.names")) {
      if (value.find(',') != value.npos)
        text.complain(value.data(), fmt::format("edges with several properties {} are not read, only with one weight", shown(value)));
      facts.weighted = !value.empty();
    } else if (key.ends_with(".edge-properties.types")) {
      facts.whole = value.starts_with("int");
    } else if (key.ends_with(".meta.vertices")) {
      facts.vertices = whole_number(value);
    } else if (key.ends_with(".meta.edges")) {
      facts.edges = whole_number(value);
    }
  }
  return facts;
}

// Ascending and unique.
std::vector<std::uint64_t> read_vertices(input_stream& in, read_options const& options) {
  text_reader text(in, options);
  edge_list list;  // the parser collects edges; a vertex is the source of one
  text.parse_all(list, weight_rule::none, std::numeric_limits<std::uint64_t>::max(), [](char const* p, char const* end, line_sink& out) {
    p = skip_blanks(p, end);
    if (p == end || *p == '#') return;
    arc a{};
    a.source = parse_id(p, end);
    p = skip_blanks(p, end);
    if (p != end) [[unlikely]]
      throw bad_line{p, fmt::format("{} follows the vertex id; properties of vertices are not read", shown(word_at(p, end)))};
    out.arcs.push_back(a);
  });
  std::vector<std::uint64_t> ids(list.arcs.size()), spare(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = list.arcs[i].source;
  list = {};
  executor x({device_kind::cpu, 0});
  if (std::span<std::uint64_t> const in_order = sort(x, ids, spare); in_order.data() != ids.data()) ids.swap(spare);
  if (auto const twice = std::adjacent_find(ids.begin(), ids.end()); twice != ids.end())
    fail(errc::input, "{}: vertex {} stands there more than once; a list of vertices names each once", in.name(), *twice);
  return ids;
}

}  // namespace

read_result read_ldbc(input_stream& in_vertices, input_stream& in_edges, input_stream* in_properties, read_options const& options) {
  if (options.skip_lines)
    fail(errc::usage, "{}: --skip-lines is for text without a fixed form, and these are files of LDBC; leave it out", in_edges.name());
  read_result result;
  edge_list& edges = result.edges;
  read_options whole = options;  // for the files that accompany the edges
  whole.sink = nullptr;
  property_facts const facts = in_properties ? read_properties(*in_properties, whole) : property_facts{};
  edges.ids = read_vertices(in_vertices, whole);
  std::vector<std::uint64_t> const& ids = edges.ids;
  edges.vertices = ids.size();
  edges.undirected = facts.directed.has_value() && !*facts.directed;

  text_reader text(in_edges, options);
  unsigned columns = 0;
  for (std::string_view line; columns == 0 && text.next_line(line);) {
    char const *p = skip_blanks(line.data(), line.data() + line.size()), *const end = line.data() + line.size();
    if (p == end || *p == '#') continue;
    for (; p != end; p = skip_blanks(p + word_at(p, end).size(), end)) {
      ++columns;
      if (word_at(p, end).empty()) text.complain(p, fmt::format("{} between the columns, which blanks part", shown({p, 1})));
    }
    if (columns != 2 && columns != 3)
      text.complain(line.data(), fmt::format("{} column{} where an edge has 2, or 3 with its weight", columns, columns == 1 ? "" : "s"));
    text.put_back();
  }
  bool const weighted = columns ? columns == 3 : facts.weighted;
  bool const dense = !ids.empty() && ids.back() - ids.front() == ids.size() - 1;
  weight_rule const rule = !weighted                ? weight_rule::none
                           : options.ignore_weights ? weight_rule::ignored
                           : facts.whole            ? weight_rule::any
                                                    : weight_rule::real;
  auto const parse = [&](char const* p, char const* end, line_sink& out) {
    p = skip_blanks(p, end);
    if (p == end || *p == '#') return;
    arc a{};
    for (auto* place : {&a.source, &a.target}) {
      char const* const at = p = skip_blanks(p, end);
      std::uint64_t const id = parse_id(p, end);
      *place = dense ? id - ids.front() : static_cast<std::uint64_t>(std::lower_bound(ids.begin(), ids.end(), id) - ids.begin());
      if (*place >= ids.size() || ids[*place] != id) [[unlikely]]
        throw bad_line{at, fmt::format("vertex {} is not listed in {}; mend one of the two", id, in_vertices.name())};
    }
    if (weighted) {
      p = skip_blanks(p, end);
      parse_weight(p, end, rule, out);
    }
    p = skip_blanks(p, end);
    if (p != end) [[unlikely]]
      throw bad_line{p, fmt::format("{} follows the edge; the first one has {} columns", shown(word_at(p, end)), columns)};
    out.arcs.push_back(a);
  };
  std::uint64_t const read = text.parse_all(edges, rule, std::numeric_limits<std::uint64_t>::max(), parse);

  edges.source = in_edges.name();
  if (!facts.directed)
    result.notes.push_back(fmt::format(
        "{}: its .properties file does not name whether edges are directed; they are unless --undirected is set", in_edges.name()));
  if (facts.weighted && columns == 2)
    result.notes.push_back(fmt::format("{}: its properties promise a weight, and the edges have none", in_edges.name()));
  auto const compare = [&](std::optional<std::uint64_t> promised, std::uint64_t there, char const* what, input_stream const& in) {
    if (promised && *promised != there)
      result.notes.push_back(
          fmt::format("{}: its properties promise {} {}, {} were read; the file may be cut short", in.name(), *promised, what, there));
  };
  compare(facts.vertices, ids.size(), "vertices", in_vertices);
  compare(facts.edges, read, "edges", in_edges);
  return result;
}

}  // namespace garner
