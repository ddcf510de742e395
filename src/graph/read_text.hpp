// The engine of the text readers: header lines one at a time, then blocks of whole lines, parsed by the thread
// pool while one of its threads reads and decompresses the next batch. In columns, a line may continue inside
// quotes. Invariant: edges keep file order, whatever the number of threads and the block size. The first bad
// line is reported, with its line number (from 1) and byte (from 0, in the decompressed text). Cost: one
// memchr and one parse per byte, one copy of each edge from its block to the list; a line may have 1 MiB.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fail.hpp"
#include "core/shown.hpp"
#include "core/thread_pool.hpp"
#include "graph/formats.hpp"
#include "graph/reading_room.hpp"

namespace garner {

// Thrown by line parsers; the engine adds file, line and byte.
struct bad_line {
  char const* at;
  std::string what;
};

enum class weight_rule {
  none,     // no weight column
  ignored,  // any number, ignored
  any,      // integers give u32; one with a fraction or exponent makes the file f32
  whole,    // u32 only
  real,     // f32 always
};

// The edges of one block. Weights are u32 values until one has a fraction, then the bits of f32.
struct line_sink {
  std::vector<arc> arcs;
  std::vector<std::uint32_t> weights;
  weight_kind kind = weight_kind::u32;

  void clear(weight_rule rule) {
    arcs.clear();
    weights.clear();
    kind = rule == weight_rule::real ? weight_kind::f32 : weight_kind::u32;
  }
};

std::uint32_t float_bits(float value);
void to_f32(std::vector<std::uint32_t>& weights, std::size_t begin = 0);  // converts integers to the bits of floats
std::string_view word_at(char const* p, char const* end);                 // up to the next separator

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
inline char const* skip_blanks(char const* p, char const* end) {
  while (p != end && is_blank(*p)) ++p;
  return p;
}
// Skips one separator: blanks with at most one comma or semicolon among them; null if absent.
inline char const* skip_separator(char const* p, char const* end) {
  char const* q = skip_blanks(p, end);
  if (q != end && (*q == ',' || *q == ';')) return skip_blanks(q + 1, end);
  return q == p ? nullptr : q;
}

[[noreturn]] void refuse_id(char const* p, char const* end);
[[noreturn]] void refuse_weight(char const* p, char const* end, weight_rule rule);

// An integer from 0 to 2^64 - 2 that ends at a separator; moves p past it.
inline std::uint64_t parse_id(char const*& p, char const* end) {
  std::uint64_t value = 0;
  auto const [rest, problem] = std::from_chars(p, end, value);
  if (problem != std::errc{} || value == std::numeric_limits<std::uint64_t>::max() ||
      (rest != end && !is_blank(*rest) && *rest != ',' && *rest != ';')) [[unlikely]]
    refuse_id(p, end);
  p = rest;
  return value;
}

void parse_weight(char const*& p, char const* end, weight_rule rule, line_sink& out);  // moves p past it

inline char const* find_char(char const* p, char const* end, char c) {  // `end` if not found
  auto const* found = static_cast<char const*>(p == end ? nullptr : std::memchr(p, c, static_cast<std::size_t>(end - p)));
  return found ? found : end;
}

// The rule for separating columns. A quoted column may contain separators and line ends, and doubles its quotes (RFC 4180); elsewhere a
// quote is text.
struct column_rule {
  char separator = '\0';  // '\0': comma, semicolon or tab, until it is known

  bool parts(char c) const { return separator ? c == separator : c == ',' || c == ';' || c == '\t'; }
  char const* skip_blanks(char const* p, char const* end) const {  // except for a blank that is the separator
    while (p != end && is_blank(*p) && !parts(*p)) ++p;
    return p;
  }
  bool is_comment(char const* p, char const* end) const {
    p = skip_blanks(p, end);
    return p != end && (*p == '#' || *p == '%');
  }
  // One past the quotes that open at p; null if they are not closed.
  static char const* behind_quotes(char const* p, char const* end) {
    do {
      p = find_char(p + 1, end, '"');
      if (p == end) return nullptr;
      ++p;
    } while (p != end && *p == '"');
    return p;
  }
  // The first character outside of quotes for which f is true; `end` if not found.
  template <class F>
  char const* find_outside(char const* p, char const* end, F const& f) const {
    for (bool opens = true; p && p != end;) {
      if (opens && *p == '"') {
        p = behind_quotes(p, end);
        opens = false;
        continue;
      }
      if (f(*p)) return p;
      opens = parts(*p) || (opens && is_blank(*p));
      ++p;
    }
    return end;
  }
  char const* line_end(char const* p, char const* end) const {
    char const* const newline = find_char(p, end, '\n');
    if (find_char(p, newline, '"') == newline || is_comment(p, newline)) return newline;
    return find_outside(p, end, [](char c) { return c == '\n'; });
  }
};

class text_reader {
 public:
  text_reader(input_stream& in, read_options const& options);  // skips options.skip_lines

  void gives_to(arc_sink& sink) { options_.sink = &sink; }                  // overrides the sink of the options
  void reads_columns(std::optional<column_rule> rule) { columns_ = rule; }  // quoted line ends are text; unset: each newline ends a line

  // For headers: one line without its newline, valid until the next call; false at the end.
  bool next_line(std::string_view& line);
  void put_back() { begin_ = line_begin_, lines_ = lines_before_; }           // the next call returns the last line again
  std::uint64_t line() const { return lines_; }                               // number of the last line, from 1
  [[noreturn]] void complain(char const* at, std::string const& what) const;  // about the last line
  std::string const& name() const { return in_.name(); }

  // Parses every remaining line with parse(begin, end, sink), which takes one line and throws bad_line. Appends to `out`, or passes batches
  // to the options' sink. `most`: the number of edges that the header declares. Returns the number parsed.
  template <class Parse>
  std::uint64_t parse_all(edge_list& out, weight_rule rule, std::uint64_t most, Parse const& parse) {
    struct block {
      char const *begin, *end;
      line_sink sink;
      std::uint64_t lines;
      std::optional<bad_line> complaint;
    };
    std::vector<block> blocks;
    std::uint64_t parsed = 0;
    out.weights_are = rule == weight_rule::none || rule == weight_rule::ignored ? weight_kind::none
                      : rule == weight_rule::real                               ? weight_kind::f32
                                                                                : weight_kind::u32;
    while (char const* const stop = whole_lines()) {
      std::size_t n = 0;
      for (char const* p = text_.data() + begin_; p != stop; ++n) {
        char const* const q = block_end(p, stop);
        if (blocks.size() == n) blocks.emplace_back();
        blocks[n].begin = p, blocks[n].end = q;
        p = q;
      }
      std::exception_ptr reading;  // deferred until earlier lines are parsed, so that the first fault of the file is reported
      shared_pool().run(n + 1, 1, [&](std::uint64_t i, std::uint64_t last) {
        for (; i != last; ++i) {
          if (i == 0) {
            try {
              read_ahead(stop);
            } catch (...) {
              reading = std::current_exception();
            }
            continue;
          }
          block& b = blocks[i - 1];
          b.sink.clear(rule);
          b.lines = 0;
          b.complaint.reset();
          try {
            for (char const* p = b.begin; p != b.end;) {
              char const* const end = line_end(p, b.end);
              parse(p, end, b.sink);
              b.lines += lines_in(p, end);
              p = end == b.end ? end : end + 1;
            }
          } catch (bad_line const& c) {
            b.complaint = c;
          }
        }
      });
      std::size_t found = 0;
      for (std::size_t i = 0; i < n; ++i) found += blocks[i].sink.arcs.size();
      make_room(out, found);
      for (std::size_t i = 0; i < n; ++i) {
        block& b = blocks[i];
        if (b.sink.arcs.size() > most - parsed) {  // find the line of the first excess edge
          line_sink again;
          std::uint64_t line = lines_;
          char const* p = b.begin;
          while (true) {
            char const* const end = line_end(p, b.end);
            parse(p, end, again);
            ++line;
            if (again.arcs.size() > most - parsed) break;
            p = end + 1;
          }
          complain_at(line, p, fmt::format("entry {} where the header promises {}; mend the header or the file", most + 1, most));
        }
        if (b.complaint) complain_at(lines_ + b.lines + 1, b.complaint->at, b.complaint->what);
        lines_ += b.lines;
        parsed += b.sink.arcs.size();
        append(out, b.sink);
      }
      if (options_.sink) options_.sink->take(out);
      if (reading) std::rethrow_exception(reading);
      take_ahead();
    }
    return parsed;
  }

 private:
  bool more();                // reads at least one more byte after end_; false at the end
  char const* whole_lines();  // end of the last complete line in memory; reads more if necessary; null at the end
  char const* block_end(char const* p, char const* stop) const;  // of whole lines from p on, as many as one thread takes
  char const* line_end(char const* p, char const* end) const {   // its newline, or `end`
    return columns_ ? columns_->line_end(p, end) : find_char(p, end, '\n');
  }
  std::uint64_t lines_in(char const* p, char const* end) const {  // in a range whose last line may continue inside quotes
    return columns_ ? 1 + static_cast<std::uint64_t>(std::count(p, end, '\n')) : 1;
  }
  void read_ahead(char const* stop);  // fills next_ with the rest after `stop` and one more batch
  void take_ahead();
  void make_room(edge_list& out, std::size_t more);  // for that many edges, plus an estimate of those to come
  static void append(edge_list& out, line_sink& sink);
  [[noreturn]] void complain_at(std::uint64_t line, char const* at, std::string const& what) const;

  input_stream& in_;
  read_options options_;
  std::size_t batch_;
  std::vector<char> text_, next_;
  std::size_t begin_ = 0, end_ = 0, next_end_ = 0;
  std::size_t line_begin_ = 0;
  std::uint64_t text_byte_ = 0, next_byte_ = 0;  // positions of text_[0] and next_[0] in the stream
  std::uint64_t file_at_ = 0;                    // bytes of the file that produced the text so far
  std::uint64_t lines_ = 0, lines_before_ = 0;   // before the last line read by next_line()
  std::optional<column_rule> columns_;
  bool done_ = false;
  reading_room room_;
};

}  // namespace garner
