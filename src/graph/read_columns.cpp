// Edge lists in columns: .el (two), .wel (three), .csv and SNAP .txt (two or three, as in the first edge). Columns are separated by blanks,
// tabs, or one comma or semicolon. Lines that begin with # or % are comments; a .csv may begin with one line of names. Selected columns may
// be empty or quoted. Invariant: every edge line has as many columns as the first, and nothing on a line is ignored, unless columns were
// selected.
#include <algorithm>
#include <cctype>

#include "graph/read_text.hpp"

namespace garner {

namespace {

unsigned columns_of(std::string_view line) {
  char const *p = skip_blanks(line.data(), line.data() + line.size()), *const end = line.data() + line.size();
  unsigned n = 0;
  while (p != end) {
    ++n;
    p += word_at(p, end).size();
    p = p == end ? p : skip_separator(p, end);
  }
  return n;
}

bool has_no_number(std::string_view line) {
  char const *p = skip_blanks(line.data(), line.data() + line.size()), *const end = line.data() + line.size();
  while (p && p != end) {
    std::string_view const word = word_at(p, end);
    if (word.empty() || word == "\"\"" || (word[0] >= '0' && word[0] <= '9') || word[0] == '-' || word[0] == '+' || word[0] == '.')
      return false;
    p = p + word.size() == end ? end : skip_separator(p + word.size(), end);
  }
  return true;
}

// Comments that declare properties: SNAP's "Undirected graph", "Nodes: 75879 Edges: 508837"; KONECT's "% sym unweighted".
struct comment_facts {
  bool undirected = false;
  std::optional<std::uint64_t> edges;

  void look(text_reader const& text, std::string_view line) {
    std::string lower(line);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::size_t const begin = std::min(lower.find_first_not_of("#% \t"), lower.size());
    std::string_view const konect = word_at(lower.data() + begin, lower.data() + lower.size());
    if (konect == "bip")
      text.complain(
          line.data(),
          "KONECT calls it bipartite: a left and a right vertex of one number are two vertices, which one graph would merge; "
          "make a folder of two types, LEFT__to__RIGHT/edge_index.npy, or give right vertices other numbers and remove this line");
    undirected = undirected || konect == "sym" || lower.find("undirected graph") != std::string::npos;
    if (auto const at = lower.find("edges:"); at != std::string::npos && lower.find("nodes:") != std::string::npos) {
      char const *p = skip_blanks(lower.data() + at + 6, lower.data() + lower.size()), *const end = lower.data() + lower.size();
      std::uint64_t n = 0;
      if (std::from_chars(p, end, n).ec == std::errc{}) edges = n;
    }
  }
  void tell(std::string const& file, std::uint64_t read, std::vector<std::string>& notes) const {
    if (edges && *edges != read && 2 * *edges != read)
      notes.push_back(fmt::format("{}: its comments promise {} edges, {} were read; the file may be cut short", file, *edges, read));
    if (undirected) notes.push_back(fmt::format("{}: its comments call it undirected; --undirected mirrors its edges", file));
  }
};

}  // namespace

namespace {

// Extracts the selected columns of wider lines. The separator is the comma, semicolon or tab that the first line has outside of quotes
// (columns may then be empty or quoted), else blanks.
class picked_columns {
 public:
  picked_columns(std::vector<std::string> const& wanted, std::string const& file, file_format format)
      : wanted_(wanted), at_(wanted.size()), csv_(format == file_format::csv) {
    if (wanted.size() != 2 && wanted.size() != 3)
      fail(errc::usage, "{}: {} columns are named; name source, target and perhaps weight, as src,dst or 1,2,4", file, wanted.size());
  }
  bool weighted() const { return at_.size() == 3; }

  // From the first line: the separator, and the positions of named columns. The line holds names, an edge, or, after a #, words.
  enum class first_line { names, edge, words };
  first_line begin(text_reader& text, std::string_view line) {
    char const *p = line.data(), *const end = p + line.size(), *const first = skip_blanks(p, end);
    rule_ = {};
    bool const comment = rule_.is_comment(p, end);
    if (comment) p = rule_.skip_blanks(p, end) + 1;
    part_by(p, end);
    std::vector<std::string> names;
    try {
      for (std::string_view field; next(p, end, field);) {
        names.emplace_back(field);
        for (std::size_t k = 0; (k = names.back().find("\"\"", k)) != std::string::npos;) names.back().erase(k++, 1);
      }
    } catch (bad_line const& c) {
      if (comment) return first_line::words;
      text.complain(c.at, c.what);
    }
    columns_ = names.size();
    bool named = false;
    for (std::size_t k = 0; k < wanted_.size(); ++k) {
      std::string const& w = wanted_[k];
      std::uint64_t number = 0;
      auto const [rest, problem] = std::from_chars(w.data(), w.data() + w.size(), number);
      if (problem == std::errc{} && rest == w.data() + w.size()) {
        if (number == 0) fail(errc::usage, "{}: column 0 does not exist; they are counted from 1", text.name());
        at_[k] = number - 1;
      } else {
        named = true;
        at_[k] = static_cast<std::size_t>(std::find(names.begin(), names.end(), w) - names.begin());
        if (at_[k] == names.size() && comment) {
          words_ = fmt::format(", and line {} {}", text.line(), list_of(names));
          return first_line::words;
        }
        if (at_[k] == names.size())
          text.complain(first, fmt::format("no column is called {}; the line names {}{}", shown(w), list_of(names), words_));
        if (std::count(names.begin(), names.end(), w) > 1)
          text.complain(first, fmt::format("two columns are called {}; use its number", shown(w)));
      }
      for (std::size_t i = 0; i < k; ++i)
        if (at_[i] == at_[k]) fail(errc::usage, "{}: column {} is named twice", text.name(), at_[k] + 1);
    }
    last_ = *std::max_element(at_.begin(), at_.end());
    text.reads_columns(blanks_ ? std::nullopt : std::optional(rule_));
    // If columns are selected by number, the ending decides: only a .csv may have a line of names.
    auto const is_name = [&](std::size_t at) { return at < names.size() && !names[at].empty() && !begins_number(names[at][0]); };
    return named || (csv_ && is_name(at_[0]) && is_name(at_[1])) ? first_line::names : first_line::edge;
  }

  // Neither blank nor a comment. If the first column is text, a row may
  // begin with #: it has all columns, and numbers in the selected ones.
  bool is_edge(char const* p, char const* end) const {
    p = blanks_ ? skip_blanks(p, end) : rule_.skip_blanks(p, end);
    if (p == end || (*p != '#' && *p != '%')) return p != end;
    if (blanks_ || std::count(at_.begin(), at_.end(), 0u)) return false;
    std::size_t column = 0;
    try {
      for (std::string_view field; next(p, end, field); ++column)
        if (std::count(at_.begin(), at_.end(), column) && (field.empty() || !begins_number(field[0]))) return false;
    } catch (bad_line const&) {
      return false;  // quotes in it are prose
    }
    return column == columns_;
  }
  void parse(char const* p, char const* end, weight_rule rule, line_sink& out) const {
    if (!is_edge(p, end)) return;
    char const* const begin = skip_blanks(p, end);
    arc a{};
    std::size_t column = 0;
    for (std::string_view field; column <= last_ && next(p, end, field); ++column)
      for (std::size_t k = 0; k < at_.size(); ++k) {
        if (at_[k] != column) continue;
        char const *q = field.data(), *const stop = q + field.size();
        if (q == stop) throw bad_line{q, fmt::format("column {} is empty; an edge needs a number there", column + 1)};
        if (k == 2) parse_weight(q, stop, rule, out);
        else if (*q != '"') (k ? a.target : a.source) = parse_id(q, stop);
        if (q != stop) throw bad_line{q, fmt::format("{} is not a number", shown(field))};
      }
    if (column <= last_)
      throw bad_line{begin, fmt::format("{} column{} where number {} is needed", column, column == 1 ? "" : "s", last_ + 1)};
    // Unclosed quotes would swallow the following lines.
    if (p && find_char(p, end, '"') != end)
      for (std::string_view field; next(p, end, field);) continue;
    out.arcs.push_back(a);
  }

 private:
  static std::string list_of(std::vector<std::string> const& names) {
    std::vector<std::string> all;
    for (std::string const& name : names) all.push_back(shown(name));
    return fmt::format("{}", fmt::join(all, ", "));
  }
  static bool begins_number(char c) { return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.'; }

  // A tab is hardly ever text. Comma and semicolon may be the decimal mark of each other's fields, as in 1;2;0,5; a .csv prefers these two.
  void part_by(char const* p, char const* end) {
    bool tab = false;
    char other = '\0';
    rule_.find_outside(p, end, [&](char c) {
      tab = tab || c == '\t';
      if (!other && (c == ',' || c == ';')) other = c;
      return false;
    });
    blanks_ = !tab && !other;
    rule_.separator = blanks_ ? ' ' : tab && !(csv_ && other) ? '\t' : other;
  }

  // The column that begins at p, trimmed and unquoted; moves p past its separator. False after the last.
  bool next(char const*& p, char const* end, std::string_view& field) const {
    if (!p) return false;
    if (blanks_) {
      p = skip_blanks(p, end);
      if (p == end) return false;
      char const* q = p;
      while (q != end && !is_blank(*q)) ++q;
      field = {p, static_cast<std::size_t>(q - p)};
      p = q;
      return true;
    }
    char const *begin = rule_.skip_blanks(p, end), *behind = begin;
    bool const quoted = begin != end && *begin == '"';
    if (quoted && !(behind = column_rule::behind_quotes(begin, end)))
      throw bad_line{begin, "the quote that opens here is not closed; close it, or double a quote that is text inside of quotes"};
    p = find_char(behind, end, rule_.separator);
    char const* stop = p;
    while (stop != begin && is_blank(stop[-1])) --stop;
    if (quoted && stop == behind) ++begin, --stop;  // else something follows the quotes, so it is not a number
    field = {begin, static_cast<std::size_t>(stop - begin)};
    p = p == end ? nullptr : p + 1;
    return true;
  }

  std::vector<std::string> const& wanted_;
  std::vector<std::size_t> at_;  // from 0
  std::size_t last_ = 0, columns_ = 0;
  std::string words_;  // words of the last comment, used in place of names
  bool csv_, blanks_ = false;
  column_rule rule_;
};

read_result read_picked(input_stream& in, file_format format, read_options const& options) {
  picked_columns columns(options.columns, in.name(), format);
  text_reader text(in, options);
  text.reads_columns(column_rule{});
  read_result result;
  auto const number = [](std::string const& w) { return w.find_first_not_of("0123456789") == w.npos; };
  bool const by_name = !std::all_of(options.columns.begin(), options.columns.end(), number);
  comment_facts facts;
  for (std::string_view line; text.next_line(line);) {
    char const *const p = line.data(), *const end = p + line.size(), *const first = column_rule{}.skip_blanks(p, end);
    bool const comment = column_rule{}.is_comment(p, end);
    if (comment) facts.look(text, line);
    if (skip_blanks(p, end) == end || (comment && !(by_name && *first == '#'))) continue;
    auto const holds = columns.begin(text, line);
    if (holds == picked_columns::first_line::words) continue;
    if (holds == picked_columns::first_line::edge) text.put_back();
    break;
  }
  weight_rule const rule = !columns.weighted() ? weight_rule::none : options.ignore_weights ? weight_rule::ignored : weight_rule::any;
  facts.tell(in.name(),
             text.parse_all(result.edges, rule, std::numeric_limits<std::uint64_t>::max(),
                            [&](char const* p, char const* end, line_sink& out) { columns.parse(p, end, rule, out); }),
             result.notes);
  return result;
}

// The first edge, and the largest id of all later ones, even if edges arrive in parts.
struct first_and_rest : arc_sink {
  arc_sink* passed_on = nullptr;
  std::optional<arc> first;
  std::uint64_t largest_behind = 0;

  void look(std::vector<arc> const& arcs) {
    for (arc const& a : arcs)
      if (!first) first = a;
      else largest_behind = std::max({largest_behind, a.source, a.target});
  }
  void take(edge_list& part) override {
    look(part.arcs);
    passed_on->take(part);
  }
};

}  // namespace

read_result read_columns(input_stream& in, file_format format, read_options const& options) {
  if (!options.columns.empty()) return read_picked(in, format, options);
  text_reader text(in, options);
  read_result result;
  comment_facts facts;

  unsigned columns = 0;
  std::uint64_t first_line = 0;
  bool header_allowed = format == file_format::csv;
  std::string first;
  for (std::string_view line; text.next_line(line);) {
    char const *const end = line.data() + line.size(), *const p = skip_blanks(line.data(), end);
    if (p == end) continue;
    if (*p == '#' || *p == '%') {
      facts.look(text, line);
      continue;
    }
    if (header_allowed && has_no_number(line)) {
      header_allowed = false;
      continue;
    }
    columns = columns_of(line);
    first_line = text.line();
    first = line;
    // Check the words before their number: "# of edges" in prose must not pass for an edge with four columns.
    try {
      char const* q = p;
      parse_id(q, end);
      q = q == end ? q : skip_separator(q, end);
      parse_id(q, end);
    } catch (bad_line const& c) {
      text.complain(c.at, c.what);
    }
    unsigned const wanted = format == file_format::el ? 2 : format == file_format::wel ? 3 : std::clamp(columns, 2u, 3u);
    if (columns != wanted) {
      if (format == file_format::el && columns == 3) text.complain(p, "3 columns where an .el has 2; is it a .wel? Then use --from wel");
      if (format == file_format::wel && columns == 2) text.complain(p, "2 columns where a .wel has 3; is it an .el? Then use --from el");
      text.complain(p, fmt::format("{} columns where an edge has {}", columns,
                                   format == file_format::el    ? "2"
                                   : format == file_format::wel ? "3"
                                                                : "2, or 3 with its weight; --columns picks them"));
    }
    text.put_back();
    break;
  }
  weight_rule const rule = columns < 3 ? weight_rule::none : options.ignore_weights ? weight_rule::ignored : weight_rule::any;
  first_and_rest begins;
  begins.passed_on = options.sink;
  if (options.sink) text.gives_to(begins);
  std::uint64_t const n =
      text.parse_all(result.edges, rule, std::numeric_limits<std::uint64_t>::max(), [&](char const* p, char const* end, line_sink& out) {
        char const* const begin = p = skip_blanks(p, end);
        if (p == end || *p == '#' || *p == '%') return;
        auto const part = [&] {
          char const* const q = skip_separator(p, end);
          if (!q || q == end)
            throw bad_line{
                begin,
                fmt::format("{} column{} where the first edge (line {}) has {}", columns_of({begin, static_cast<std::size_t>(end - begin)}),
                            columns_of({begin, static_cast<std::size_t>(end - begin)}) == 1 ? "" : "s", first_line, columns)};
          p = q;
        };
        arc a;
        a.source = parse_id(p, end);
        part();
        a.target = parse_id(p, end);
        if (columns == 3) {
          part();
          parse_weight(p, end, rule, out);
        }
        p = skip_blanks(p, end);
        if (p != end) [[unlikely]]
          throw bad_line{begin, fmt::format("{} columns where the first edge (line {}) has {}",
                                            columns_of({begin, static_cast<std::size_t>(end - begin)}) + (end[-1] == ',' || end[-1] == ';'),
                                            first_line, columns)};
        out.arcs.push_back(a);
      });

  begins.look(result.edges.arcs);
  // "VERTICES EDGES": the second number counts the following lines, and all following ids are at most the first.
  if (n > 2 && columns == 2 && (begins.first->target == n - 1 || 2 * begins.first->target == n - 1) &&
      begins.largest_behind <= begins.first->source)
    result.notes.push_back(
        fmt::format("{}: line {} reads {} and {} edges follow; if it counts vertices and edges, read again with --skip-lines {}", in.name(),
                    first_line, shown(first.substr(0, first.find('\r'))), n - 1, first_line));
  facts.tell(in.name(), n, result.notes);
  return result;
}

}  // namespace garner
