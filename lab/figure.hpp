// Building blocks of a page's figures: a table under each chart, a sentence with the finding, the paper's own value for comparison;
// and the page's style.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace garner::lab {

std::string percent(double part);  // 0.123: "12.3 %"

std::string ms_text(std::optional<double> ms);  // a dash for a missing value
void thin(std::vector<double>& ticks);          // keeps ticks that have space: each at least a tenth of the axis after the previous one

struct table {
  std::vector<std::string> head;  // a leading '<' marks a column of names
  std::vector<std::vector<std::string>> rows;

  std::string html(std::string const& what, bool open) const;
};

// How a run was measured: one name and value per line.
class fact_list {
 public:
  void add(char const* name, std::string const& value);
  std::string html() const;

 private:
  std::string rows_;
};

// The contents of one figure; `charts` is SVG already.
struct figure {
  std::string number, title;  // number: the paper's, or empty
  std::string finding, charts, said, key;
  table numbers;
  std::string absent;  // the reason for a missing chart
};
std::string title_of(figure const& f);
std::string html_of(figure const& f, std::string const& setting);

extern char const* const style;  // of a page, as CSS

}  // namespace garner::lab
