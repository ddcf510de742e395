// DIMACS files: 'c' comments, one 'p' line, then the edges, numbered from 1. Shortest paths (9th challenge): 'p sp VERTICES EDGES' and 'a
// FROM TO WEIGHT'. Coloring and cliques (2nd challenge): 'p edge VERTICES EDGES', or 'p col', and 'e ONE OTHER', undirected.
#include "graph/read_text.hpp"

namespace garner {

read_result read_gr(input_stream& in, read_options const& options) {
  text_reader text(in, options);
  read_result result;

  std::uint64_t n = 0, m = 0;
  bool arcs = true;  // else undirected edges
  for (std::string_view line;;) {
    if (!text.next_line(line))
      fail(errc::input, "{}: the line 'p sp VERTICES EDGES' or 'p edge VERTICES EDGES' is missing; is this another format? Then use --from",
           in.name());
    char const *p = skip_blanks(line.data(), line.data() + line.size()), *const end = line.data() + line.size();
    if (p == end) continue;
    std::string_view const kind = word_at(p, end);
    if (kind.starts_with('c')) continue;
    if (kind == "a" || kind == "e") text.complain(p, "an edge stands before the line 'p sp VERTICES EDGES' or 'p edge VERTICES EDGES'");
    if (kind != "p") text.complain(p, fmt::format("{} begins the line; DIMACS lines begin with c, p, a or e", shown(kind)));
    p = skip_blanks(p + 1, end);
    std::string_view const problem = word_at(p, end);
    if (problem != "sp" && problem != "edge" && problem != "col")
      text.complain(p,
                    fmt::format("problem {} is not read; 'p sp VERTICES EDGES', 'p edge VERTICES EDGES' and 'p col' are", shown(problem)));
    arcs = problem == "sp";
    p += problem.size();
    try {
      n = parse_id(p = skip_blanks(p, end), end);
      m = parse_id(p = skip_blanks(p, end), end);
    } catch (bad_line const& c) {
      text.complain(c.at, fmt::format("{} where the number of vertices or edges should stand: p {} VERTICES EDGES",
                                      c.at == end ? "the line ends" : shown(word_at(c.at, end)), problem));
    }
    if ((p = skip_blanks(p, end)) != end)
      text.complain(p, fmt::format("{} follows the counts of vertices and edges", shown(word_at(p, end))));
    break;
  }

  weight_rule const rule = !arcs ? weight_rule::none : options.ignore_weights ? weight_rule::ignored : weight_rule::whole;
  char const letter = arcs ? 'a' : 'e';
  edge_list& edges = result.edges;
  edges.vertices = n;
  edges.undirected = !arcs;
  edges.id_base = 1;
  std::uint64_t const read = text.parse_all(edges, rule, m, [&](char const* p, char const* end, line_sink& out) {
    p = skip_blanks(p, end);
    if (p == end || *p == 'c') return;
    if (*p != letter || p + 1 == end || !is_blank(p[1])) [[unlikely]] {
      if (*p == 'p') throw bad_line{p, "a second line 'p'; a file holds one graph"};
      throw bad_line{p, fmt::format("{} begins the line; DIMACS lines begin with c or {} here", shown(word_at(p, end)), letter)};
    }
    ++p;
    arc a{};
    for (auto* id : {&a.source, &a.target}) {
      char const* const at = p = skip_blanks(p, end);
      *id = parse_id(p, end);
      if (*id == 0 || *id > n) [[unlikely]]
        throw bad_line{at, fmt::format("vertex {} is outside 1 to {}{}", *id, n, *id ? "" : "; DIMACS counts from 1")};
    }
    p = skip_blanks(p, end);
    if (arcs) parse_weight(p, end, rule, out);
    p = skip_blanks(p, end);
    if (p != end) [[unlikely]]
      throw bad_line{p, arcs ? fmt::format("{} follows the weight; an edge is 'a FROM TO WEIGHT'", shown(word_at(p, end)))
                             : fmt::format("{} follows the edge, which is 'e ONE OTHER'", shown(word_at(p, end)))};
    out.arcs.push_back({a.source - 1, a.target - 1});  // id_base restores the user's ids
  });
  if (read != m)
    fail(errc::input, "{}: line {}: the file ends after {} edges where its header promises {}; it was cut short or its header lies",
         in.name(), text.line(), read, m);
  return result;
}

}  // namespace garner
