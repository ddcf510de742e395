#include "lab/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace garner::lab {

namespace {

constexpr int width = 340;
constexpr double left = 120, right = 280;  // margins of the bars: names on the left, values on the right
constexpr double row = 20, letter = 6.4;   // a row's height; the width of a letter of 12 units, on average

class svg {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(body_), text, std::forward<Args>(args)...);
  }
  void text(double x, double y, std::string_view what, char const* kind = "", char const* anchor = "start") {
    add("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y, kind, anchor, escaped(what));
  }
  std::string close(std::string const& title, std::string const& description, double height) const {
    return fmt::format(
               "<svg viewBox=\"0 0 {} {:.0f}\" role=\"img\" preserveAspectRatio=\"xMinYMin meet\">\n<title>{}</title>\n<desc>{}</desc>\n",
               width, height, escaped(title), escaped(description)) +
           fmt::to_string(body_) + "</svg>\n";
  }

 private:
  fmt::memory_buffer body_;
};

// The next round number, for the end of a scale.
double round_up(double value) {
  if (!(value > 0)) return 1;
  double const unit = std::pow(10, std::floor(std::log10(value)));
  for (double const step : {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0})
    if (value <= step * unit * (1 + 1e-9)) return step * unit;
  return 10 * unit;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  constexpr std::pair<char, std::string_view> named[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  for (char const c : text) {
    auto const at = std::find_if(std::begin(named), std::end(named), [&](auto const& n) { return n.first == c; });
    if (at != std::end(named)) out += at->second;
    else if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f) out += "\xEF\xBF\xBD";
    else out += c;
  }
  return out;
}

double width_of(char32_t letter) {
  if (letter >= 0x2e80) return 13;  // wide scripts and emoji
  if (letter > 0x7e) return 9.5;
  if (std::string_view("WM@%mw").find(static_cast<char>(letter)) != std::string_view::npos) return 12;
  if (std::string_view("il.,:;'|!() -").find(static_cast<char>(letter)) != std::string_view::npos) return 4.8;
  return letter >= 'A' && letter <= 'Z' ? 9 : 7.6;
}

std::string shortened(std::string_view text, double units) {
  double seen = 0;
  std::size_t cut = 0;  // end of the text that leaves space for the ellipsis
  for (std::size_t i = 0; i < text.size();) {
    auto const lead = static_cast<unsigned char>(text[i]);
    std::size_t const bytes = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (seen + 12 <= units) cut = i;
    seen += width_of(bytes == 1 ? lead : bytes == 2 ? 0x100 : 0x2e80);
    if (seen > units) return std::string(text.substr(0, cut)) + "\xE2\x80\xA6";
    i += bytes;
  }
  return std::string(text);
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  double const size = std::abs(value);
  if (size >= 1e12) return fmt::format("{:.2e}", value);
  if (size < 0.00095) return fmt::format("{:.2g}", value);
  int const digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (digits == 0)
    for (std::size_t at = text.size(); at > 3 + (value < 0 ? 1u : 0u);) text.insert(at -= 3, ",");
  return text;
}

std::string count_text(double n) {
  if (n < 9999.5) return fmt::format("{:.0f}", n);
  return n < 999.5e3 ? short_number(n / 1e3) + " k" : n < 999.5e6 ? short_number(n / 1e6) + " M" : short_number(n / 1e9) + " G";
}

bar_chart::bar_chart(std::string t, std::string d, std::string u, double least, std::vector<std::string> p, std::vector<mark> m, bool r)
    : title(std::move(t)),
      description(std::move(d)),
      unit(std::move(u)),
      least_top(least),
      parts(std::move(p)),
      marks(std::move(m)),
      ratio(r) {}
std::vector<bar>& bar_chart::of(std::string const& group) {
  auto const at = std::find_if(groups.begin(), groups.end(), [&](bar_group const& g) { return g.name == group; });
  return at != groups.end() ? at->bars : groups.emplace_back(bar_group{group, {}}).bars;
}
void bar_chart::add(std::string const& group, std::string name, std::optional<double> value, bool own) {
  of(group).push_back({std::move(name), {value.value_or(0)}, value ? short_number(*value) : "-", own});
}
line_chart::line_chart(std::string t, std::string d, std::string x, std::string y, std::vector<double> ticks, bool p, bool l)
    : title(std::move(t)),
      description(std::move(d)),
      x_name(std::move(x)),
      y_name(std::move(y)),
      x_ticks(std::move(ticks)),
      percent(p),
      log_y(l) {}
curve* line_chart::of(std::string const& name) {
  auto const at = std::find_if(curves.begin(), curves.end(), [&](curve const& l) { return l.name == name; });
  if (at != curves.end()) return &*at;
  return curves.size() < 6 ? &curves.emplace_back(curve{name, {}}) : nullptr;
}

std::string draw(bar_chart const& c) {
  double top = c.least_top;
  bool any = false;
  for (bar_group const& g : c.groups)
    for (bar const& b : g.bars) {
      double sum = 0;
      for (double const p : b.parts) sum += p;
      top = std::max(top, sum), any = true;
    }
  if (!any) return "";
  for (mark const& m : c.marks) top = std::max(top, m.at);
  top = round_up(top);
  // Ratios use a logarithmic scale, so that half and twice are equally far from 1, where the bars begin.
  double least = 0.5;
  if (c.ratio) {
    for (bar_group const& g : c.groups)
      for (bar const& b : g.bars)
        if (!b.parts.empty() && b.parts[0] > 0) least = std::min(least, b.parts[0]);
    top = std::max(top, 2.0);
  }
  auto const at = [&](double value) {
    double const part = c.ratio ? std::log(std::max(value, least) / least) / std::log(top / least) : value / top;
    return left + (right - left) * std::clamp(part, 0.0, 1.0);
  };

  svg s;
  double y = 4;
  // The legend: the parts, four per line; one line per mark.
  for (std::size_t i = 0; i < c.parts.size(); ++i) {
    double const x = static_cast<double>(i % 4) * width / 4, line = y + static_cast<double>(i / 4) * row;
    s.add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\" class=\"part{}\"/>\n", x + 1, line, i);
    s.text(x + 18, line + 10.5, shortened(c.parts[i], 64));
  }
  y += std::ceil(static_cast<double>(c.parts.size()) / 4) * row;
  for (std::size_t i = 0; i < c.marks.size(); ++i) {
    s.add("<line x1=\"1\" x2=\"25\" y1=\"{0:.1f}\" y2=\"{0:.1f}\" class=\"mark{1}\"/>\n", y + 6, i);
    s.text(31, y + 10.5, shortened(c.marks[i].name, width - 33));
    y += row;
  }
  if (!c.unit.empty()) {
    s.text(0, y + 12, shortened(c.unit, width - 2), "dim");
    y += row;
  }
  for (bar_group const& g : c.groups) {
    if (g.bars.empty()) continue;
    if (!g.name.empty()) {
      s.text(0, y + 14, shortened(g.name, 0.87 * width), "head");  // bold letters are wider
      y += row;
    }
    double const first = y;
    for (bar const& b : g.bars) {
      double sum = 0;
      for (std::size_t i = 0; i < b.parts.size(); ++i) {
        double x = c.ratio ? at(1) : at(sum), end = at(sum + b.parts[i]);
        if (x > end) std::swap(x, end);
        std::string const kind = b.parts.size() > 1 ? fmt::format("part{}", i % 4) : b.own ? "own" : "paper";
        s.add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"14\" class=\"{}\"/>\n", x, y + 2.5,
              std::max(end - x, b.parts.size() > 1 ? 0.0 : 1.0), kind);
        sum += b.parts[i];
      }
      y += row;
    }
    if (!c.ratio) s.add("<line x1=\"{0}\" x2=\"{0}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" class=\"axis\"/>\n", left, first, y);
    for (std::size_t i = 0; i < c.marks.size(); ++i)
      s.add("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" class=\"mark{3}\"/>\n", at(c.marks[i].at), first, y, i);
    y = first;
    for (bar const& b : g.bars) {  // over the marks
      double const sum = std::accumulate(b.parts.begin(), b.parts.end(), 0.0);
      s.text(left - 6, y + 13.5, shortened(b.name, left - 7), "", "end");
      s.text((c.ratio ? std::max(at(sum), at(1)) : at(sum)) + 4, y + 13.5, shortened(b.value, width - right - 5), "value");
      y += row;
    }
    y += 6;
  }
  return s.close(c.title, c.description, y);
}

std::string draw(line_chart const& c) {
  double least = 1e300, most = 0, from = 1e300, to = -1e300;
  for (curve const& l : c.curves)
    for (auto const& [x, v] : l.points) {
      if (v > 0) least = std::min(least, v);
      most = std::max(most, v);
      from = std::min(from, x), to = std::max(to, x);
    }
  if (from > to) return "";
  for (double const x : c.x_ticks) from = std::min(from, x), to = std::max(to, x);
  if (from == to) to = from + 1;
  least = std::max(least, most * 1e-9);  // nine decades at most

  // The ticks of y: 0 .. 100 %, powers of ten with 2 and 5 between, or quarters of a round number.
  std::vector<double> ticks;
  double low = 0, high = 1;
  if (c.percent) {
    ticks = {0, 0.25, 0.5, 0.75, 1};
  } else if (c.log_y && most > 0) {
    double const decades = std::log10(most / least);
    for (double unit = std::pow(10, std::floor(std::log10(least))); unit <= most * 10; unit *= 10)
      for (double const step : {1.0, 2.0, 5.0})
        if (step == 1 || decades < 2.5) ticks.push_back(step * unit);
    while (ticks.size() > 2 && ticks[1] <= least) ticks.erase(ticks.begin());
    while (ticks.size() > 2 && ticks[ticks.size() - 2] >= most) ticks.pop_back();
    low = ticks.front(), high = ticks.back();
  } else {
    high = round_up(most);
    for (int i = 0; i <= 4; ++i) ticks.push_back(high * i / 4);
  }
  bool const log_y = c.log_y && !c.percent && most > 0;

  svg s;
  double y = 4;
  for (std::size_t i = 0; i < c.curves.size(); ++i) {
    s.add("<line x1=\"1\" x2=\"33\" y1=\"{0:.1f}\" y2=\"{0:.1f}\" class=\"curve curve{1}\"/>\n", y + 6, i % 7);
    s.text(40, y + 10.5, shortened(c.curves[i].name, width - 42));
    y += row;
  }
  s.text(0, y + 12, shortened(c.y_name, width - 2), "dim");
  y += row + 4;
  double const x0 = 52, x1 = 326, y0 = y + 4, y1 = y0 + 170;
  auto const at_x = [&](double x) { return x0 + (x1 - x0) * (x - from) / (to - from); };
  auto const at_y = [&](double v) {
    double const part = log_y ? std::log(std::max(v, low) / low) / std::log(high / low) : (v - low) / (high - low);
    return y1 - (y1 - y0) * std::clamp(part, 0.0, 1.0);
  };
  for (double const t : ticks) {
    s.add("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" class=\"grid\"/>\n", x0, x1, at_y(t));
    s.text(x0 - 6, at_y(t) + 4,
           c.percent ? fmt::format("{:.0f} %", 100 * t)
           : t < 1e4 ? fmt::format("{:.4g}", t)
           : t < 1e5 ? short_number(t)
                     : count_text(t),  // 100 k
           "dim", "end");
  }
  double written = -1e300;
  for (double const t : c.x_ticks) {
    std::string const name = std::floor(t) == t && t < 1e6 ? fmt::format("{:.0f}", t) : short_number(t);
    double const half = letter * static_cast<double>(name.size()) / 2;
    s.add("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" class=\"axis\"/>\n", at_x(t), y1, y1 + 4);
    if (at_x(t) - half < written + 4) continue;  // would touch the previous label
    s.text(at_x(t), y1 + 17, name, "dim", "middle");
    written = at_x(t) + half;
  }
  s.add("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" class=\"axis\"/>\n", x0, x1, y1);
  s.text((x0 + x1) / 2, y1 + 36, shortened(c.x_name, 290), "dim", "middle");
  for (std::size_t i = 0; i < c.curves.size(); ++i) {
    std::string points;
    for (auto const& [x, v] : c.curves[i].points) points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", at_x(x), at_y(v));
    s.add("<polyline points=\"{}\" class=\"curve curve{}\"/>\n", points, i % 7);
  }
  return s.close(c.title, c.description, y1 + 44);
}

std::string draw(span_chart const& c) {
  double top = 0;
  for (lane const& l : c.lanes)
    for (auto const& [begin, end] : l.spans) top = std::max(top, end);
  if (!(top > 0)) return "";
  top = round_up(top);
  constexpr double from = 70, to = 325, height = 26;
  auto const at = [&](double x) { return from + (to - from) * x / top; };
  svg out;
  double const bottom = 8 + height * static_cast<double>(c.lanes.size());
  for (double const part : {0.0, 0.5, 1.0}) {
    out.add("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"4\" y2=\"{1:.1f}\" class=\"grid\"/>\n", at(part * top), bottom);
    out.text(at(part * top), bottom + 14, short_number(part * top), "dim", "middle");
  }
  for (std::size_t k = 0; k < c.lanes.size(); ++k) {
    double const y = 8 + height * static_cast<double>(k);
    out.text(0, y + 14, shortened(c.lanes[k].name, from - 6));
    // Adjacent spans have different heights, so that they can be distinguished.
    for (std::size_t i = 0; i < c.lanes[k].spans.size(); ++i) {
      auto const& [begin, end] = c.lanes[k].spans[i];
      double const inset = i % 2 ? 5 : 2;
      out.add("<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" class=\"part{}\"/>\n", at(begin), y + inset,
              std::max(0.5, at(end) - at(begin)), height - 6 - 2 * inset, k % 4);
    }
  }
  out.text((from + to) / 2, bottom + 30, c.x_name, "dim", "middle");
  return out.close(c.title, c.description, bottom + 36);
}

}  // namespace garner::lab
