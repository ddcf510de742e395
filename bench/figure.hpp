// What the figures of a page are made of: a table under each chart, a sentence that says what is to be seen, the paper's own value beside
// it; and the page's style.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace garner::bench {

std::string percent(double part);  // 0.123: "12.3 %"

std::string ms_text(std::optional<double> ms);  // a dash where there is none
void thin(std::vector<double>& ticks);          // to those that have room: each at least a tenth of the whole behind the one before

struct table {
  std::vector<std::string> head;  // a leading '<' marks a column of names
  std::vector<std::vector<std::string>> rows;

  std::string html(std::string const& what, bool open) const;
};

// How a run was measured: a name and a value a line.
class fact_list {
 public:
  void add(char const* name, std::string const& value);
  std::string html() const;

 private:
  std::string rows_;
};

// What one figure shows; `charts` is SVG already.
struct figure {
  std::string number, title;  // number: the paper's, or empty
  std::string finding, charts, said, key;
  table numbers;
  std::string absent;  // why there is nothing to draw
};
std::string title_of(figure const& f);
std::string html_of(figure const& f, std::string const& setting);

extern char const* const style;  // of a page, as CSS

}  // namespace garner::bench
