// Charts as inline SVG, readable at 360 px and on a wide screen: 340 units wide, letters of 12, one row per bar with its name on the left
// and its value on the right, so that nothing overlaps. Colors are classes of the page's style, light and dark. All text is
// escaped. A chart has a title and a description for screen readers.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace garner::lab {

std::string escaped(std::string_view text);  // for text and for double-quoted attributes; characters that HTML cannot hold become U+FFFD
std::string shortened(std::string_view text, double units);  // UTF-8, letters of 12 units; the rest becomes an ellipsis

// A number with three significant digits, without trailing zeros: 0.0123, 1.23, 12.3, 123, 12,345.
std::string short_number(double value);
std::string count_text(double n);  // 1,234 or 12.3 k, M, G

struct bar {
  std::string name;
  std::vector<double> parts;  // one, or several stacked parts
  std::string value;          // written after the bar; at most 10 letters
  bool own = false;           // Garner's own strategy: another color
};
struct bar_group {
  std::string name;  // above its bars; may be empty
  std::vector<bar> bars;
};
struct mark {  // a vertical line at a value
  double at;
  std::string name;
};
struct bar_chart {
  std::string title, description;
  std::string unit;                // above the bars
  double least_top;                // the scale extends at least this far
  std::vector<std::string> parts;  // names of the stacked parts, for the legend
  std::vector<mark> marks;         // at most two
  bool ratio;                      // logarithmic; bars begin at 1
  std::vector<bar_group> groups = {};

  bar_chart(std::string title, std::string description, std::string unit = "", double least_top = 0, std::vector<std::string> parts = {},
            std::vector<mark> marks = {}, bool ratio = false);
  std::vector<bar>& of(std::string const& group);  // the bars of that group, which may be a new one
  void add(std::string const& group, std::string name, std::optional<double> value, bool own = false);  // a missing value: a dash
};
std::string draw(bar_chart const& chart);  // empty without bars

struct curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x ascends
};
struct line_chart {
  std::string title, description, x_name, y_name;
  std::vector<double> x_ticks;
  bool percent, log_y;             // y from 0 to 1, written as per cent; values above 0
  std::vector<curve> curves = {};  // at most six

  line_chart(std::string title, std::string description, std::string x_name, std::string y_name, std::vector<double> x_ticks = {},
             bool percent = false, bool log_y = false);
  curve* of(std::string const& name);  // the curve of that name, or a new one; null: there are six others
};
std::string draw(line_chart const& chart);

struct lane {
  std::string name;                              // at most 8 letters
  std::vector<std::pair<double, double>> spans;  // begin and end
};
struct span_chart {  // a timeline, one lane per row
  std::string title, description, x_name;
  std::vector<lane> lanes;  // at most four
};
std::string draw(span_chart const& chart);  // empty without spans

}  // namespace garner::lab
