#include "lab/chart.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace garner::lab {
namespace {

TEST(chart, escapes_every_text) {
  EXPECT_EQ(escaped("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(escaped(std::string_view("a\0b\x1b", 4)),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
  EXPECT_EQ(escaped("\xC3\xA4\n"), "\xC3\xA4\n");
  std::string const evil = "</svg><script>alert(1)</script>\"";
  bar_chart bars(evil, evil, evil, 0, {evil}, {{1, evil}});
  bars.of(evil).push_back({evil, {1}, evil, false});
  EXPECT_EQ(draw(bars).find("<script"), std::string::npos);
  line_chart lines(evil, evil, evil, evil, {0, 1});
  lines.of(evil)->points = {{0, 1}, {1, 2}};
  EXPECT_EQ(draw(lines).find("<script"), std::string::npos);
  EXPECT_NE(draw(lines).find("&lt;script"), std::string::npos);
}

TEST(chart, shortens_between_letters) {
  EXPECT_EQ(shortened("short", 100), "short");
  std::string const ae = "\xC3\xA4";
  std::string many;
  for (int i = 0; i < 40; ++i) many += ae;
  std::string const cut = shortened(many, 60);
  EXPECT_LT(cut.size(), many.size());
  EXPECT_EQ(cut.substr(cut.size() - 3), "\xE2\x80\xA6");
  EXPECT_EQ((cut.size() - 3) % 2, 0u);  // no half of a letter
  EXPECT_EQ(shortened("WWWWWWWWWWWW", 60).size(), 4u + 3u);
}

TEST(chart, numbers_have_three_digits) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.01234), "0.012");
  EXPECT_EQ(short_number(1.234), "1.23");
  EXPECT_EQ(short_number(9.996), "10.0");
  EXPECT_EQ(short_number(12.34), "12.3");
  EXPECT_EQ(short_number(99.96), "100");
  EXPECT_EQ(short_number(123.4), "123");
  EXPECT_EQ(short_number(1234567), "1,234,567");
  EXPECT_EQ(short_number(std::numeric_limits<double>::infinity()), "-");
}

// The width of the first bar of a kind, in units.
double width_of_bar(std::string const& svg, std::string const& kind) {
  auto const at = svg.find("class=\"" + kind + "\"");
  auto const width = svg.rfind("width=\"", at);
  return std::stod(svg.substr(width + 7));
}
TEST(chart, bars_are_as_long_as_their_values) {
  bar_chart c("t", "d");
  c.add("", "a", 2), c.add("", "b", 1, true);
  std::string const svg = draw(c);
  EXPECT_NEAR(width_of_bar(svg, "paper"), 2 * width_of_bar(svg, "own"), 0.02);
  c.ratio = true;  // from 1: half and twice are equally long, and 1 has no length
  c.groups[0].bars = {{"a", {2}, "2", false}, {"b", {0.5}, "0.5", true}};
  EXPECT_NEAR(width_of_bar(draw(c), "paper"), width_of_bar(draw(c), "own"), 0.02);
  bar_chart none("t", "d");
  EXPECT_TRUE(none.of("empty").empty());
  EXPECT_EQ(draw(none), "");
  line_chart lines("t", "d", "x", "y", {1});
  for (int k = 0; k < 6; ++k) EXPECT_EQ(lines.of(std::to_string(k))->name, std::to_string(k));
  EXPECT_EQ(lines.of("7"), nullptr);
  EXPECT_EQ(lines.of("3"), &lines.curves[3]);
  EXPECT_EQ(draw(lines), "");
}

}  // namespace
}  // namespace garner::lab
