// Charts as inline SVG that read as well at 360 px as on a wide screen: 340 units wide, letters of 12, a row a bar with its name before it
// and its value behind it, so that nothing can overlap. Colours are classes that the page's style gives, light and dark. Every text is
// escaped. A chart has a title and a description for readers that do not see it.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace garner::bench {

std::string escaped(std::string_view text);  // for text and for attributes in double quotes; what HTML cannot hold becomes U+FFFD
std::string shortened(std::string_view text, double units);  // UTF-8, letters of 12 units; what is left out becomes an ellipsis

// A number with three significant digits, and none where there are none: 0.0123, 1.23, 12.3, 123, 12,345.
std::string short_number(double value);
std::string count_text(double n);  // 1,234 or 12.3 k, M, G

struct bar {
  std::string name;
  std::vector<double> parts;  // one, or several that are stacked
  std::string value;          // written behind it; at most 10 letters
  bool own = false;           // Garner's own way: another colour
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
  std::vector<bar_group> groups;
  std::vector<std::string> parts;  // names of the stacked parts, for the key
  std::vector<mark> marks;         // at most two
  double least_top = 0;            // the scale goes at least so far
  bool ratio = false;              // logarithmic, the bars begin at 1
  std::string unit = {};           // above the bars
};
std::string draw(bar_chart const& chart);  // empty where there is no bar

struct curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x ascends
};
struct line_chart {
  std::string title, description, x_name, y_name;
  std::vector<curve> curves;  // at most six
  std::vector<double> x_ticks;
  bool percent = false;  // y from 0 to 1, written as per cent
  bool log_y = false;    // values above 0
};
std::string draw(line_chart const& chart);

struct lane {
  std::string name;                              // at most 8 letters
  std::vector<std::pair<double, double>> spans;  // begin and end
};
struct span_chart {  // what ran when, a lane each
  std::string title, description, x_name;
  std::vector<lane> lanes;  // at most four
};
std::string draw(span_chart const& chart);  // empty where there is no span

}  // namespace garner::bench
