#include "graph/read_text.hpp"

#include <bit>
#include <cmath>

namespace garner {

namespace {
constexpr std::size_t longest_line = 1u << 20;
}

std::uint32_t float_bits(float value) { return std::bit_cast<std::uint32_t>(value); }

void to_f32(std::vector<std::uint32_t>& weights, std::size_t begin) {
  for (std::size_t i = begin; i < weights.size(); ++i) weights[i] = float_bits(static_cast<float>(weights[i]));
}

std::string_view word_at(char const* p, char const* end) {
  char const* q = p;
  while (q != end && !is_blank(*q) && *q != ',' && *q != ';') ++q;
  return {p, static_cast<std::size_t>(q - p)};
}

void refuse_id(char const* p, char const* end) {
  std::string_view const word = word_at(p, end);
  auto const digits = [](std::string_view w) {
    return !w.empty() && std::all_of(w.begin(), w.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (word.empty())
    throw bad_line{
        p, p == end ? "a vertex id is missing at the end of the line; an edge needs two" : "a vertex id is missing between two separators"};
  if (word[0] == '"') throw bad_line{p, fmt::format("{} stands in quotes; --columns 1,2 reads columns in quotes", shown(word))};
  if (digits(word)) throw bad_line{p, fmt::format("{} is too large for a vertex id; the largest is 18446744073709551614", shown(word))};
  if (word[0] == '-' && digits(word.substr(1)))
    throw bad_line{p, fmt::format("{} is negative; vertex ids are whole numbers from 0", shown(word))};
  throw bad_line{
      p, fmt::format("{} is not a vertex id; expected a whole number (comments begin with # or %, --skip-lines N passes over N lines)",
                     shown(word))};
}

void refuse_weight(char const* p, char const* end, weight_rule rule) {
  std::string_view const word = word_at(p, end);
  if (word.empty()) throw bad_line{p, "a weight is missing; expected a number after the two vertices"};
  throw bad_line{p, fmt::format("{} is not a weight; expected a {}number", shown(word), rule == weight_rule::whole ? "whole " : "")};
}

void parse_weight(char const*& p, char const* end, weight_rule rule, line_sink& out) {
  auto const ends = [&](char const* q) { return q == end || is_blank(*q) || *q == ',' || *q == ';'; };
  char const* const word = p;
  if (p != end && *p == '+' && p + 1 != end && (p[1] == '.' || (p[1] >= '0' && p[1] <= '9'))) ++p;
  if (p != end && *p == '-') {  // -0 is an integer and not negative
    char const* zeros = p + 1;
    while (zeros != end && *zeros == '0') ++zeros;
    if (zeros != p + 1 && ends(zeros)) ++p;
  }
  if (rule == weight_rule::any || rule == weight_rule::whole) {
    std::uint64_t value = 0;
    auto const [rest, problem] = std::from_chars(p, end, value);
    if (rest != p && ends(rest)) {
      if (problem != std::errc{} || value >> 32)
        throw bad_line{p, fmt::format("weight {} is too large; whole weights end at 4294967295, write 1e10 to have them read as f32",
                                      shown(word_at(word, end)))};
      out.weights.push_back(out.kind == weight_kind::f32 ? float_bits(static_cast<float>(value)) : static_cast<std::uint32_t>(value));
      p = rest;
      return;
    }
  }
  float value = 0;
  auto const [rest, problem] = std::from_chars(p, end, value);
  if (rest == p || !ends(rest)) refuse_weight(word, end, rule);
  if (rule == weight_rule::ignored) {
    p = rest;
    return;
  }
  if (*p == '-' && !(value == 0 && problem == std::errc{}))
    throw bad_line{p, fmt::format("weight {} is negative; weights are numbers from 0 (--ignore-weights reads the edges alone)",
                                  shown(word_at(p, end)))};
  if (rule == weight_rule::whole) refuse_weight(word, end, rule);
  if (problem != std::errc{})
    throw bad_line{p, fmt::format("weight {} does not fit a 32-bit float, which holds 0 and 1.4e-45 to 3.4e38; multiply all weights by one "
                                  "number (--ignore-weights reads the edges alone)",
                                  shown(word_at(p, end)))};
  if (!std::isfinite(value))
    throw bad_line{p, fmt::format("weight {} is not a finite number; weights are numbers from 0 (--ignore-weights reads the edges alone)",
                                  shown(word_at(p, end)))};
  if (out.kind != weight_kind::f32) {
    to_f32(out.weights);
    out.kind = weight_kind::f32;
  }
  out.weights.push_back(float_bits(std::abs(value)));  // -0.0 is 0
  p = rest;
}

text_reader::text_reader(input_stream& in, read_options const& options)
    : in_(in), options_(options), batch_(std::max<std::size_t>(16, options.block_bytes) * shared_pool().threads() * 2), room_(in.name()) {
  options_.block_bytes = std::max<std::size_t>(1, options_.block_bytes);
  if (in.plain_size()) batch_ = static_cast<std::size_t>(std::clamp<std::uint64_t>(*in.plain_size() + 1, 16, batch_));  // for a small file
  text_.resize(batch_);
  while (end_ < 3 && more()) {
  }
  if (end_ >= 3 && std::memcmp(text_.data(), "\xef\xbb\xbf", 3) == 0) begin_ = 3;  // the byte order mark of some editors
  std::string_view line;
  for (std::uint64_t i = 0; i < options_.skip_lines; ++i)
    if (!next_line(line))
      fail(errc::input, "{}: has only {} lines, {} were to be skipped; lower --skip-lines", name(), i, options_.skip_lines);
}

bool text_reader::more() {
  if (done_) return false;
  if (end_ == text_.size() && begin_ > 0) {
    std::memmove(text_.data(), text_.data() + begin_, end_ - begin_);
    text_byte_ += begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == text_.size()) {
    if (end_ > longest_line)
      complain_at(lines_ + 1, text_.data() + begin_,
                  columns_ && find_char(text_.data() + begin_, text_.data() + end_, '"') != text_.data() + end_
                      ? "the line is longer than 1 MiB; is a quote not closed?"
                      : "the line is longer than 1 MiB; is this a text file?");
    text_.resize(2 * text_.size());
  }
  std::size_t const n = in_.read(text_.data() + end_, text_.size() - end_);
  end_ += n;
  if (n == 0) done_ = true;
  return n != 0;
}

bool text_reader::next_line(std::string_view& line) {
  while (true) {
    char const *const from = text_.data() + begin_, *const all = text_.data() + end_, *const to = line_end(from, all);
    if (to != all || (done_ && begin_ != end_)) {
      line = {from, static_cast<std::size_t>(to - from)};
      line_begin_ = begin_;
      begin_ += line.size() + (to != all ? 1 : 0);
      lines_before_ = lines_;
      lines_ += lines_in(from, to);
      return true;
    }
    if (done_) return false;
    more();
  }
}

char const* text_reader::block_end(char const* p, char const* stop) const {
  char const* q = p + std::min<std::size_t>(options_.block_bytes, static_cast<std::size_t>(stop - p));
  if (!columns_ || find_char(p, stop, '"') == stop) {
    if (q != stop && q[-1] != '\n') q = std::min(stop, find_char(q, stop, '\n') + 1);
    return q;
  }
  while (p < q) p = std::min(stop, line_end(p, stop) + 1);
  return p;
}

char const* text_reader::whole_lines() {
  std::size_t seen = 0;
  while (true) {
    char const *const begin = text_.data() + begin_, *const end = text_.data() + end_;
    if (columns_ && find_char(begin, end, '"') != end) {
      char const* last = begin;
      for (char const* p = begin; (p = line_end(p, end)) != end;) last = ++p;
      if (last != begin) return last;
    } else {
      for (char const* p = end; p != begin + seen; --p)
        if (p[-1] == '\n') return p;
    }
    if (done_) return begin_ == end_ ? nullptr : text_.data() + end_;
    seen = end_ - begin_;
    more();
  }
}

void text_reader::read_ahead(char const* stop) {
  std::size_t const tail = static_cast<std::size_t>(text_.data() + end_ - stop);
  file_at_ = in_.file_position();
  next_byte_ = text_byte_ + static_cast<std::uint64_t>(stop - text_.data());
  next_end_ = 0;
  if (next_.size() < tail + batch_) next_.resize(tail + batch_);
  if (tail) std::memcpy(next_.data(), stop, tail);
  next_end_ = tail;
  if (done_) return;
  std::size_t const n = in_.read(next_.data() + tail, batch_);
  next_end_ += n;
  if (n == 0) done_ = true;
}

void text_reader::take_ahead() {
  std::swap(text_, next_);
  text_byte_ = next_byte_;
  begin_ = 0;
  end_ = next_end_;
}

void text_reader::make_room(edge_list& out, std::size_t more) {
  std::size_t const need = out.arcs.size() + more;
  if (need <= out.arcs.capacity()) return;
  // Extrapolates from the part of the file read so far. At most 64 times: the beginning of a compressed file may say little of the rest.
  double const part = options_.sink ? 1 : static_cast<double>(file_at_ + 1) / static_cast<double>(in_.file_size().value_or(0) + 1);
  double const guess = part < 1 ? static_cast<double>(need) / part * 1.03 : 0;
  auto room = static_cast<std::size_t>(
      std::clamp(guess, static_cast<double>(out.arcs.empty() ? need : need + need / 2), static_cast<double>(need) * 64.0));
  // An estimate must not exceed the budget.
  bool const weighted = out.weights_are != weight_kind::none;
  room = std::max<std::size_t>(need, std::min<std::uint64_t>(room, host_budget().left() / (sizeof(arc) + (weighted ? 4 : 0))));
  room_.reserve(out.arcs, room);
  if (weighted) room_.reserve(out.weights, room);
}

void text_reader::append(edge_list& out, line_sink& sink) {
  out.arcs.insert(out.arcs.end(), sink.arcs.begin(), sink.arcs.end());
  if (out.weights_are == weight_kind::none || sink.weights.empty()) return;
  if (sink.kind == weight_kind::f32 && out.weights_are == weight_kind::u32) {
    to_f32(out.weights);
    out.weights_are = weight_kind::f32;
  } else if (sink.kind == weight_kind::u32 && out.weights_are == weight_kind::f32) {
    to_f32(sink.weights);
  }
  out.weights.insert(out.weights.end(), sink.weights.begin(), sink.weights.end());
}

void text_reader::complain(char const* at, std::string const& what) const { complain_at(lines_before_ + 1, at, what); }

void text_reader::complain_at(std::uint64_t line, char const* at, std::string const& what) const {
  fail(errc::input, "{}: line {}, byte {}: {}", name(), line, text_byte_ + static_cast<std::uint64_t>(at - text_.data()), what);
}

}  // namespace garner
