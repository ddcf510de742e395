// DIMACS shortest-path files (9th challenge): 'c' comments, one line 'p sp VERTICES ARCS', then 'a FROM TO WEIGHT', numbered from 1.
#include "graph/read_text.hpp"

namespace garner {

read_result read_gr(input_stream& in, read_options const& options) {
  text_reader text(in, options);
  read_result result;

  std::uint64_t n = 0, m = 0;
  for (std::string_view line;;) {
    if (!text.next_line(line))
      fail(errc::input, "{}: the line 'p sp VERTICES ARCS' is missing; is this another format? Then say --from", in.name());
    char const *p = skip_blanks(line.data(), line.data() + line.size()), *const end = line.data() + line.size();
    if (p == end) continue;
    std::string_view const kind = word_at(p, end);
    if (kind.starts_with('c')) continue;
    if (kind == "a") text.complain(p, "an arc stands before the line 'p sp VERTICES ARCS'");
    if (kind != "p") text.complain(p, fmt::format("{} begins the line; DIMACS lines begin with c, p or a", shown(kind)));
    p = skip_blanks(p + 1, end);
    if (word_at(p, end) != "sp") text.complain(p, fmt::format("problem {} is not read; 'p sp VERTICES ARCS' is", shown(word_at(p, end))));
    p += 2;
    try {
      n = parse_id(p = skip_blanks(p, end), end);
      m = parse_id(p = skip_blanks(p, end), end);
    } catch (bad_line const& c) {
      text.complain(c.at, fmt::format("{} where the number of vertices or arcs should stand: p sp VERTICES ARCS",
                                      c.at == end ? "the line ends" : shown(word_at(c.at, end))));
    }
    if ((p = skip_blanks(p, end)) != end)
      text.complain(p, fmt::format("{} follows the counts of vertices and arcs", shown(word_at(p, end))));
    break;
  }

  weight_rule const rule = options.ignore_weights ? weight_rule::ignored : weight_rule::whole;
  edge_list& edges = result.edges;
  edges.vertices = n;
  edges.id_base = 1;
  std::uint64_t const arcs = text.parse_all(edges, rule, m, [&](char const* p, char const* end, line_sink& out) {
    p = skip_blanks(p, end);
    if (p == end || *p == 'c') return;
    if (*p != 'a' || p + 1 == end || !is_blank(p[1])) [[unlikely]] {
      if (*p == 'p') throw bad_line{p, "a second line 'p'; a file holds one graph"};
      throw bad_line{p, fmt::format("{} begins the line; DIMACS lines begin with c or a here", shown(word_at(p, end)))};
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
    parse_weight(p, end, rule, out);
    p = skip_blanks(p, end);
    if (p != end) [[unlikely]]
      throw bad_line{p, fmt::format("{} follows the weight; an arc is 'a FROM TO WEIGHT'", shown(word_at(p, end)))};
    out.arcs.push_back({a.source - 1, a.target - 1});  // id_base makes them the user's again
  });
  if (arcs != m)
    fail(errc::input, "{}: line {}: the file ends after {} arcs where its header promises {}; it was cut short or its header lies",
         in.name(), text.line(), arcs, m);
  return result;
}

}  // namespace garner
