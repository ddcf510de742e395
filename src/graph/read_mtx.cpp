// Matrix Market coordinate files: entry (i, j) is the directed edge i -> j, numbered from 1. symmetric stores one of each pair, so the
// graph is undirected. skew-symmetric means that the mirror of weight w is -w, which a garner graph cannot hold, so only the structure is
// read, undirected. Complex, hermitian and dense (array) matrices are rejected. Boisvert, Pozo, Remington: The Matrix Market exchange
// formats, NISTIR 5935, 1996.
#include <cctype>

#include "graph/read_text.hpp"

namespace garner {

read_result read_mtx(input_stream& in, read_options const& options) {
  text_reader text(in, options);
  read_result result;
  std::string_view line;

  if (!text.next_line(line)) fail(errc::input, "{}: is empty; a Matrix Market file begins with %%MatrixMarket", in.name());
  std::vector<std::string> words;
  for (char const *p = line.data(), *const end = p + line.size(); (p = skip_blanks(p, end)) != end;) {
    std::string_view const word = {p, static_cast<std::size_t>(std::find_if(p, end, is_blank) - p)};
    words.emplace_back(word);
    for (char& c : words.back()) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    p += word.size();
  }
  if (words.empty() || (words[0] != "%%matrixmarket" && words[0] != "%matrixmarket"))  // some writers double the percent sign for printf
    text.complain(line.data(), "the line does not begin with %%MatrixMarket; is this another format? Then use --from");
  if (words.size() != 5)
    text.complain(line.data(),
                  fmt::format("{} words where the banner has 5: %%MatrixMarket matrix coordinate FIELD SYMMETRY", words.size()));
  if (words[1] != "matrix") text.complain(line.data(), fmt::format("holds a {}; only a matrix is a graph", shown(words[1])));
  if (words[2] != "coordinate")
    text.complain(line.data(), fmt::format("format {} is not read; only coordinate (sparse) matrices are", shown(words[2])));
  if (words[3] != "pattern" && words[3] != "integer" && words[3] != "real")
    text.complain(line.data(), fmt::format("field {} is not read; pattern, integer and real are", shown(words[3])));
  if (words[4] != "general" && words[4] != "symmetric" && words[4] != "skew-symmetric")
    text.complain(line.data(), fmt::format("symmetry {} is not read; general, symmetric and skew-symmetric are", shown(words[4])));
  bool const pattern = words[3] == "pattern", skew = words[4] == "skew-symmetric";

  std::uint64_t size[3];  // rows, columns, entries
  while (true) {
    if (!text.next_line(line))
      fail(errc::input, "{}: the size line is missing; after the comments stands 'rows columns entries'", in.name());
    char const *p = skip_blanks(line.data(), line.data() + line.size()), *const end = line.data() + line.size();
    if (p == end || *p == '%') continue;
    try {
      for (auto& s : size) {
        std::string_view const word = word_at(p, end);
        auto const [rest, problem] = std::from_chars(p, end, s);
        if (word.empty() || problem != std::errc{} || rest != word.data() + word.size())
          throw bad_line{
              p, fmt::format("{} where the size line should stand: rows columns entries", word.empty() ? "the line ends" : shown(word))};
        p = skip_blanks(rest, end);
      }
      if (p != end) throw bad_line{p, fmt::format("{} follows the size line's three numbers", shown(word_at(p, end)))};
    } catch (bad_line const& c) {
      text.complain(c.at, c.what);
    }
    if (size[0] != size[1])
      text.complain(line.data(),
                    fmt::format("{} rows and {} columns; a graph's matrix is square; where rows and columns are vertices of two types, "
                                "make a folder ROW__to__COLUMN/edge_index.npy",
                                size[0], size[1]));
    if (size[0] == std::numeric_limits<std::uint64_t>::max())
      text.complain(line.data(), "too many rows; the largest vertex id is 18446744073709551614");
    break;
  }

  std::uint64_t const n = size[0];
  weight_rule const rule = pattern                          ? weight_rule::none
                           : skew || options.ignore_weights ? weight_rule::ignored
                           : words[3] == "integer"          ? weight_rule::whole
                                                            : weight_rule::real;
  edge_list& edges = result.edges;
  edges.undirected = words[4] != "general";
  edges.vertices = n;
  edges.id_base = 1;
  std::uint64_t const entries = text.parse_all(edges, rule, size[2], [&](char const* p, char const* end, line_sink& out) {
    p = skip_blanks(p, end);
    if (p == end || *p == '%') return;
    char const* const begin = p;
    arc a{};
    for (auto* id : {&a.source, &a.target}) {
      char const* const at = p = skip_blanks(p, end);
      *id = parse_id(p, end);
      if (*id == 0 || *id > n) [[unlikely]]
        throw bad_line{at, fmt::format("{} {} is outside 1 to {}{}", id == &a.source ? "row" : "column", *id, n,
                                       *id ? "" : "; Matrix Market counts from 1")};
    }
    if (skew && a.source == a.target)
      throw bad_line{begin, fmt::format("row {} on the diagonal, which a skew-symmetric matrix does not store", a.source)};
    if (!pattern) {
      p = skip_blanks(p, end);
      parse_weight(p, end, rule, out);
    }
    p = skip_blanks(p, end);
    if (p != end) [[unlikely]]
      throw bad_line{p, fmt::format("{} follows the entry; a {} matrix has {} columns", shown(word_at(p, end)),
                                    pattern ? "pattern" : "weighted", pattern ? 2 : 3)};
    out.arcs.push_back({a.source - 1, a.target - 1});  // id_base restores the user's ids
  });
  if (entries != size[2])
    fail(errc::input, "{}: line {}: the file ends after {} entries where its header promises {}; it was cut short or its header lies",
         in.name(), text.line(), entries, size[2]);
  if (skew && !pattern)
    result.notes.push_back(
        fmt::format("{}: a skew-symmetric matrix negates its mirrored values, so its edges are read without weights", in.name()));
  return result;
}

}  // namespace garner
