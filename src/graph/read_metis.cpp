// METIS graphs (its manual, section 4.5.1): '%' comments, a line 'VERTICES EDGES [FMT [NCON]]', then one line per vertex with its
// neighbors, counted from 1. FMT has three digits: 1.. a size of each vertex, .1. NCON weights of it, ..1 a weight after each neighbor.
// Sizes and weights of vertices are skipped. Invariant: every edge is in both lists, which a sum of hashes over both directions verifies.
#include "graph/read_text.hpp"

namespace garner {

namespace {

constexpr std::uint64_t next_vertex = ~std::uint64_t{0};  // the source of the mark that begins the list of a vertex

// Removes the marks and fills in sources, in the whole list or in parts of it.
struct list_marks : arc_sink {
  std::string const& name;
  std::uint64_t n;
  arc_sink* passed_on;
  std::uint64_t vertex = 0, kept = 0, forward = 0, backward = 0;

  list_marks(std::string const& of, std::uint64_t vertices, arc_sink* to) : name(of), n(vertices), passed_on(to) {}
  void remove(edge_list& edges) {
    bool const weighted = !edges.weights.empty();
    std::uint64_t to = 0;
    for (std::uint64_t i = 0; i < edges.arcs.size(); ++i) {
      arc const a = edges.arcs[i];
      if (a.source == next_vertex) {
        if (++vertex > n && !a.target)
          fail(errc::input, "{}: a list follows that of vertex {}, the last that its header promises; mend the header or the file", name,
               n);
        continue;
      }
      std::uint32_t const w = weighted ? edges.weights[i] : 0;
      forward += fingerprint(vertex - 1, a.target, w), backward += fingerprint(a.target, vertex - 1, w);
      edges.arcs[to] = {vertex - 1, a.target};
      if (weighted) edges.weights[to] = w;
      ++to;
    }
    edges.arcs.resize(to);
    if (weighted) edges.weights.resize(to);
    kept += to;
  }
  void take(edge_list& part) override {
    remove(part);
    passed_on->take(part);
  }
};

}  // namespace

read_result read_metis(input_stream& in, read_options const& options) {
  text_reader text(in, options);
  read_result result;
  std::uint64_t n = 0, m = 0, constraints = 0;
  bool weighted = false, vertex_weights = false, sizes = false;
  while (true) {
    std::string_view line;
    if (!text.next_line(line))
      fail(errc::input, "{}: the line 'VERTICES EDGES [FMT [NCON]]' is missing; is this another format?", in.name());
    char const *p = skip_blanks(line.data(), line.data() + line.size()), *const end = line.data() + line.size();
    if (p == end || *p == '%') continue;
    try {
      n = parse_id(p, end);
      m = parse_id(p = skip_blanks(p, end), end);
      if ((p = skip_blanks(p, end)) != end) {
        std::string_view const fmt = word_at(p, end);
        if (fmt.size() > 3 || fmt.find_first_not_of("01") != fmt.npos)
          throw bad_line{p, fmt::format("format {} is not read; METIS writes up to three digits 0 or 1", shown(fmt))};
        auto const digit = [&](std::size_t from_right) { return fmt.size() >= from_right && fmt[fmt.size() - from_right] == '1'; };
        weighted = digit(1), vertex_weights = digit(2), sizes = digit(3);
        constraints = vertex_weights ? 1 : 0;
        if ((p = skip_blanks(p + fmt.size(), end)) != end) {
          char const* const at = p;
          constraints = parse_id(p, end);
          if (constraints > 1000 || (constraints && !vertex_weights))
            throw bad_line{at, fmt::format("{} weights per vertex do not go with format {}", constraints, shown(fmt))};
        }
        if ((p = skip_blanks(p, end)) != end) throw bad_line{p, fmt::format("{} follows the header", shown(word_at(p, end)))};
      }
    } catch (bad_line const& c) {
      text.complain(c.at, c.at == end ? "the header ends where a count should stand: VERTICES EDGES [FMT [NCON]]" : c.what);
    }
    if (n >= 1ull << 40 || m >= 1ull << 56) text.complain(line.data(), "more vertices or edges than can be read");
    break;
  }
  weight_rule const rule = !weighted ? weight_rule::none : options.ignore_weights ? weight_rule::ignored : weight_rule::whole;
  bool const keeps = rule == weight_rule::whole;
  std::uint64_t const passed = constraints + (sizes ? 1 : 0);
  edge_list& edges = result.edges;
  edges.undirected = edges.mirrored = true;
  edges.vertices = n;
  edges.id_base = 1;
  list_marks marks(in.name(), n, options.sink);
  if (options.sink) text.gives_to(marks);
  // Lines belong to vertices, but blocks of lines do not know which, so a mark precedes each line's edges. Blank lines after the last
  // vertex also give marks, so there may be many.
  text.parse_all(edges, rule, std::numeric_limits<std::uint64_t>::max(), [&](char const* p, char const* end, line_sink& out) {
    p = skip_blanks(p, end);
    if (p != end && *p == '%') return;
    out.arcs.push_back({next_vertex, static_cast<std::uint64_t>(p == end)});
    if (keeps) out.weights.push_back(0);
    if (p == end) return;
    for (std::uint64_t k = 0; k < passed; ++k) {
      parse_id(p, end);
      p = skip_blanks(p, end);
    }
    while (p != end) {
      char const* const at = p;
      std::uint64_t const v = parse_id(p, end);
      if (v == 0 || v > n) throw bad_line{at, fmt::format("vertex {} is outside 1 to {}{}", v, n, v ? "" : "; METIS counts from 1")};
      p = skip_blanks(p, end);
      if (weighted) {
        parse_weight(p, end, rule, out);
        p = skip_blanks(p, end);
      }
      out.arcs.push_back({0, v - 1});
    }
  });
  marks.remove(edges);  // the list is empty if a sink took it
  if (marks.vertex < n)
    fail(errc::input, "{}: ends after the lists of {} vertices where its header promises {}; it was cut short or its header lies",
         in.name(), marks.vertex, n);
  if (marks.kept != 2 * m)
    fail(errc::input,
         "{}: its lists have {} entries where its header promises {} edges, which stand twice; it was cut short or its header lies",
         in.name(), marks.kept, m);
  if (marks.forward != marks.backward)
    fail(errc::input, "{}: some edge is not the same in the adjacency of both its ends; it is damaged", in.name());
  if (passed) result.notes.push_back(fmt::format("{}: weights and sizes of vertices are not read", in.name()));
  return result;
}

}  // namespace garner
